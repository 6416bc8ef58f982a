//go:build synctests && !wasip1

package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/consumers/insert"
	"tributary/consumers/sequence"
	trackerrole "tributary/consumers/tracker"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	pollrole "tributary/producers/poll"
	"tributary/producers/publish"
	"tributary/producers/schedule"
	"tributary/schemas"
	controldb "tributary/sql/control"
	"tributary/sql/outbox"
	warehousedb "tributary/sql/warehouse"
)

func (in *installation) roles() []string {
	return []string{"schedule", "publish", "poll", "plan", "download", "unzip", "validate", "sequence", "insert", "tracker"}
}

func (in *installation) open(p *proc) (func(), error) {
	pool, err := p.connectDB(in.dsn)
	if err != nil {
		return nil, err
	}
	p.db = pool
	// Two processes of a static member have one name, and are two holders.
	p.holder = fmt.Sprintf("%s/%d", p.name, time.Now().UnixNano())
	return pool.Close, nil
}

// micros is the clock of control's roles, as the program gives it to them.
func micros() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// work wires a role as the program does.
func (in *installation) work(ctx context.Context, p *proc, log *slog.Logger, metrics *member.Metrics) error {
	outbox := outbox.Outbox{Schema: controldb.Schema, Codec: in.s.shared.codec}
	lease := func(name string) pg.Lease {
		return pg.Lease{Pool: p.db, Schema: controldb.Schema, Name: name, Holder: p.holder, TTL: in.cfg.Publish.LeaseTTL.D()}
	}
	offsets := pg.Offsets{Schema: controldb.Schema, Group: kafka.GroupName(prefix, p.role)}
	switch p.role {
	case "schedule":
		s := schedule.New(in.cfg, schedule.Deps{Profile: in.s.shared.profile, Pool: p.db, Outbox: outbox, Lease: lease("schedule"), Log: log, Now: micros})
		return s.Run(ctx)
	case "poll":
		l := pollrole.New(in.cfg.Poll, pollrole.Deps{Profile: in.s.shared.profile, Centres: in.s.shared.centres, Pool: p.db, Outbox: outbox,
			Holder: p.holder, TTL: in.cfg.Publish.LeaseTTL.D(), Log: log, Now: micros, Dial: in.s.dialer(p)})
		return l.Run(ctx)
	case "plan":
		l := plan.New(in.cfg.Plan, plan.Deps{Pool: p.db, Offsets: offsets, Outbox: outbox, Cutoff: in.cfg.Sequence.PollCutoff.D(), Log: log, Now: micros})
		return l.Run(ctx, in.applier(p, l, 150*time.Millisecond, log, metrics, plan.Topics()...))
	case "publish":
		return in.publish(ctx, p, log)
	case "sequence":
		q := sequence.New(in.cfg.Sequence, sequence.Deps{Kinds: in.kinds(), Early: in.s.scene.early, Offsets: offsets, Pool: p.db, Outbox: outbox, Lease: lease("release"), SilenceBudget: in.cfg.Plan.SilenceBudget.D(), Log: log, Now: micros,
			Applied: func(ctx context.Context) (int64, error) { return insert.AppliedPosition(ctx, p.db) },
			Failed: func(ctx context.Context, batches []string) (schemas.Phase, error) {
				return insert.FailedPhase(ctx, p.db, batches)
			}})
		return q.Run(ctx, in.applier(p, q, 300*time.Millisecond, log, metrics, schemas.DocumentValidatedTopic))
	case "insert":
		i, err := insert.New(in.cfg.Insert, insert.Deps{Prefix: prefix, Holder: p.holder, Pool: p.db, Blobs: in.s.blobs.by(p),
			Mapping: in.mapping, Statements: in.statements, Codec: in.s.shared.codec, Connect: p.client, Log: log, Metrics: p.metrics})
		if err != nil {
			return err
		}
		return i.Run(ctx)
	case "tracker":
		return in.applier(p, trackerrole.New(in.cfg.Tracker, trackerrole.Deps{Pool: p.db, Codec: in.s.shared.codec, Prefix: prefix, Log: log}), in.cfg.Tracker.Wait.D(), log, metrics, schemas.StatusChangedTopic).Run(ctx)
	}
	return fmt.Errorf("no role %s", p.role)
}

func (in *installation) kinds() (out []string) {
	for _, k := range in.s.shared.profile.Kinds {
		out = append(out, k.Name)
	}
	return out
}

// publish empties both outboxes, each with a client of its own.
func (in *installation) publish(ctx context.Context, p *proc, log *slog.Logger) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, schema := range []string{controldb.Schema, warehousedb.Schema} {
		client, err := p.client()
		if err != nil {
			return err
		}
		defer client.Close()
		u := publish.New(in.cfg.Publish, publish.Deps{Prefix: prefix, Schema: schema, Pool: p.db, Client: client, Holder: p.holder, Log: log, Metrics: p.metrics})
		g.Go(func() error { return u.Run(ctx) })
	}
	return g.Wait()
}

// store is a sink that knows topics that were made anew, as the product's do.
type store interface {
	sink.Store
	TopicID(ctx context.Context, topic string, id pg.TopicID) (pg.TopicID, error)
}

// stepped is a sink with the step at which it is asked for its position.
type stepped struct {
	store
	p *proc
}

func (k stepped) Position(ctx context.Context, topic string, partition int32) (int64, error) {
	if err := k.p.step(ctx, "position"); err != nil {
		return 0, err
	}
	return k.store.Position(ctx, topic, partition)
}

func (in *installation) applier(p *proc, k store, wait time.Duration, log *slog.Logger, metrics *member.Metrics, topics ...string) *sink.Applier {
	return sink.New(sink.Config{Name: p.role, Prefix: prefix, Topics: topics, MaxWait: wait}, p.client, stepped{k, p}, log, metrics)
}

func (in *installation) outstanding(ctx context.Context, p *proc, job string) (bool, error) {
	if err := p.step(ctx, "ask"); err != nil {
		return false, err
	}
	return controldb.JobOutstanding(ctx, p.db, job)
}

func (in *installation) hold(ctx context.Context, p *proc, job, server string) (context.Context, func(), error) {
	// What fails here is tried again by the hold itself, so only a death matters.
	if err := p.step(ctx, "hold"); err != nil && (p.isDead() || ctx.Err() != nil) {
		return ctx, func() {}, err
	}
	return controldb.HoldSession(ctx, p.db, job, server, p.holder, in.cfg.Publish.LeaseTTL.D())
}
