package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// Programs make, list and revoke the links of a centre. The secret is told once, to who
// made it, and nobody keeps the answer.
func TestCentreLinks(t *testing.T) {
	p := plantest.New(t)
	if err := pg.InTx(t.Context(), p.Pool, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", Active: true}, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	deps := &order.Deps{Control: p.Pool, Outbox: p.Outbox}
	log := &strings.Builder{}
	a := New(Deps{Tracker: reporttest.Told(t, reporttest.Busy()), Control: p.Pool, Orders: order.New(*deps), Definitions: deps, Prefix: "/t", Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return p.Clock }})
	server := http.NewServeMux()
	for _, r := range a.Routes() {
		server.Handle(r.Pattern, r.Handler)
	}
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(access.With(t.Context(), access.Person{Name: "ann", Role: access.Wrangler}), method, base+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	made := ask("POST", "/centres/h/links", `{"expires": "2d", "reason": "for pat"}`)
	var link MadeLink
	if err := json.Unmarshal(made.Body.Bytes(), &link); err != nil || made.Code != http.StatusCreated || !strings.HasPrefix(link.Path, "/t"+access.CentrePath+"/") || made.Header().Get("Cache-Control") != "private, no-store" {
		t.Fatalf("%d %s %v: %v", made.Code, made.Body, made.Header(), err)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/centres/H/links", `{"expires": "2y"}`, 400, "/problems/bad_order"},
		{"/centres/H/links", `{"expires": "900d"}`, 400, "366 days at most"},
		{"/centres/Nowhere/links", `{}`, 400, "there is no centre"},
		{"/centres/H/links", `{"reason": "` + strings.Repeat("x", control.MaxReason+1) + `"}`, 422, "validation failed"},
		{"/centres/H/revoke-link", `{"link": 9}`, 409, "/problems/order_refused"},
		{"/centres/J/revoke-link", `{"link": 1}`, 409, "there is no link"},
		{"/centres/H/revoke-link", `{"link": 1, "dry_run": true}`, 200, "leads nowhere any more"},
	} {
		if w := ask("POST", c.path, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.60s: %d %s, want %d %s", c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	listed := func() (all []order.Link) {
		t.Helper()
		w := ask("GET", "/centres/h/links", "")
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != http.StatusOK || strings.Contains(w.Body.String(), strings.TrimPrefix(link.Path, "/t"+access.CentrePath+"/")) {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		return all
	}
	at := p.Clock.UTC().Truncate(time.Microsecond)
	want := order.Link{Number: 1, Centre: "H", MadeBy: "ann", CreatedAt: at, ExpiresAt: at.Add(48 * time.Hour)}
	if d := cmp.Diff([]order.Link{want}, listed()); d != "" {
		t.Errorf("links (- want, + got):\n%s", d)
	}
	if w := ask("POST", "/centres/H/revoke-link", `{"link": 1, "reason": "left"}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	want.RevokedAt = &at
	if d := cmp.Diff([]order.Link{want}, listed()); d != "" {
		t.Errorf("links after it was revoked (- want, + got):\n%s", d)
	}
	if w := ask("POST", "/centres/H/revoke-link", `{"link": 1}`); w.Code != 409 || !strings.Contains(w.Body.String(), "it was revoked at") {
		t.Errorf("again: %d %s", w.Code, w.Body)
	}
	if w := ask("GET", "/centres/Nowhere/links", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "/problems/unknown_centre") {
		t.Errorf("of no centre: %d %s", w.Code, w.Body)
	}
	if strings.Contains(log.String(), strings.TrimPrefix(link.Path, "/t"+access.CentrePath+"/")) {
		t.Errorf("the log has the secret:\n%s", log)
	}
}

// The bound of reasons in the document is the one that orders have.
func TestReasonsInTheDocument(t *testing.T) {
	a, found := New(Deps{}), 0
	for name, schema := range a.huma.OpenAPI().Components.Schemas.Map() {
		if r := schema.Properties["reason"]; r != nil && r.MaxLength != nil {
			if found++; *r.MaxLength != control.MaxReason {
				t.Errorf("%s: a reason has %d characters at most", name, *r.MaxLength)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d schemas have a reason", found)
	}
}
