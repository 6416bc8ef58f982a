package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"tributary/producers/plan/plantest"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// sent is the answer to an order that somebody sends.
func sent(t *testing.T, a *API, person, path, key, body string) (status int, answer map[string]any) {
	t.Helper()
	status, text := sentText(t, a, person, path, key, body)
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return status, answer
}

func sentText(t *testing.T, a *API, person, path, key, body string) (status int, text []byte) {
	t.Helper()
	return sentMatching(t, a, "*", person, path, key, body)
}

// sentMatching sends an order about a thing that was looked at.
func sentMatching(t *testing.T, a *API, match, person, path, key, body string) (status int, text []byte) {
	t.Helper()
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	r := httptest.NewRequestWithContext(access.With(t.Context(), access.Person{Name: person, Role: access.Operator}), http.MethodPost, "/api/v1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, text
}

// orders tells whether an operation gives an order about something.
func orders(a *API, o *huma.Operation) bool {
	return o != nil && slices.ContainsFunc(a.deps.Orders, func(of order.Order) bool { return o.Description == of.About })
}

// operation is what an address orders.
func operation(a *API, path string) *huma.Operation {
	parts := strings.Split(path, "/") // empty, what it is about, …, its name
	for at, item := range a.huma.OpenAPI().Paths {
		if item.Post != nil && strings.HasPrefix(at, base+"/"+parts[1]+"/") && strings.HasSuffix(at, "/"+parts[len(parts)-1]) {
			return item.Post
		}
	}
	return &huma.Operation{}
}

// Orders of programs are given once for each key, with who gives them and why.
func TestOrders(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	clock := p.Clock
	a := New(Deps{Control: p.Pool, Orders: order.New(order.Deps{Control: p.Pool, Outbox: p.Outbox}), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return clock }})
	asked := map[*huma.Operation]bool{}
	for i, c := range []struct {
		person, path, key, body string
		status                  int
		want                    string // in type or detail
	}{
		{"ann", "/files/add/a.zip/hold", "", `{"dry_run": true}`, 200, "nothing of it begins until it is released"},
		{"ann", "/files/add/a.zip/hold", "1", `{"reason": "wrong mice"}`, 200, "nothing of it begins until it is released"},
		{"ann", "/files/add/a.zip/hold", "1", `{"reason": "wrong mice"}`, 200, "nothing of it begins until it is released"}, // as before
		{"ann", "/files/add/a.zip/hold", "1", `{"reason": "other mice"}`, 422, "/problems/key_used"},
		{"ann", "/files/add/a.zip/release", "1", `{"reason": "wrong mice"}`, 422, "/problems/key_used"},
		{"ben", "/files/add/a.zip/hold", "1", `{"reason": "wrong mice"}`, 409, "it is held already: held by ann: wrong mice"},
		{"ann", "/files/add/a.zip/hold", "2", `{}`, 409, "/problems/order_refused"},
		{"ann", "/files/add/a.zip/hold", "2", `{}`, 409, "/problems/order_refused"},
		{"ann", "/files/add/a.zip/hold", "", `{}`, 409, "it is held already"},
		{"ann", "/files/add/a.zip/hold", "", `{"priority": 3}`, 400, "/problems/bad_order"},
		{"ann", "/centres/H/revoke-link", "", `{"link": 7}`, 409, "there is no link"},
		{"ann", "/centres/H/revoke-link", "", `{}`, 400, "Number of the link must be given"},
		{"ann", "/files/add/a.zip/retry", "", `{}`, 409, "it is held"},
		{"ann", "/files/add/a.zip/priority", "3", `{"priority": 10}`, 422, "validation failed"},
		{"ann", "/files/add/a.zip/priority", "3", `{"priority": 9}`, 409, "it is held"},
		{"ann", "/documents/add/a.zip/" + strings.Repeat("a", 64) + "/d%2Fa.xml/accept", "", `{}`, 503, "/problems/not_here"}, // no tracker is at hand
		{"ann", "/documents/add/a.zip/" + strings.Repeat("a", 64) + "/a.xml/question", "", `{}`, 400, "say why"},
		{"ann", "/documents/add/a.zip/short/a.xml/hold", "", `{"reason": "r"}`, 422, "validation failed"},
		{"ann", "/files/add/b.zip/hold", "", `{}`, 409, "no such file is known"},
		{"ann", "/files/move/a.zip/hold", "", `{}`, 422, "validation failed"},
		{"ann", "/files/add/a.zip/hold", "", `{"reason": 1}`, 422, "validation failed"},
		{"ann", "/files/add/a.zip/hold", strings.Repeat("k", 201), `{}`, 422, "validation failed"},
		{"ann", "/sources/own/maintain", "4", `{"until": "yesterday"}`, 400, "is no moment"},
		{"ann", "/sources/own/maintain", "4", `{"until": "yesterday"}`, 400, "is no moment"}, // nothing has come of it
		{"ann", "/sources/own/maintain", "5", `{"until": "6h"}`, 200, "it is left alone until"},
		{"ann", "/replays/7/promote", "", `{"reason": "agreed"}`, 503, "/problems/not_here"}, // nobody compares here
		{"ann", "/replays/7/stop", "", `{}`, 409, "there is no such replay"},
		{"ann", "/dead-letters/validate:0:1/retry", "", `{}`, 503, "/problems/not_here"},
		{"ann", "/files/add/a.zip/cancel", "", `{"dry_run": true}`, 409, "nothing of it is under way"},
		{"ann", "/sources/own/poll", "", `{}`, 409, "it is in maintenance"},
		{"ann", "/sources/own/resume", "", `{"reason": "mended"}`, 200, "due at once"},
		{"ann", "/sources/own/act", "", `{}`, 400, "say why"},
		{"ann", "/sources/own/act", "", `{"reason": "agreed"}`, 409, "it defines no done_with"},
		{"ann", "/sources/own/stop-acting", "", `{"reason": "agreed"}`, 409, "it defines no done_with"},
		{"ann", "/replays/7/resume", "", `{}`, 409, "there is no such replay"},
		{"ann", "/sources/own/remove", "", `{}`, 503, "/problems/not_here"},
		{"ann", "/centres/H/remove", "", `{}`, 503, "/problems/not_here"},
		{"ann", "/dead-letters/x/drop", "", `{"reason": "r"}`, 503, "/problems/not_here"},
	} {
		status, answer := sent(t, a, c.person, c.path, c.key, c.body)
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		asked[operation(a, c.path)] = true
		if described := operation(a, c.path).Responses[strconv.Itoa(status)]; described == nil {
			t.Errorf("%d: %s: an answer of status %d is not in the document", i, c.path, status)
		}
		if status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%d: %s %s: %d %s, want %d %s", i, c.path, c.body, status, text, c.status, c.want)
		}
	}
	for path, item := range a.huma.OpenAPI().Paths {
		if orders(a, item.Post) && !asked[item.Post] {
			t.Errorf("%s is ordered by no test", path)
		}
	}
	held, err := control.HeldFiles(t.Context(), p.Pool, 10)
	if err != nil || len(held) != 1 || held[0].HeldBy != "ann" || held[0].HeldWhy != "wrong mice" {
		t.Errorf("held: %+v, %v", held, err)
	}

	// A key is known for a day; whose order has no end yet is told so.
	if earlier, err := control.BeginAPIRequest(t.Context(), p.Pool, control.APIRequest{Person: "ann", Key: "6", Digest: make([]byte, 32), At: clock}, clock.Add(-keysKept)); err != nil || earlier != nil {
		t.Fatalf("%v, %v", earlier, err)
	}
	if status, answer := sent(t, a, "ann", "/files/add/a.zip/release", "6", `{}`); status != 422 {
		t.Errorf("another order with the key: %d %v", status, answer)
	}
	p.Exec("UPDATE control.api_request SET digest = (SELECT digest FROM control.api_request WHERE key = '1' AND person = 'ann'), answer = NULL WHERE key = '6'")
	if status, answer := sent(t, a, "ann", "/files/add/a.zip/hold", "6", `{"reason": "wrong mice"}`); status != 409 || answer["type"] != "/problems/order_unfinished" {
		t.Errorf("an order without an end: %d %v", status, answer)
	}
	clock = clock.Add(keysKept + time.Second)
	if status, answer := sent(t, a, "ann", "/files/add/a.zip/release", "1", `{}`); status != 200 {
		t.Errorf("a day later: %d %v", status, answer)
	}
	if n := p.Text("SELECT count(*) FROM control.api_request"); n != "(1)" {
		t.Errorf("%s keys are kept", n)
	}
}

