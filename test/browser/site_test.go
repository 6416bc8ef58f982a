package browser

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/live"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
	"tributary/web/static"
)

// anybody lets everybody in who comes, as an operator.
type anybody struct{}

func (anybody) Require(least access.Role, next http.Handler) http.Handler {
	return as(access.Operator).Require(least, next)
}

// as lets everybody in who comes, as somebody of a role.
type as access.Role

func (role as) Require(least access.Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if access.Role(role) < least {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person{Name: "ann", Role: access.Role(role)})))
	})
}

const prefix = "/t"

// serve serves the pages of a tracker until stop is called, or the test ends, and
// returns the address of its first page without the slash at its end. Listen may be an
// address that was served before.
func serve(t *testing.T, pool *pgxpool.Pool, listen string) (at string, stop func()) {
	t.Helper()
	return serveTo(t, pool, listen, anybody{}, func(*pages.Site) {})
}

// serveTo is serve with another guard, and with what else the pages are made of.
func serveTo(t *testing.T, pool *pgxpool.Pool, listen string, guard web.Guard, with func(*pages.Site)) (at string, stop func()) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	feed := live.New(live.Config{}, live.Deps{Log: quiet, Position: func(ctx context.Context) (string, error) { return report.Position(ctx, pool) }})
	is := pagestest.Site(t, pool)
	is.Position = feed.Position
	is.ByLink = func(next http.Handler) http.Handler { // whatever the secret is, of the centre H
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person{Name: "centre-link:1", Role: access.Producer, Centre: "H"})))
		})
	}
	with(&is)
	site, err := pages.New(is)
	if err != nil {
		t.Fatal(err)
	}
	routes := append(site.Routes(), feed.Route())
	listening := make(chan string, 1)
	server := web.New(web.Config{Listen: listen, Prefix: prefix}, web.Deps{Guard: guard, Routes: routes, Static: static.Files, Log: quiet,
		Listening: func(_ context.Context, addr string) { listening <- addr }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- feed.Run(ctx) }()
	go func() { ended <- server.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	select {
	case addr := <-listening:
		return "http://" + addr + prefix, stop
	case err := <-ended:
		t.Fatal(err)
		return "", nil
	}
}
