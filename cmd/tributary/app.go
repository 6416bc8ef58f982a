package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"

	"tributary/consumers/unzip"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/obs"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/refused"
	"tributary/recovery/passover"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
	"tributary/topics"
)

// app is what all roles of one process share.
type app struct {
	cfg       config.Config
	log       *slog.Logger
	once      bool
	stores    *stores
	codec     *schemas.Codec
	passed    *passover.List // what people decided about records: codec knows it
	profile   *profile.Profile
	mapping   *mapping.Mapping
	centres   profile.CentreSet
	shadow    *unzip.Rules // of shadow runs; nil: the profile's
	sources   map[string]config.Source
	blobs     *blob.Dir
	space     *blob.Space // room for more blobs
	registry  *prometheus.Registry
	metrics   *member.Metrics
	isolation *stage.Isolation // what runs beside what in this process
	health    *obs.Health
	holder    string // names this process in leases

	projections []*sink.Applier // tracker and history, where they run here
}

// newApp opens the stores and brings schemas and topics to what this binary
// needs. Close closes it.
func newApp(ctx context.Context, cfg config.Config, log *slog.Logger, n need, once bool) (a *app, err error) {
	a = &app{cfg: cfg, log: log, once: once, sources: map[string]config.Source{}, health: obs.NewHealth()}
	for _, s := range cfg.Sources {
		a.sources[s.ID] = s
	}
	if a.profile, err = loadProfile(cfg); err != nil {
		return nil, usage(err)
	}
	if a.mapping, err = loadMapping(a.profile); err != nil {
		return nil, usage(err)
	}
	if a.centres, err = centres.Set(a.profile, cfg); err != nil {
		return nil, usage(err)
	}
	if cfg.ShadowProfile != "" {
		p, err := loadProfile(shadowConfig(cfg))
		if err != nil {
			return nil, usage(err)
		}
		set, err := centres.Set(p, cfg)
		if err != nil {
			return nil, usage(err)
		}
		a.shadow = &unzip.Rules{Profile: p, Centres: set}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this host: %w", err)
	}
	a.holder = fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano())
	a.registry = obs.NewRegistry(version())
	a.metrics = member.NewMetrics(a.registry)
	a.isolation = stage.NewIsolation()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	if a.stores, err = openStores(ctx, cfg, log, n); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx); err != nil {
		return nil, errors.Join(err, a.stores.Close())
	}
	if a.blobs, err = openBlobs(ctx, cfg, a.stores.Control); err != nil {
		return nil, errors.Join(err, a.stores.Close())
	}
	a.space = spaceOf(a.blobs, cfg.Blobs, log)
	return a, nil
}

// blobDir is where blobs lie.
func blobDir(cfg config.Config) string {
	return cmp.Or(cfg.Blobs.Dir, filepath.Join(cfg.DataDir, "blobs"))
}

// prepare migrates the schemas, applies the profile's tables and views, and
// makes missing topics. Members that start
// together take turns.
func (a *app) prepare(ctx context.Context) error {
	for _, m := range []struct {
		pool    *pgxpool.Pool
		migrate func(context.Context, *pgxpool.Pool) error
	}{{a.stores.Control, control.Migrate}, {a.stores.Tracker, tracker.Migrate}, {a.stores.Warehouse, warehouse.Migrate}} {
		if err := m.migrate(ctx, m.pool); err != nil {
			return err
		}
	}
	if err := warehouse.Apply(ctx, a.stores.Warehouse, a.profile.FS(), a.mapping); err != nil {
		return fmt.Errorf("tables of the profile %s: %w", a.profile.Name, err)
	}
	client, err := a.stores.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := topics.Ensure(ctx, kadm.NewClient(client), a.cfg.Kafka)
	for _, c := range left {
		a.log.Warn("a topic differs from the catalogue; see tributary topics plan", "change", c.String())
	}
	if err != nil {
		return err
	}
	a.passed, a.codec, err = a.stores.decided(ctx)
	return err
}

func (a *app) Close() error { return a.stores.Close() }

// outbox is control's.
func (a *app) outbox() pg.Outbox {
	return pg.Outbox{Schema: control.Schema, Codec: a.codec, Ends: a.ends().Control}
}

// ends are of what waits for an event that can't be published.
func (a *app) ends() refused.Ends { return refused.Ends{Codec: a.codec, Now: now} }

func (a *app) lease(pool *pgxpool.Pool, schema, name string) pg.Lease {
	return pg.Lease{Pool: pool, Schema: schema, Name: name, Holder: a.holder, TTL: a.cfg.Publish.LeaseTTL.D()}
}

// now is the clock of control's roles: microseconds, as Postgres keeps them.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// serve runs the given roles, and what every process has, until ctx ends or
// one of them fails. The first error stops all.
func (a *app) serve(ctx context.Context, names []string, more ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		run, err := a.role(ctx, name)
		if err != nil {
			return err
		}
		component := a.health.Component(name)
		g.Go(func() error {
			component.Ready()
			err := run(ctx)
			component.NotReady("stopped")
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	if a.cfg.HTTP.Listen != "" {
		if err := a.stores.readiness(a.health, needsOf(names)); err != nil {
			return err
		}
		a.watchSpace(names)
		a.watchLog()
		a.watchChain(names)
		server := obs.Server{Addr: a.cfg.HTTP.Listen, Health: a.health, Registry: a.registry, Logger: a.log}
		g.Go(func() error { return server.Run(ctx) })
	}
	if a.stores.Engines != nil {
		// The engines outlive the roles, which need them to stop in order.
		engines, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		go func() {
			if err := a.stores.Engines.Run(engines); err != nil {
				a.log.Error("the engines failed", "error", err)
			}
		}()
	}
	g.Go(func() error { return a.passed.Run(ctx) })
	for _, f := range more {
		g.Go(func() error { return f(ctx) })
	}
	return g.Wait()
}
