package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/producers/sources"
	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/sql/control"
	"tributary/sql/warehouse"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/api"
	"tributary/web/compared"
	"tributary/web/live"
	"tributary/web/order"
	"tributary/web/pages"
	"tributary/web/past"
	"tributary/web/question"
	"tributary/web/static"
)

func newServe(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the pages and the API",
		Long: "Serve the pages and the API at web.listen, or at " + config.DefaultWeb + ", until stopped: as run serve does. Any number may\n" +
			"serve. Nobody sees anything without an account, a token or a link that logs in once (tributary users, tokens,\n" +
			"login-link).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.runRoles(cmd.Context(), []string{roleServe}, func(cfg *config.Config) {
				if cfg.Web.Listen == "" {
					cfg.Web.Listen = config.DefaultWeb
				}
			})
		},
	}
}

// roleServe is the role that serves pages and API.
const roleServe = "serve"

// anyPort is where up serves the pages if the usual address is taken.
const anyPort = "127.0.0.1:0"

// server is the role serve.
func (a *app) server(context.Context) (runnable, error) {
	feed := live.New(live.Config{}, live.Deps{Position: a.stands(), Log: a.log})
	deps, err := a.serves(feed)
	if err != nil {
		return runnable{}, err
	}
	server := web.New(web.Config{Listen: a.cfg.Web.Listen, Else: a.webElse, Prefix: a.cfg.Web.Prefix, CertFile: a.cfg.Web.CertFile, KeyFile: a.cfg.Web.KeyFile}, deps)
	return always(func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return feed.Run(ctx) })
		g.Go(func() error { return server.Run(ctx) })
		return g.Wait()
	}), nil
}

// historyTime is how long the history may take to say where it stands: what only the
// tracker shows must not wait for it.
const historyTime = time.Second

// stands tells where the tracker and the history stand. While the history does not
// answer it stands where it stood.
func (a *app) stands() func(context.Context) (string, error) {
	history := ""
	return func(ctx context.Context) (string, error) {
		tracker, err := report.Position(ctx, a.stores.Tracker)
		if err != nil || a.stores.ClickHouse == nil {
			return tracker, err
		}
		ctx, cancel := context.WithTimeout(ctx, historyTime)
		defer cancel()
		if now, err := report.HistoryPosition(ctx, a.stores.ClickHouse); err == nil {
			history = now
		}
		return tracker + "." + history, nil
	}
}

// serves is what is served, and to whom.
func (a *app) serves(feed *live.Feed) (web.Deps, error) {
	guard := access.New(access.Config{Prefix: a.cfg.Web.Prefix, Secure: a.cfg.Web.CertFile != "", Proxies: a.cfg.Web.Networks()}, access.Deps{
		Store: access.Control{Querier: a.stores.Control}, Provider: provider(a.cfg.Web.OIDC), Known: access.Accounts{Pool: a.stores.Control, Now: now}.Known, Now: now, Log: a.log,
	})
	orders, err := a.orders()
	if err != nil {
		return web.Deps{}, err
	}
	is, err := a.site(feed.Position, orders)
	if err != nil {
		return web.Deps{}, err
	}
	is.Past = a.past()
	is.ByLink = guard.ByLink
	site, err := pages.New(is)
	if err != nil {
		return web.Deps{}, err
	}
	beside, err := a.besideTracker(site, orders.Shadows)
	if err != nil {
		return web.Deps{}, err
	}
	programs := api.New(api.Deps{Tracker: a.stores.Tracker, Past: is.Past, Control: a.stores.Control, Orders: order.New(orders), Request: orders.Replay, Definitions: &orders, ByLink: guard.ByLink, Now: time.Now, Log: a.log, Prefix: a.cfg.Web.Prefix, Version: version(), Beside: beside})
	return web.Deps{
		Guard: guard, Static: static.Files, Log: a.log, Listening: a.servesPages,
		Routes: slices.Concat(guard.Routes(), site.Routes(), programs.Routes(), []access.Route{feed.Route()}),
	}, nil
}

// provider is with whom people log in, if that is configured.
func provider(c config.OIDC) *access.Provider {
	if c.Issuer == "" {
		return nil
	}
	roles := map[string]access.Role{}
	for role, values := range map[access.Role][]string{access.Reader: c.Roles.Reader, access.Wrangler: c.Roles.Wrangler, access.Operator: c.Roles.Operator} {
		for _, v := range values {
			roles[v] = max(roles[v], role)
		}
	}
	return access.NewProvider(access.ProviderConfig{Issuer: c.Issuer, ClientID: c.ClientID, Secret: c.ClientSecret.Resolve, URL: c.URL, NameClaim: c.NameClaim, RoleClaim: c.RoleClaim, Scopes: c.Scopes, Roles: roles}, now)
}

// past is what tells of moments of the past; nil where the history isn't reached.
func (a *app) past() *past.Reader {
	if a.stores.ClickHouse == nil {
		return nil
	}
	return past.New(asof.Reader{History: a.stores.ClickHouse, Postgres: a.stores.Tracker, Writer: asof.Tracked})
}

