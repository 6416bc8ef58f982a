package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tributary/consumers/notify"
	"tributary/consumers/traces"
	"tributary/consumers/unzip"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/obs"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/screen"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/donewith"
	"tributary/producers/refused"
	"tributary/recovery/passover"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
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
	centres   *centres.Copy // of those that control has
	shadow    *unzip.Rules  // of shadow runs; nil: the profile's
	sources   map[string]config.Source
	blobs     *blob.Dir
	space     *blob.Space // room for more blobs
	registry  *prometheus.Registry
	metrics   *member.Metrics
	isolation *stage.Isolation // what runs beside what in this process
	health    *obs.Health
	holder    string            // names this process in leases
	level     *slog.LevelVar    // of log
	origins   map[string]string // of the configuration's values
	halt      func()            // ends serve, once its roles have stopped

	roles       map[string]*obs.Component // that run here, as readyz tells of them
	opened      chan struct{}             // by the role schedule: a session, for the role poll
	doneWith    *donewith.Worker          // of the role poll, where one round is run
	endRetries  func()                    // of the role plan, where it runs here
	projections []*sink.Applier           // tracker, history and traces, where they run here
	stages      map[string]*stage.Runner  // that run here
	stops       []roleStop                // of the roles that run, in the order of their start
	traces      *traces.Traces            // nil: they are not exported from here
	notify      *notify.Notify            // nil: nobody is notified from here

	webElse  string           // where the pages are served if web.listen is taken; empty: nowhere
	terminal *screen.Terminal // that is told where the pages are, with a link that logs in; nil: none
}

// newApp opens the ways to the stores, and asks none of them: serve and prepare
// do. Close closes it.
func newApp(ctx context.Context, cfg config.Config, log *slog.Logger, n need, once bool) (a *app, err error) {
	a = &app{cfg: cfg, log: log, once: once, sources: map[string]config.Source{}, health: obs.NewHealth(), roles: map[string]*obs.Component{}, opened: make(chan struct{}, 1), stages: map[string]*stage.Runner{}, level: &slog.LevelVar{}}
	for _, s := range cfg.Sources {
		a.sources[s.ID] = s
	}
	if a.profile, err = loadProfile(cfg); err != nil {
		return nil, usage(err)
	}
	if a.mapping, err = loadMapping(a.profile); err != nil {
		return nil, usage(err)
	}
	a.centres = centres.NewCopy(centres.Merge(a.profile, cfg), func(ctx context.Context) ([]centres.Centre, error) { return control.Centres(ctx, a.stores.Control) })
	if cfg.ShadowProfile != "" {
		p, err := loadProfile(shadowConfig(cfg))
		if err != nil {
			return nil, usage(err)
		}
		a.shadow = &unzip.Rules{Profile: p, Centres: a.centres.With(p.Centres)}
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
	return a, nil
}

// blobDir is where blobs lie.
func blobDir(cfg config.Config) string {
	return cmp.Or(cfg.Blobs.Dir, filepath.Join(cfg.DataDir, "blobs"))
}

func (a *app) Close() error { return a.stores.Close() }

// outbox is control's.
func (a *app) outbox() outbox.Outbox {
	return outbox.Outbox{Schema: control.Schema, Codec: a.codec, Ends: a.refusedEnds().Control}
}

// refusedEnds are of what waits for an event that can't be published.
func (a *app) refusedEnds() refused.Ends { return refused.Ends{Codec: a.codec, Now: now} }

func (a *app) lease(pool *pgxpool.Pool, schema, name string) pg.Lease {
	return pg.Lease{Pool: pool, Schema: schema, Name: name, Holder: a.holder, TTL: a.cfg.Publish.LeaseTTL.D()}
}

// now is the clock of control's roles: microseconds, as Postgres keeps them.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// configured are those of some roles that have anything to do.
func (a *app) configured(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(roles(), func(r role) bool { return r.name == name && r.configured != nil && !r.configured(a.cfg) })
	})
}

// serve prepares the stores, runs the given roles, and what every process has,
// until ctx ends or one of them fails. The first error stops all. Health is
// served from the beginning: it tells what is waited for.
func (a *app) serve(ctx context.Context, names []string, more ...func(context.Context) error) error {
	ctx, a.halt = context.WithCancel(ctx)
	defer a.halt()
	g, ctx := errgroup.WithContext(ctx)
	names = a.configured(names)
	a.stand(names)
	if a.cfg.HTTP.Listen != "" {
		if err := a.stores.readiness(a.health, needsOf(names)); err != nil {
			return err
		}
		a.watchLog()
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
	watch, err := a.watchdog(names)
	if err != nil {
		return err
	}
	if watch != nil {
		g.Go(func() error { return watch(ctx) })
	}
	g.Go(func() error { return a.begin(ctx, g, names, more) })
	return g.Wait()
}

// begin starts the roles once their stores are prepared.
func (a *app) begin(ctx context.Context, g *errgroup.Group, names []string, more []func(context.Context) error) error {
	everyone := a.waiter(func(reason string) {
		for _, r := range a.roles {
			r.NotReady(cmp.Or(reason, "starting"))
		}
	})
	if err := a.prepare(ctx, everyone); err != nil {
		return stopped(ctx, err)
	}
	a.log.Info("running", "roles", strings.Join(names, ","), "kafka", strings.Join(a.stores.Bootstrap, ","))
	if a.cfg.HTTP.Listen != "" { // before insertion can stop
		a.watchChain(names)
	}
	for _, name := range names {
		role, err := a.role(ctx, name)
		if err != nil {
			return err
		}
		ctx, ended := a.stoppable(ctx, name)
		g.Go(func() error {
			defer ended()
			a.roles[name].Ready(role.Serving)
			err := role.Run(ctx)
			a.roles[name].NotReady("stopped")
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	if a.cfg.HTTP.Listen != "" {
		a.watchSpace(names)
	}
	g.Go(func() error { return a.passed.Run(ctx) })
	g.Go(func() error { return a.centres.Run(ctx, a.log) })
	if !a.once {
		g.Go(func() error { return a.member(names).Run(ctx) })
	}
	for _, f := range more {
		g.Go(func() error { return f(ctx) })
	}
	return nil
}