// An order that says what was looked at is not given for anything else.
func TestOrdersAreTiedToWhatWasLookedAt(t *testing.T) {
	p := plantest.New(t)
	defines := func(rule string) {
		p.Exec("UPDATE control.source SET url = 'sftp://h/out', definition = jsonb_build_object('id', id, 'url', 'sftp://h/out', 'done_with', $2::text) WHERE id = $1", plantest.Own, rule)
	}
	a := New(Deps{Control: p.Pool, Orders: order.New(order.Deps{Control: p.Pool, Outbox: p.Outbox}), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }})
	act := "/sources/" + plantest.Own + "/act"
	defines("move done")
	_, tried := sent(t, a, "ann", act, "", `{"dry_run": true}`)
	if tried["seen"] != "move done at sftp://h/out" {
		t.Fatalf("a dry run says %v", tried)
	}
	defines("delete")
	if status, answer := sent(t, a, "ann", act, "1", `{"reason": "agreed", "seen": "move done at sftp://h/out"}`); status != http.StatusPreconditionFailed || answer["type"] != "/problems/definition_changed" {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer := sent(t, a, "ann", act, "1", `{"reason": "agreed", "seen": "delete at sftp://h/out"}`); status != http.StatusOK {
		t.Errorf("%d %v", status, answer)
	}
}

