package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/consumers/download"
	"tributary/consumers/history"
	"tributary/consumers/insert"
	"tributary/consumers/traces"
	"tributary/consumers/tracker"
	"tributary/consumers/unzip"
	"tributary/consumers/validate"
	"tributary/internal/archive"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/remote/connectors"
	"tributary/internal/stage"
	"tributary/internal/stage/sink"
	"tributary/internal/throttle"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/warehouse"
	"tributary/topics"
)

const (
	// projectionBatch is how many records plan and sequence take into one
	// transaction at most: its locks and its commit are paid once for all.
	projectionBatch = 5000
	// planWait is how long plan waits for a batch to fill: long enough for the
	// jobs of a server to be decided together, short beside any download.
	planWait = 150 * time.Millisecond
	// sequenceWait is how long sequence waits for a batch to fill. A verdict
	// alone releases nothing, so nobody waits for one.
	sequenceWait = time.Second
	// onceRelease is how often batches are released with --once, where somebody
	// waits for the session's end.
	onceRelease = 50 * time.Millisecond
	// onceBackoff and onceBackoffMax bound the pauses between attempts at a file
	// with --once.
	onceBackoff    = time.Second
	onceBackoffMax = 5 * time.Second
)

func (a *app) downloader(context.Context) (runnable, error) {
	return a.runner("download", a.cfg.Download.Stage, a.cfg.Download.MaxDetached, download.New(a.cfg.Download, download.Deps{
		Sources: a.sources, Limits: a.cfg.Limits, Blobs: a.blobs, Space: a.space, Partials: a.blobs.Partials(int64(a.cfg.Download.PartialBytes)), Dial: connectors.All().Dial, Metrics: a.registry, Log: a.log, Now: now,
		Outstanding: func(ctx context.Context, job string) (bool, error) {
			return control.JobOutstanding(ctx, a.stores.Control, job)
		},
		Rests: func(ctx context.Context, source string) (string, error) {
			return control.SourceRests(ctx, a.stores.Control, source)
		},
		WithoutChecksums: func(ctx context.Context, source, definition string, files []string) (bool, error) {
			return control.WithoutChecksums(ctx, a.stores.Control, source, definition, files)
		},
		Hold: func(ctx context.Context, job, server string) (context.Context, func(), error) {
			return control.HoldSession(ctx, a.stores.Control, job, server, a.holder, a.cfg.Publish.LeaseTTL.D())
		},
		Gate:  a.gate,
		Lease: a.cfg.Publish.LeaseTTL.D(),
		Deaths: func(ctx context.Context, job string) (int, error) {
			return control.SessionDeaths(ctx, a.stores.Control, job)
		},
	})), nil
}

// gate is that of a session for a source, at a server.
func (a *app) gate(src config.Source, server string) *throttle.Gate {
	return control.GateTo(a.stores.Control, src, server, now, a.log)
}

func (a *app) unzipper(context.Context) (runnable, error) {
	return a.runner(unzip.Name, a.cfg.Unzip.Stage, 0, unzip.New(archiveLimits(a.cfg.Unzip), unzip.Deps{
		Blobs: a.blobs, Rules: unzip.Rules{Profile: a.profile, Centres: a.centres}, Shadow: a.shadow, Damaged: damaged(a.stores.Control, unzip.Name), Log: a.log, Now: now,
	})), nil
}

// archiveLimits are those of archives that are read.
func archiveLimits(u config.Unzip) archive.Limits {
	limits := archive.DefaultLimits()
	limits.MaxEntries, limits.MaxTotal, limits.MaxRatio, limits.RatioFree = u.MaxEntries, int64(u.MaxTotal), u.MaxRatio, int64(u.RatioFree)
	return limits
}

func (a *app) validator(context.Context) (runnable, error) {
	d := validate.Deps{Profile: a.profile, Blobs: a.blobs, Damaged: damaged(a.stores.Control, validate.Name), Log: a.log, Now: now}
	if a.shadow != nil {
		d.Shadow = a.shadow.Profile
	}
	v, err := validate.New(a.cfg.Validate, d)
	if err != nil {
		return runnable{}, err
	}
	return a.runner(validate.Name, a.cfg.Validate.Stage, 0, v), nil
}

func (a *app) tracker(ctx context.Context) (runnable, error) {
	pool, err := a.stores.Pool(ctx, a.cfg, "tributary tracker")
	if err != nil {
		return runnable{}, err
	}
	known, err := meanings(a.profile)
	if err != nil {
		return runnable{}, err
	}
	t := tracker.New(a.cfg.Tracker, tracker.Deps{Pool: pool, Codec: a.codec, Prefix: a.cfg.Kafka.TopicPrefix, Connect: a.stores.Kafka, Log: a.log, Meanings: known})
	return a.projection(t.Applier(a.metrics)), nil
}

