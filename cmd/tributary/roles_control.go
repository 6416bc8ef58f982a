package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tributary/consumers/insert"
	"tributary/consumers/sequence"
	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/producers/donewith"
	"tributary/producers/plan"
	"tributary/producers/poll"
	"tributary/producers/publish"
	"tributary/producers/schedule"
	"tributary/queries/measure"
	"tributary/recovery/replay"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

func (a *app) scheduler() *schedule.Scheduler {
	return schedule.New(a.cfg, schedule.Deps{Profile: a.profile, Pool: a.stores.Control, Outbox: a.outbox(),
		Lease: a.lease(a.stores.Control, control.Schema, "schedule"), Opened: a.opened, Log: a.log, Now: now})
}

func (a *app) poller(ctx context.Context) (runnable, error) {
	pool, err := a.stores.Pool(ctx, a.cfg, "tributary poll")
	if err != nil {
		return runnable{}, err
	}
	p := poll.New(a.cfg.Poll, poll.Deps{Profile: a.profile, Centres: a.centres, Pool: pool, Outbox: a.outbox(),
		Holder: a.holder, TTL: a.cfg.Publish.LeaseTTL.D(), Log: a.log, Now: now, Limits: a.cfg.Limits, Dial: connectors.All().Dial, Gate: a.gate, Blobs: a.blobs, Space: a.space,
		Opened: a.opened, Metrics: a.registry})
	d := donewith.New(a.cfg.Poll, donewith.Deps{Pool: pool, Outbox: a.outbox(), Applied: a.appliedPosition, Loaded: a.loaded, Dial: connectors.All().Dial, Gate: a.gate,
		Holder: a.holder, TTL: a.cfg.Publish.LeaseTTL.D(), Limits: a.cfg.Limits, Log: a.log, Now: now})
	if a.once {
		a.doneWith = d // the round has it act at its end
		return always(p.Run), nil
	}
	return always(func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return p.Run(ctx) })
		g.Go(func() error { return p.Wake(ctx) })
		g.Go(func() error { return d.Run(ctx) })
		return g.Wait()
	}), nil
}

// loaded is how many documents of files' versions the warehouse has loaded.
func (a *app) loaded(ctx context.Context, files, archives []string) (map[string]int, error) {
	return insert.Loaded(ctx, a.stores.Warehouse, files, archives)
}

func (a *app) planner(ctx context.Context) (runnable, error) {
	pool, err := a.stores.Pool(ctx, a.cfg, "tributary plan")
	if err != nil {
		return runnable{}, err
	}
	cfg, rest := a.cfg.Plan, time.Duration(0)
	if a.once {
		rest = onceBackoffMax
		cfg.Backoff, cfg.BackoffMax = min(cfg.Backoff, config.Duration(onceBackoff)), min(cfg.BackoffMax, config.Duration(onceBackoffMax))
	}
	p := plan.New(cfg, plan.Deps{Pool: pool, Offsets: a.offsets("plan"), Outbox: a.outbox(), Cutoff: a.cfg.Sequence.PollCutoff.D(), Dormant: a.space.Low,
		SkipKnown: a.profile.SkipKnown,
		Announced: &poll.Announcer{Profile: a.profile, Centres: a.centres, Outbox: a.outbox(), Now: now},
		Metrics:   a.registry, Log: a.log, Now: now, LongestRest: rest})
	a.endRetries = p.EndRetries
	replays := a.replays(pool)
	applier := a.applier("plan", planWait, p)
	return runnable{func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return p.Run(ctx, applier) })
		g.Go(func() error { return replays.Run(ctx) })
		return g.Wait()
	}, applier.Serving}, nil
}

// replays has files processed again, beside the planner.
func (a *app) replays(pool *pgxpool.Pool) *replay.Runner {
	versions := a.profile.Versions()
	return replay.NewRunner(replay.Deps{Pool: pool, Outbox: a.outbox(), Log: a.log, Now: now, Blobs: a.blobs, Applied: a.appliedPosition, Versions: &versions,
		Naming: func(entry string) (exception, message string) {
			if _, bad := a.profile.ParseDocument(entry, a.centres); bad != nil {
				return bad.Exception, bad.Message
			}
			return "", ""
		}})
}

// publisher empties both outboxes, each under a lease and with a client of its
// own.
func (a *app) publisher(context.Context) (runnable, error) {
	client, err := a.stores.Kafka(kgo.ManualFlushing())
	if err != nil {
		return runnable{}, err
	}
	second, err := a.stores.Kafka(kgo.ManualFlushing())
	if err != nil {
		client.Close()
		return runnable{}, err
	}
	of := func(schema string, pool *pgxpool.Pool, client *kgo.Client, ends outbox.Ends) *publish.Publisher {
		return publish.New(a.cfg.Publish, publish.Deps{Prefix: a.cfg.Kafka.TopicPrefix, Schema: schema, Pool: pool, Client: client,
			Holder: a.holder, Ends: ends, Log: a.log, Metrics: a.registry})
	}
	c := of(control.Schema, a.stores.Control, client, a.refusedEnds().Control)
	w := of(warehouse.Schema, a.stores.Warehouse, second, a.refusedEnds().Warehouse)
	m := measure.New(a.stores.Control, a.stores.Tracker, a.stores.Warehouse, a.log, a.registry)
	return always(func(ctx context.Context) error {
		defer client.Close()
		defer second.Close()
		if a.cfg.HTTP.Listen != "" { // else nobody asks for what is measured
			stop := background(ctx, m.Run)
			defer stop()
		}
		errs := make(chan error, 1)
		go func() { errs <- w.Run(ctx) }()
		err := c.Run(ctx)
		if werr := <-errs; err == nil {
			err = werr
		}
		return err
	}), nil
}

// background runs what never fails until the returned function is called, or
// ctx ends.
func background(ctx context.Context, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // it logs what goes wrong, and tries again
	}()
	return func() {
		cancel()
		<-done
	}
}

// releaseLease names the lease under which one member releases batches.
const releaseLease = "release"

func (a *app) sequencer(ctx context.Context) (runnable, error) {
	pool, err := a.stores.Pool(ctx, a.cfg, "tributary sequence")
	if err != nil {
		return runnable{}, err
	}
	var kinds []string
	for _, k := range a.profile.Kinds {
		kinds = append(kinds, k.Name)
	}
	cfg := a.cfg.Sequence
	if a.once {
		cfg.LateLimit, cfg.Interval = 0, min(cfg.Interval, config.Duration(onceRelease))
	}
	s := sequence.New(cfg, sequence.Deps{Kinds: kinds, Early: a.profile.Early, Offsets: a.offsets("sequence"), Pool: pool, Outbox: a.outbox(),
		Lease: a.lease(pool, control.Schema, releaseLease), SilenceBudget: a.cfg.Plan.SilenceBudget.D(), Log: a.log, Now: now,
		Applied: a.appliedPosition, Failed: a.failedPhase})
	applier := a.applier("sequence", sequenceWait, s)
	return runnable{func(ctx context.Context) error { return s.Run(ctx, applier) }, applier.Serving}, nil
}
