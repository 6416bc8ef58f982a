package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/access"
)

// Who ordered what is told to wranglers, and who changed accounts to operators only; the
// cursor leads on to what is left.
func TestAudit(t *testing.T) {
	deps := whole(t)
	pool := reporttest.Filled(t)
	deps.Tracker = pool
	reporttest.Add(t, pool, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Message: "resumed by ann: mended",
		Attributes: map[string]string{"by": "ann", "reason": "mended", "state": "available"}})
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	deps.Control = pool
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		return control.NoteAccountChange(t.Context(), tx, control.AccountChange{ChangedAt: reporttest.Start(), ChangedBy: "olga", Subject: "ben", What: "disabled"})
	}); err != nil {
		t.Fatal(err)
	}
	a := New(deps)
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Pattern, r.Handler)
		if r.Pattern == "GET "+base+"/audit" && r.Least != access.Wrangler {
			t.Errorf("it is for the role %s", r.Least)
		}
	}
	asks := func(role access.Role, query string) string {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(access.With(t.Context(), access.Person{Name: "ann", Role: role}), http.MethodGet, base+"/audit"+query, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		return strings.TrimSpace(w.Body.String())
	}
	const order = `{"at":"2026-11-21T10:00:23Z","by":"ann","kind":"source","subject":"harwell","what":"resumed","reason":"mended","detail":""}`
	const account = `{"at":"2026-11-21T10:00:00Z","by":"olga","kind":"account","subject":"ben","what":"disabled","reason":"","detail":""}`
	for _, c := range []struct {
		role  access.Role
		query string
		want  string
	}{
		{access.Wrangler, "", `{"rows":[` + order + `]}`},
		{access.Operator, "", `{"rows":[` + order + `,` + account + `]}`},
		{access.Operator, "?kind=account&by=olga&q=BEN&until=0m", `{"rows":[` + account + `]}`},
		{access.Wrangler, "?kind=account", `{"rows":[]}`},
	} {
		if got := asks(c.role, c.query); got != c.want {
			t.Errorf("%s by a %s: %s, want %s", c.query, c.role, got, c.want)
		}
	}
	first := asks(access.Operator, "?limit=1")
	_, next, _ := strings.Cut(strings.TrimSuffix(first, `"}`), `"next":"`)
	if got := asks(access.Operator, "?limit=1&after="+next); got != `{"rows":[`+account+`]}` {
		t.Errorf("%s leads to %s", first, got)
	}
}
