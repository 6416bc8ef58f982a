package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/filter"
	"tributary/web/order"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// A replay is asked for by a form: tried first, refused where it can't be, and then in
// control with who asked for it and why. An address alone asks for nothing.
func TestNewReplay(t *testing.T) {
	pool := reporttest.Filled(t)
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	codec := schemastest.Codec(t)
	is := pagestest.Site(t, pool)
	deps := order.Deps{Control: pool, Tracker: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Run: func(bool) (*control.ReplayRun, error) {
		return &control.ReplayRun{ID: uuid.NewString(), Versions: []byte("{}")}, nil
	}}
	is.Orders, is.Replay = order.New(deps), deps.Replay
	site, err := pages.New(is)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: as{Name: "ann", Role: access.Wrangler}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)

	answers(t, server, "/files/add/"+reporttest.GoodZip, http.StatusOK, "<li>Hold: <bdi>no such file is known", `/t/replays/new?where=action&#43;%3D&#43;%27add%27&#43;AND&#43;file`)
	answers(t, server, "/replays/new?where=id+%3D+pg_sleep(9)::text::uuid&from=xsd", http.StatusOK, "pg_sleep(9)", "tributary replay --from xsd --where", `<option selected>xsd</option>`)
	this := url.Values{"from": {"xsd"}, "where": {"file = '" + reporttest.GoodZip + "'"}, "reason": {"other <schemas>"}}
	with := func(name, value string) url.Values {
		out := url.Values{}
		for k, v := range this {
			out[k] = v
		}
		out[name] = []string{value}
		return out
	}
	for _, c := range []struct {
		form   url.Values
		status int
		want   string
	}{
		{this, http.StatusOK, "It would be 1 file</b> of 1 centre"},
		{with("from", "fetch"), http.StatusBadRequest, "from which phase?"},
		{with("where", ""), http.StatusBadRequest, "which files?"},
		{with("where", "colour = 1"), http.StatusBadRequest, "the condition is refused"},
		{with("where", "true; DROP TABLE tracker.poll"), http.StatusBadRequest, "has a semicolon"},
		{with("where", "file = 'none'"), http.StatusOK, "It would be 0 files"},
		{with("since", "yesterday"), http.StatusBadRequest, "is no moment"},
		{with("shadow", "7"), http.StatusBadRequest, "is no name"},
	} {
		answer, body := send(t, server, "/replays/new", c.form)
		if answer.StatusCode != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "<schemas>") {
			t.Errorf("%v: %d, want %d and %q\n%s", c.form, answer.StatusCode, c.status, c.want, body)
		}
	}
	if runs, err := control.ReplayRuns(t.Context(), pool, 0); err != nil || len(runs) > 0 {
		t.Fatalf("trying has asked for %v, %v", runs, err)
	}
	nothing := with("where", "file = 'none'")
	nothing.Set("do", "request")
	if answer, body := send(t, server, "/replays/new", nothing); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "nothing is chosen") {
		t.Errorf("nothing: %d\n%s", answer.StatusCode, body)
	}
	this.Set("do", "request")
	answer, body := send(t, server, "/replays/new", this)
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/t/replays" {
		t.Fatalf("%d to %q\n%s", answer.StatusCode, answer.Header.Get("Location"), body)
	}
	runs, err := control.ReplayRuns(t.Context(), pool, 0)
	if err != nil || len(runs) != 1 || runs[0].By != "ann" || runs[0].Reason != "other <schemas>" || runs[0].Phase != "xsd" || runs[0].Predicate != this.Get("where") {
		t.Errorf("asked for: %+v, %v", runs, err)
	}
}

// What a list of files is narrowed to is what its offer to replay them fills in: the same
// files are chosen, whichever filters there are.
func TestFilesOfAListAreReplayed(t *testing.T) {
	tracker := reporttest.Told(t, reporttest.Busy())
	deps := order.Deps{Tracker: tracker}
	server := servedTo(t, pages.Site{Prefix: "/t", Tracker: tracker, Replay: deps.Replay, Log: slog.New(slog.DiscardHandler), Now: reporttest.Start}, access.Wrangler)
	answers(t, server, "/files?status=failed&since=7d", http.StatusOK, `href="/t/replays/new?since=7d&amp;where=status&#43;%3D&#43;%27failed%27">Replay these …</a>`)
	for _, path := range []string{"/files", "/files?sha256=aa1111"} {
		if _, body := get(t, server, path); strings.Contains(body, "Replay these") {
			t.Errorf("%s offers to replay what no condition says", path)
		}
	}
	chosen := map[string]int{}
	for _, query := range []string{"status=failed", "exception=xsd_invalid", "centre=h", "source=harwell", "phase=overview&status=done", "q=20.0", "q=H.*", "q=%25", "q=%27", "waiting=true", "session=1", "session=77",
		"session=" + schemas.ID("session", "1"), "action=add", "action=edit", "centre=h&status=failed&q=h."} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := filter.Parse(values, reporttest.Start())
		if err != nil {
			t.Fatal(err)
		}
		listed, err := report.FilePage(t.Context(), tracker, f)
		if err != nil {
			t.Fatal(err)
		}
		where, ok := filter.Condition(f)
		got, err := deps.Replay(t.Context(), order.Wanted{From: "xsd", Where: where}, control.Decision{At: reporttest.Start()}, true)
		if err != nil || !ok || got.Files+got.Nameless != int64(len(listed.Rows)) {
			t.Errorf("%s: %+v, %v; %d files are listed", query, got, err, len(listed.Rows))
		}
		chosen[query] = len(listed.Rows)
	}
	if chosen["status=failed"] == 0 || chosen["session=1"] == 0 || chosen["waiting=true"] == 0 || chosen["q=H.*"] == 0 || chosen["action=add"] == chosen["status=failed"] {
		t.Errorf("the filters choose too little to tell: %v", chosen)
	}
}
