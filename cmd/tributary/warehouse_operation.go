package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/consumers/insert"
	"tributary/consumers/tracker"
	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/storewait"
	"tributary/producers/publish"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// operationTimeout is how long a command waits for what it has asked for.
const operationTimeout = 10 * time.Minute

var errLate = errors.New("the time is up")

// operation is something asked for and what became of it, as -o json writes it.
type operation struct {
	Operation string `json:"operation"`
	Position  int64  `json:"position"`
	State     string `json:"state"` // done or failed
	Message   string `json:"message"`
}

// operate asks for a change of the warehouse and waits until it is applied. A
// running system does it; what does not run is run here meanwhile.
func (c *cli) operate(ctx context.Context, timeout time.Duration, request func(context.Context, *app) (control.Operation, error)) (out operation, err error) {
	cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
	if err != nil {
		return out, err
	}
	log, err := c.quietLogger(cfg)
	if err != nil {
		return out, err
	}
	if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) && (len(cfg.Kafka.BootstrapServers) == 0 || cfg.Postgres.URL == "") {
		return out, fmt.Errorf("there is no data in %s yet: run tributary up", cfg.DataDir)
	}
	a, err := newApp(ctx, cfg, log, need{Kafka: true, Postgres: true, Application: "tributary operation"}, false)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.prepare(ctx, storewait.Waiter{Log: log, Give: true}); err != nil {
		return out, err
	}
	op, err := request(ctx, a)
	if err != nil {
		return out, a.stores.explainAbsence(ctx, cfg, err)
	}
	waiting, stop := context.WithTimeoutCause(ctx, timeout, errLate)
	defer stop()
	outcome, err := a.applied(waiting, op.ID)
	switch {
	case errors.Is(err, errLate):
		return out, fmt.Errorf("operation %s was asked for, but not applied within %s: it stays asked for, and is applied when the roles sequence, publish and insert come to it", op.ID, timeout)
	case ctx.Err() != nil:
		return out, fmt.Errorf("stopped; operation %s stays asked for, and is applied when the roles sequence, publish and insert come to it", op.ID)
	case err != nil:
		return out, err
	case outcome.State == insert.OutcomeFailed:
		return out, fmt.Errorf("nothing was changed: %s", outcome.Message)
	}
	return operation{op.ID, outcome.Position, outcome.State, outcome.Message}, nil
}

// applied waits until an operation is applied. Each of the roles that it takes
// is run here as soon as nobody else seems to: a lease decides who acts. Where
// nothing ran before, the tracker is brought up to date too.
func (a *app) applied(ctx context.Context, op string) (insert.Outcome, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	g, roles := errgroup.WithContext(running)
	var outcome insert.Outcome
	g.Go(func() error {
		alone, err := a.runMissing(roles, g, nil)
		if err != nil {
			return err
		}
		waiting, cancel := context.WithCancel(roles)
		defer cancel()
		started := map[string]bool{}
		for _, role := range alone {
			started[role] = true
		}
		g.Go(func() error { return a.keepRunning(waiting, roles, g, started) })
		if outcome, err = insert.AwaitOperation(roles, a.stores.Control, a.stores.Warehouse, op); err == nil && len(alone) == len(operationRoles()) {
			err = a.catchUpTracker(roles, g)
		}
		stop() // the roles are not needed any more
		return err
	})
	err := g.Wait()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return outcome, err
}

// operationRoles are the roles that apply an operation.
func operationRoles() []string { return []string{"sequence", "publish", "insert"} }

// keepRunning starts roles whose holders have gone, until waiting ends.
func (a *app) keepRunning(waiting, roles context.Context, g *errgroup.Group, started map[string]bool) error {
	for {
		if err := backoff.Sleep(waiting, time.Second); err != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		more, err := a.runMissing(roles, g, started)
		if err != nil {
			return stopped(roles, err)
		}
		for _, role := range more {
			started[role] = true
		}
	}
}

// runMissing runs those of the roles that nobody holds the lease of, but the
// given ones, and returns them.
func (a *app) runMissing(ctx context.Context, g *errgroup.Group, besides map[string]bool) (missing []string, err error) {
	leases := map[string]bool{} // that somebody holds, by schema and name
	for schema, store := range map[string]pg.Querier{control.Schema: a.stores.Control, warehouse.Schema: a.stores.Warehouse} {
		all, err := pg.Leases(ctx, store, schema)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			leases[schema+"."+l.Name] = l.Holder != ""
		}
	}
	held := map[string]bool{
		"sequence": leases[control.Schema+"."+releaseLease], "insert": leases[warehouse.Schema+"."+insert.Stage],
		"publish": leases[control.Schema+"."+publish.Lease] && leases[warehouse.Schema+"."+publish.Lease],
	}
	for _, role := range operationRoles() {
		if held[role] || besides[role] {
			continue
		}
		if err := a.start(ctx, g, role); err != nil {
			return nil, err
		}
		missing = append(missing, role)
	}
	return missing, nil
}

// start runs a role until ctx ends.
func (a *app) start(ctx context.Context, g *errgroup.Group, role string) error {
	runs, err := a.role(ctx, role)
	if err != nil {
		return err
	}
	g.Go(func() error {
		if err := runs.Run(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", role, err)
		}
		return nil
	})
	return nil
}

// catchUpTracker runs the tracker until it has read everything that was told.
func (a *app) catchUpTracker(ctx context.Context, g *errgroup.Group) error {
	if err := a.start(ctx, g, tracker.Name); err != nil {
		return err
	}
	for _, p := range a.projections {
		p.Hurry()
	}
	client, err := a.stores.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		empty, err := outbox.Empty(ctx, a.stores.Control, control.Schema)
		if err == nil && empty {
			empty, err = outbox.Empty(ctx, a.stores.Warehouse, warehouse.Schema)
		}
		if err != nil {
			return err
		}
		if empty {
			read, err := a.trackerRead(ctx, client)
			if err != nil || read {
				return err
			}
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// requester names who asks, for people who read it later.
func requester() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
