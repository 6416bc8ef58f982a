package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/api"
	"tributary/web/live"
	"tributary/web/pages"
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
	feed := live.New(live.Config{}, live.Deps{Position: func(ctx context.Context) (string, error) { return report.Position(ctx, a.stores.Tracker) }, Log: a.log})
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

// serves is what is served, and to whom.
func (a *app) serves(feed *live.Feed) (web.Deps, error) {
	guard := access.New(access.Config{Prefix: a.cfg.Web.Prefix, Secure: a.cfg.Web.CertFile != "", Proxies: a.cfg.Web.Networks()}, access.Deps{Store: access.Control{Querier: a.stores.Control}, Now: now, Log: a.log})
	is, err := a.site(feed.Position)
	if err != nil {
		return web.Deps{}, err
	}
	is.ByLink = guard.ByLink
	site, err := pages.New(is)
	if err != nil {
		return web.Deps{}, err
	}
	programs := api.New(api.Deps{Tracker: a.stores.Tracker, Now: time.Now, Log: a.log, Prefix: a.cfg.Web.Prefix, Version: version()})
	return web.Deps{
		Guard: guard, Static: static.Files, Log: a.log, Listening: a.servesPages,
		Routes: slices.Concat(guard.Routes(), site.Routes(), programs.Routes(), []access.Route{feed.Route()}),
	}, nil
}

// site is what the pages are made of.
func (a *app) site(position func() string) (pages.Site, error) {
	known, err := meanings(a.profile)
	if err != nil {
		return pages.Site{}, err
	}
	s := pages.Site{
		Prefix: a.cfg.Web.Prefix, Name: a.profile.Name, Tracker: a.stores.Tracker, Warehouse: a.stores.Warehouse, Now: time.Now, Log: a.log,
		Position: position, Meaning: func(check string) string { return known[check] }, Beside: a.stores.beside, Replays: a.listReplays, Stores: pages.Stores{},
	}
	if a.stores.Kafka != nil {
		ledger, err := a.stores.ledger()
		if err != nil {
			return pages.Site{}, err
		}
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