// site is what the pages are made of.
func (a *app) site(position func(context.Context) string, orders order.Deps) (pages.Site, error) {
	known, err := meanings(a.profile)
	if err != nil {
		return pages.Site{}, err
	}
	statements, err := warehouse.Load(a.profile.FS())
	if err != nil {
		return pages.Site{}, fmt.Errorf("SQL of the profile %s: %w", a.profile.Name, err)
	}
	s := pages.Site{
		Prefix: a.cfg.Web.Prefix, Address: a.cfg.Web.Address(), Name: a.profile.Name, Tracker: a.stores.Tracker, Control: a.stores.Control, Warehouse: a.stores.Warehouse, Mapping: a.mapping, Now: time.Now, Log: a.log,
		Position: position, Meaning: func(check string) string { return known[check] }, Advice: centrereport.Explain(statements), Beside: a.stores.beside, Replays: a.listReplays, ReplayTold: a.stores.toldReplay, Shadows: orders.Shadows, Stores: question.Stores{}, Orders: order.New(orders), Replay: orders.Replay, Definitions: &orders, Notify: a.cfg.Notify, Why: a.stores.why, Every: a.cfg.Schedule.Interval.D(),
	}
	if a.blobs != nil {
		s.Originals = &original.Reader{Blobs: a.blobs, Limits: archiveLimits(a.cfg.Unzip)}
	}
	if ledger := orders.Ledger; ledger != nil {
		s.Letters = func(ctx context.Context, limit int, all bool, each func(deadletter.Row) error) error {
			return ledger.List(ctx, &deadletter.Filter{}, limit, all, func(l *deadletter.Standing) error { return each(l.Row()) })
		}
	}
	for _, name := range []string{storeTracker, storeWarehouse, storeHistory} {
		if name != storeHistory || a.stores.ClickHouse != nil {
			s.Stores[name] = func(timeout time.Duration) report.Store { return a.stores.ask(name, timeout) }
		}
	}
	if a.stores.ClickHouse != nil {
		s.History = func(parameters map[string]string, timeout time.Duration) report.ClickHouse {
			return report.ClickHouse{Conn: a.stores.ClickHouse, Timeout: timeout, MaxMemory: int64(a.cfg.ClickHouse.MaxMemory), Parameters: parameters}
		}
	}
	return s, nil
}

// comparesAtOnce is how many shadows may be compared at once, on the pages and by the API.
const comparesAtOnce = 2

// checksAtOnce is how many sources may be checked at once from the pages and the API.
const checksAtOnce = 4

// orders is what people may order, and by what that is done.
func (a *app) orders() (d order.Deps, err error) {
	if d.Outbox, err = controlOutbox(); err != nil {
		return d, err
	}
	d.Control, d.Tracker, d.Log = a.stores.Control, a.stores.Tracker, a.log
	d.Registry = &sources.Registry{Config: a.cfg, Profile: a.profile, Outbox: d.Outbox, Now: now, Options: config.Options{Also: checkProfile, WithoutSourceSecrets: true}}
	d.Checking = make(chan struct{}, checksAtOnce)
	d.Shadows = compared.New(a.stores.Control, func(ctx context.Context, live bool) (*shadow.Comparer, func(), error) {
		if live {
			return a.stores.comparer(ctx, a.cfg)
		}
		return a.stores.comparer(ctx, shadowConfig(a.cfg))
	}, comparesAtOnce)
	d.Run = func(beside bool) (*control.ReplayRun, error) { return askedRun(a.cfg, beside) }
	if a.stores.Kafka == nil {
		return d, nil
	}
	if d.Ledger, err = a.stores.ledger(); err != nil {
		return d, err
	}
	d.Decider = func(ctx context.Context) (*deadletter.Decider, func(), error) {
		p := a.stores.decider(d.Ledger.Reader.Codec)
		blobs, err := openBlobs(ctx, a.cfg, a.stores.Control)
		if err != nil {
			return nil, nil, err
		}
		p.Blobs = blobs
		return p, func() { _ = blobs.Close() }, nil // only read from
	}
	return d, nil
}

func (a *app) listReplays(ctx context.Context, limit int) (list []*replay.Status, err error) {
	err = a.stores.replayed(ctx, limit, func(r *replay.Status) error {
		list = append(list, r)
		return nil
	})
	return list, err
}

// servesPages says where the pages are. A terminal, which nobody else reads, is shown
// a link that logs in.
func (a *app) servesPages(ctx context.Context, addr string) {
	scheme := "http"
	if a.cfg.Web.CertFile != "" {
		scheme = "https"
	}
	address := scheme + "://" + addr + a.cfg.Web.Prefix
	a.log.Info("serving the pages", "address", address+"/")
	if a.terminal == nil {
		return
	}
	path, err := access.Accounts{Pool: a.stores.Control, Now: now}.AddLink(ctx, access.Operator, access.Order{By: a.holder, Reason: "started with up"})
	if err != nil {
		a.log.Warn("no link that logs in could be made; tributary login-link makes one", "error", err)
		return
	}
	fmt.Fprintf(a.terminal, "The pages, for whoever opens this within ten minutes: %s%s\n", address, path)
}
