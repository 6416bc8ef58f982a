package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report/reporttest"
	"tributary/web/order"
	"tributary/web/past"
)

func made(tracker pg.Querier) *API { return madeWith(tracker, nil) }

func madeWith(tracker pg.Querier, moments *past.Reader) *API {
	return New(Deps{Tracker: tracker, Past: moments, Orders: order.New(order.Deps{}), Log: slog.New(slog.DiscardHandler), Prefix: "", Version: "1",
		Now: func() time.Time { return reporttest.Start().Add(time.Hour) }})
}

func served(t *testing.T, a *API) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// ask sends a request with header fields, given as names and values.
func ask(t *testing.T, server *httptest.Server, path string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, body
}

// then is a moment of the story at which its good file had just been requested.
const then = "2026-11-21T10:00:08.5Z"

// Each operation answers as the document says: with data of its schema, or with a
// problem of a stable type.
func TestAnswersAreThoseOfTheDocument(t *testing.T) {
	a := New(whole(t))
	server := served(t, a)
	asked := map[string]bool{}
	for _, c := range append([]exchange{
		{"/status", "/status", 200, `"pending":1`},
		{"/files/{action}/{name}", "/files/add/" + reporttest.GoodZip, 200, `"exception":"xsd_enumeration"`},
		{"/files/{action}/{name}", "/files/add/" + reporttest.GoodZip, 200, `"resumed_from":40`},
		{"/files/{action}/{name}", "/files/add/" + reporttest.GoodZip, 200, `"response_head":"HTTP/1.1 206 Partial Content; Content-Range: bytes 40-119/120"`},
		{"/files/{action}/{name}", "/files/add/nothing.zip", 404, `"type":"/problems/no_such_file"`},
		{"/files/{action}/{name}", "/files/steal/a.zip", 422, `"location":"path.action"`},
		{"/files", "/files", 200, `"file":"` + reporttest.GoodZip + `"`},
		{"/files", "/files?limit=1&sort=name", 200, `"next":"`},
		{"/files", "/files?status=gone", 400, `"type":"/problems/bad_filter"`},
		{"/files", "/files?centre=nobody", 404, `"type":"/problems/unknown_centre"`},
		{"/files", "/files?unknown=1", 422, `"location":"query.unknown"`},
		{"/documents", "/documents?exception=xsd_invalid", 200, `"xsd_enumeration"`},
		{"/centres", "/centres", 200, `"full_name":"MRC Harwell"`},
		{"/sources", "/sources", 200, `"hostname":"h:22"`},
		{"/sources", "/sources?q=%00", 400, `"type":"/problems/bad_text"`},
		{"/files/{action}/{name}", "/files/add/%00", 400, `"type":"/problems/bad_text"`},
		{"/centres/{centre}", "/centres/%ff", 400, `"type":"/problems/bad_text"`},
		{"/files", "/files?q=%zz", 400, `"type":"/problems/bad_text"`},
		{"/sources", "/sources?q=x", 422, `"location":"query.q"`},
		{"/sources/{source}/revisions", "/sources/harwell/revisions", 200, `"rows":[]`},
		{"/sources/{source}/revisions", "/sources/harwell/revisions?after=x", 400, `"type":"/problems/bad_filter"`},
		{"/sources/{source}/revisions", "/sources/nowhere/revisions", 404, `"type":"/problems/unknown_source"`},
		{"/sources/{source}/errors", "/sources/harwell/errors", 200, `[]`},
		{"/status", "/status?as_of=" + then, 200, `"as_of":"2026-11-21T10:00:08.5Z"`},
		{"/status", "/status?as_of=tomorrow", 400, `"type":"/problems/bad_moment"`},
		{"/status", "/status?as_of=2999-01-01", 400, "is still to come"},
		{"/status", "/status?as_of=2026-11-20", 404, `"type":"/problems/before_history"`},
		{"/files/{action}/{name}", "/files/add/" + reporttest.GoodZip + "?as_of=" + then, 200, `"phase":"download"`},
		{"/files/{action}/{name}", "/files/add/" + reporttest.BrokenZip + "?as_of=" + then, 404, `"type":"/problems/no_such_file"`},
		{"/files", "/files?status=pending&since=1m&as_of=" + then, 200, `"file":"` + reporttest.GoodZip + `"`},
		{"/files", "/files?status=late&as_of=" + then, 400, `"type":"/problems/bad_filter"`},
		{"/documents", "/documents?as_of=" + then, 200, `"rows":[]`},
		{"/documents", "/documents?as_of=30m", 200, `"as_of":"2026-11-21T10:30:00Z"`},
		{"/centres", "/centres?as_of=" + then, 200, `"files":1`},
		{"/sources", "/sources?as_of=" + then, 200, `"hostname":"h:22"`},
		{"/sources/{source}/errors", "/sources/harwell/errors?as_of=" + then, 200, `[]`},
		{"/sources/{source}", "/sources/harwell?as_of=" + then, 200, `"source":"harwell"`},
		{"/sources/{source}/polls", "/sources/harwell/polls?as_of=" + then, 200, `"rows":[`},
		{"/sessions", "/sessions?as_of=" + then, 200, `"documents":0`},
		{"/sessions/{number}", "/sessions/1?as_of=" + then, 200, `"state":"open"`},
		{"/sessions/{number}", "/sessions/2?as_of=" + then, 404, `"type":"/problems/no_such_session"`},
		{"/centres/{centre}", "/centres/h?as_of=" + then, 200, `"phase":"download"`},
		{"/failures", "/failures?as_of=" + then, 200, `"exception":"name_pattern"`},
		{"/failures", "/failures?centre=H&as_of=" + then, 200, `[]`},
		{"/pace", "/pace?as_of=" + then, 200, `"until":"2026-11-21T10:00:08.5Z"`},
		{"/diff", "/diff?from=1h&limit=1", 200, `"next":"`},
		{"/diff", "/diff?from=" + then + "&to=2026-11-21T10:00:16.5Z", 200, `"change":"moved"`},
		{"/diff", "/diff?from=30m", 200, `"counts":[]`},
		{"/diff", "/diff", 422, `"location":"query.from"`},
		{"/diff", "/diff?from=1m&to=2m", 400, `"type":"/problems/bad_moment"`},
		{"/diff", "/diff?from=1h&centre=nobody", 404, `"type":"/problems/unknown_centre"`},
		{"/diff", "/diff?from=1h&kind=row", 400, `"location":"query.kind"`},
		{"/diff", "/diff?from=4w&to=3w", 404, `"type":"/problems/before_history"`},
		{"/sources/{source}/errors", "/sources/%3Cscript%3E/errors", 404, `"type":"/problems/unknown_source"`},
	}, exchanges()...) {
		answer, body := asks(t, server, c)
		if answer.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %d %s, want %d with %s", c.path, answer.StatusCode, body, c.status, c.want)
			continue
		}
		asked[base+c.operation] = true
		item := a.huma.OpenAPI().Paths[base+c.operation]
		operation := cmp.Or(item.Get, item.Post)
		described, ok := operation.Responses[strings.Fields(answer.Status)[0]]
		if !ok {
			t.Errorf("%s: an answer of status %d is not in the document", c.path, answer.StatusCode)
			continue
		}
		kind := strings.Split(answer.Header.Get("Content-Type"), ";")[0]
		media := described.Content[kind]
		if media == nil {
			t.Errorf("%s: an answer of type %s is not in the document", c.path, kind)
			continue
		}
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		result := &huma.ValidateResult{}
		huma.Validate(a.huma.OpenAPI().Components.Schemas, media.Schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, value, result)
		if len(result.Errors) > 0 {
			t.Errorf("%s: the answer is not of its schema: %v", c.path, errors.Join(result.Errors...))
		}
	}
	for _, path := range []string{"/events", "/sources/{id}/edit", "/sources/{id}/definition", "/centres/{id}/definition", "/sources/{id}/check", "/sources/{id}/announce", "/sources/{id}/test-filter", "/centres/{id}/edit", "/centres/{id}/links", "/definitions", "/dead-letters/retry-many", "/dead-letters/drop-many", "/sql/export", "/recipes/{recipe}/export"} {
		asked[base+path] = true // by tests of their own
	}
	for path, item := range a.huma.OpenAPI().Paths {
		if strings.Contains(path, base+"/own") {
			continue // TestOwn asks these
		}
		if !orders(a, item.Post) && !asked[path] { // TestOrders gives these
			t.Errorf("%s is asked by no test", path)
		}
	}
}

