//go:build !race

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/sql/control"
	trackersql "tributary/sql/tracker"
	"tributary/sql/warehouse"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/live"
)

// pagesOf is an app that only serves.
func pagesOf(t *testing.T) *app {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, migrate := range []func() error{func() error { return control.Migrate(t.Context(), pool) }, func() error { return trackersql.Migrate(t.Context(), pool) }, func() error { return warehouse.Migrate(t.Context(), pool) }} {
		if err := migrate(); err != nil {
			t.Fatal(err)
		}
	}
	p, err := loadProfile(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	return &app{cfg: config.Default(), log: slog.New(slog.DiscardHandler), profile: p, stores: &stores{Control: pool, Tracker: pool, Warehouse: pool}}
}

// Each address, asked by somebody of each role and by nobody: who may gets past the
// guard, who may not gets nothing else, and what nobody may see is only what one needs
// to log in.
func TestEveryRouteByEveryRole(t *testing.T) {
	a := pagesOf(t)
	tokens := map[access.Role]string{}
	accounts := access.Accounts{Pool: a.stores.Control, Now: now}
	if err := pg.InTx(t.Context(), a.stores.Control, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "Ics", Active: true}, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for role := access.Producer; role <= access.Operator; role++ {
		p := access.Person{Name: role.String(), Role: role}
		if role == access.Producer {
			p.Centre = "Ics"
		}
		token, err := accounts.AddToken(t.Context(), p, time.Hour, access.Order{By: "test"})
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = token
	}
	link, err := accounts.AddCentreLink(t.Context(), "Ics", time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	deps, err := a.serves(live.New(live.Config{Readers: -1}, live.Deps{Position: a.stands(), Log: a.log})) // each reader of events is one too many
	if err != nil {
		t.Fatal(err)
	}
	handler := web.New(web.Config{}, deps).Handler()
	open := map[string]bool{"GET /login": true, "POST /login": true, "GET /login/{secret}": true, "POST /login/{secret}": true, "POST /logout": true, "POST /theme": true}
	for i, route := range deps.Routes {
		byLink := strings.Contains(route.Pattern, " "+access.CentrePath+"/{token}")
		if (route.Least == access.Nobody) != (open[route.Pattern] || byLink) {
			t.Errorf("%s: asks for %s", route.Pattern, route.Least)
		}
		for n := range 2 * (int(access.Operator) + 1) { // each role asks for now, then for a moment
			role, moment := access.Role(n/2), []string{"", "?as_of=2h"}[n%2]
			method, path, _ := strings.Cut(strings.NewReplacer("{$}", "", "{", "", "}", "", "...", "").Replace(route.Pattern), " ")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			r := httptest.NewRequestWithContext(ctx, method, path+moment, nil)
			r.Header.Set("Authorization", "Bearer "+tokens[role])
			r.RemoteAddr = fmt.Sprintf("203.0.113.%d:1", i) // or who tries links has to wait
			if role == access.Nobody {
				r.Header.Del("Authorization")
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			cancel()
			refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden || w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/login")
			if may := role >= route.Least; route.Least > access.Nobody && may == refused {
				t.Errorf("%s by %s: %d %s", route.Pattern, role, w.Code, w.Header().Get("Location"))
			}
			if refused && strings.Contains(w.Body.String(), "impc") {
				t.Errorf("%s by %s: what is served is told: %s", route.Pattern, role, w.Body)
			}
			if byLink && w.Code != http.StatusNotFound {
				t.Errorf("%s by %s, without a link: %d", route.Pattern, role, w.Code)
			}
			if w.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%s by %s: without a policy", route.Pattern, role)
			}
		}
		heldByLink(t, handler, route, link)
	}
}

// heldByLink holds what a route is to who has nothing but a centre's link: the centre's
// own view, kept by nobody, and nothing else. Its secret is no token either.
func heldByLink(t *testing.T, handler http.Handler, route access.Route, link string) {
	t.Helper()
	secret := strings.TrimPrefix(link, access.CentrePath+"/")
	method, path, _ := strings.Cut(strings.NewReplacer("{$}", "", "{token}", secret, "{", "", "}", "", "...", "").Replace(route.Pattern), " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if !strings.Contains(path, secret) {
		r.Header.Set("Authorization", "Bearer tributary_"+secret)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	h := w.Header()
	switch {
	case !strings.Contains(path, secret):
		if route.Least > access.Nobody && w.Code != http.StatusUnauthorized {
			t.Errorf("%s with a link's secret as its token: %d", route.Pattern, w.Code)
		}
	case method == http.MethodGet && strings.Contains(w.Body.String(), "leads nowhere"), w.Code >= http.StatusInternalServerError:
		t.Errorf("%s by a link: %d %s", route.Pattern, w.Code, w.Body)
	case h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "private, no-store" || !strings.Contains(h.Get("X-Robots-Tag"), "noindex"):
		t.Errorf("%s by a link: the address is passed on or kept: %v", route.Pattern, h)
	}
}

// Pages hear of what only the history shows, and of the tracker also while the history
// does not answer.
func TestStands(t *testing.T) {
	a := pagesOf(t)
	stand := a.stands()
	ask := func() string {
		t.Helper()
		is, err := stand(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if is := ask(); is != "0" {
		t.Errorf("without a history it is %q", is)
	}
	a.stores.ClickHouse = reporttest.History(t)
	both := ask()
	if want := fmt.Sprintf("0.%d", len(reporttest.Story())+1); both != want { // and a record that can't be read
		t.Errorf("it is %q, want %q", both, want)
	}
	if err := a.stores.ClickHouse.Close(); err != nil {
		t.Fatal(err)
	}
	if is := ask(); is != both {
		t.Errorf("the history is away, and it is %q after %q", is, both)
	}
	if _, err := a.stores.Tracker.Exec(t.Context(), "INSERT INTO tracker.consumed (consumer_group, topic, partition, next_offset) VALUES ('g', 't', 0, 7)"); err != nil {
		t.Fatal(err)
	}
	if is := ask(); is == both {
		t.Errorf("the tracker has read on, and it is still %q", is)
	}
}