// A replay is asked for once for each key, by who asks and why; what can't be asked for
// is refused by name.
func TestRequestReplay(t *testing.T) {
	p := plantest.New(t)
	var asked []string
	a := New(Deps{Control: p.Pool, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }, Request: func(_ context.Context, w order.Wanted, by control.Decision, dry bool) (replay.Requested, error) {
		asked = append(asked, strings.TrimSuffix(fmt.Sprintln(w, by.By, by.Reason, dry), "\n"))
		return replay.NewTally(w.From, w.Shadow).Requested(&control.ReplayRun{Number: int64(len(asked))}), nil
	}})
	const body = `{"from": "xsd", "where": "true", "reason": "other schemas"}`
	for _, c := range []struct {
		key, body string
		status    int
		want      string
	}{
		{"", `{"from": "xsd", "since": "7d", "shadow": "s", "dry_run": true}`, 200, `"replay":1`},
		{"1", body, 200, `"replay":2`},
		{"1", body, 200, `"replay":2`},
		{"1", `{"from": "data", "where": "true"}`, 422, "/problems/key_used"},
		{"2", body, 200, `"replay":3`},
		{"", `{"from": "fetch", "where": "true"}`, 422, "validation failed"},
		{"", `{"where": "true"}`, 422, "validation failed"},
		{"", `{"stale": true, "dry_run": true}`, 200, `"replay":4`},
	} {
		status, answer := sent(t, a, "ann", "/replays", c.key, c.body)
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.body, status, text, c.status, c.want)
		}
	}
	want := []string{"{xsd  7d  s false} ann  true", "{xsd true    false} ann other schemas false", "{xsd true    false} ann other schemas false", "{     true} ann  true"}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
	a = New(Deps{Control: p.Pool, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }})
	if status, answer := sent(t, a, "ann", "/replays", "", body); status != 503 || answer["type"] != "/problems/not_here" {
		t.Errorf("where it can't be: %d %v", status, answer)
	}
}