// Who has an answer already is told that nothing has changed.
func TestConditionalRequests(t *testing.T) {
	server := served(t, made(reporttest.Filled(t)))
	answer, _ := ask(t, server, base+"/centres")
	tag := answer.Header.Get("ETag")
	for _, c := range []struct {
		given string
		want  int
	}{{tag, 304}, {`"x", W/` + tag, 304}, {"*", 304}, {`"x"`, 200}, {"", 200}} {
		answer, body := ask(t, server, base+"/centres", "If-None-Match", c.given)
		if answer.StatusCode != c.want || c.want == 304 && len(body) > 0 || answer.Header.Get("ETag") != tag {
			t.Errorf("%q: %d with %d bytes, want %d", c.given, answer.StatusCode, len(body), c.want)
		}
	}
}

// Of a moment it is said how far the history goes; without a history no moment is told of.
func TestHowFarTheHistoryGoes(t *testing.T) {
	pool := reporttest.Filled(t)
	server := served(t, madeWith(pool, past.New(asof.Reader{History: reporttest.History(t), Postgres: pool, Writer: asof.Tracked})))
	for path, want := range map[string]string{"/centres?as_of=30m": "as of 2026-11-21T10:30:00Z, from the history, which is filled up to 2026-11-21T10:00:21Z", "/centres": ""} {
		if answer, _ := ask(t, server, base+path); !strings.HasPrefix(answer.Header.Get("Tributary-History"), want) || want == "" && answer.Header.Get("Tributary-History") != "" {
			t.Errorf("%s: %q, want %q", path, answer.Header.Get("Tributary-History"), want)
		}
	}
	without := served(t, made(pool))
	for _, path := range []string{"/status?as_of=30m", "/diff?from=30m"} {
		if answer, body := ask(t, without, base+path); answer.StatusCode != 503 || !strings.Contains(string(body), "/problems/no_history") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}

// A store that is away is a problem with a name, and nothing of its error goes out.
func TestStoreAway(t *testing.T) {
	pool := reporttest.Filled(t)
	server := served(t, made(pool))
	pool.Close()
	answer, body := ask(t, server, base+"/status")
	if answer.StatusCode != 503 || !strings.Contains(string(body), "/problems/store_unavailable") || strings.Contains(string(body), "pool") ||
		answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

var update = flag.Bool("update", false, "write the document anew")

func TestReference(t *testing.T) {
	const path = "../../docs/reference/openapi.yaml"
	a := made(nil)
	a.huma.OpenAPI().Info.Version = "v1"
	got, err := a.Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the handlers say, write it with make generate (-want +got):\n%s", path, diff)
	}
}