// historian waits for ClickHouse by itself: the other roles don't need it.
func (a *app) historian(context.Context) (runnable, error) {
	h := a.history()
	role := a.projection(h.Applier(a.metrics))
	feed := role.Run
	role.Run = func(ctx context.Context) error {
		w := a.waiter(func(reason string) {
			if c := a.roles[history.Name]; reason != "" {
				c.NotReady(reason)
			} else {
				c.Ready(role.Serving)
			}
		})
		w.Give = false // what else a round does need not wait for it
		if err := w.Until(ctx, "clickhouse", h.Prepare); err != nil {
			return stopped(ctx, err)
		}
		return feed(ctx)
	}
	return role, nil
}

func (a *app) tracer(context.Context) (runnable, error) {
	t, err := traces.New(a.cfg.Traces, traces.Deps{Connect: a.stores.Kafka, Codec: a.codec, Prefix: a.cfg.Kafka.TopicPrefix,
		Version: version(), Log: a.log, Now: now, Metrics: a.registry})
	if err != nil {
		return runnable{}, err
	}
	applier := t.Applier(a.metrics)
	role := a.projection(applier)
	role.Run = func(ctx context.Context) error { return t.Run(ctx, applier) }
	a.traces = t
	return role, nil
}

// runner runs a Kafka-to-Kafka stage. Its long work may go on without its
// partition, as many records at once as detached says.
func (a *app) runner(name string, c config.Stage, detached int, s stage.Stage) runnable {
	r := stage.NewRunner(stage.Config{
		Name: name, Prefix: a.cfg.Kafka.TopicPrefix, Topic: topics.ReadBy(name)[0], Detached: detached,
		Parallelism: c.Parallelism, Window: c.Window, Stall: c.Stall.D(), Grace: c.Grace.D(), BackoffMax: c.BackoffMax.D(), Isolation: a.isolation,
	}, a.stores.Kafka, a.codec, s, a.log, a.metrics)
	a.stages[name] = r
	return runnable{r.Run, r.Serving}
}

// applier feeds a store from what its role reads.
func (a *app) applier(name string, wait time.Duration, store sink.Store) *sink.Applier {
	return sink.New(sink.Config{
		Name: name, Prefix: a.cfg.Kafka.TopicPrefix, Topics: topics.ReadBy(name), MaxRecords: projectionBatch, MaxWait: wait,
	}, a.stores.Kafka, store, a.log, a.metrics)
}

// projection runs what feeds a projection, and remembers it for when a
// session's end waits for it.
func (a *app) projection(p *sink.Applier) runnable {
	a.projections = append(a.projections, p)
	return runnable{p.Run, p.Serving}
}

func (a *app) offsets(role string) pg.Offsets {
	return pg.Offsets{Schema: control.Schema, Group: kafka.GroupName(a.cfg.Kafka.TopicPrefix, role)}
}

func (a *app) history() *history.History {
	open := func(database string) (driver.Conn, error) {
		return engine.OpenClickHouse(a.stores.ClickHouseURL, database)
	}
	return history.New(a.cfg.History, history.Deps{Open: open, Database: a.cfg.ClickHouse.Database, Codec: a.codec,
		Prefix: a.cfg.Kafka.TopicPrefix, Connect: a.stores.Kafka, Log: a.log})
}

// appliedPosition is up to which position the warehouse has applied the order.
func (a *app) appliedPosition(ctx context.Context) (int64, error) {
	return insert.AppliedPosition(ctx, a.stores.Warehouse)
}

// failedPhase is the earliest phase in which a document of some batches failed.
func (a *app) failedPhase(ctx context.Context, batches []string) (schemas.Phase, error) {
	return insert.FailedPhase(ctx, a.stores.Warehouse, batches)
}

func (a *app) inserter(ctx context.Context) (runnable, error) {
	pool, err := a.stores.Pool(ctx, a.cfg, "tributary insert")
	if err != nil {
		return runnable{}, err
	}
	statements, err := warehouse.Load(a.profile.FS())
	if err != nil {
		return runnable{}, fmt.Errorf("SQL of the profile %s: %w", a.profile.Name, err)
	}
	i, err := insert.New(a.cfg.Insert, insert.Deps{
		Prefix: a.cfg.Kafka.TopicPrefix, Holder: a.holder, Pool: pool, Blobs: a.blobs, Damaged: damaged(a.stores.Control, insert.Stage),
		Mapping: a.mapping, Statements: statements, Versions: a.profile.Versions(), Codec: a.codec, Decided: a.passed.Chain, LearnDecisions: a.passed.Load, Connect: a.stores.Kafka, Log: a.log, Metrics: a.registry,
	})
	if err != nil {
		return runnable{}, err
	}
	return always(i.Run), nil
}
