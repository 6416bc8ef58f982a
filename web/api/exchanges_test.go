package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tributary/internal/mapping"
	"tributary/producers/sources"
	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/queries/explained"
	"tributary/queries/lineage"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/topics"
	"tributary/web/order"
	"tributary/web/past"
	"tributary/web/question"
)

// exchange is a request and what must be answered.
type exchange struct {
	operation, path string
	status          int
	want            string // part of the body
}

// invalid is a document of the good file with an error.
const invalid = "H.2012-10-02.1.experiment.impc.xml"

// letter is the id of the only dead letter.
const letter = "validate:2:17"

// whole is everything that an API is made of: the small story with findings beside it,
// a dead letter, a replay, and a source in control.
func whole(t *testing.T) Deps {
	t.Helper()
	pool, history := reporttest.Filled(t), reporttest.History(t)
	reporttest.Findings(t, pool)
	if _, err := pool.Exec(t.Context(), "UPDATE warehouse.document SET file = $1 WHERE position IN (3, 4)", schemas.FileID("add", reporttest.GoodZip)); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return reporttest.Start().Add(time.Hour) }
	asker, err := question.New(func(parameters map[string]string, timeout time.Duration) report.ClickHouse {
		return report.ClickHouse{Conn: history, Timeout: timeout, Parameters: parameters}
	}, question.Stores{"tracker": func(timeout time.Duration) report.Store {
		return report.Postgres{Pool: pool, Schema: "tracker", Timeout: timeout}
	}}, now)
	if err != nil {
		t.Fatal(err)
	}
	keeps(t, pool, asker, now)
	if _, err := pool.Exec(t.Context(), `WITH s AS (INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition, ignored)
			VALUES ('harwell', 'H', 'harwell:22', 'sftp', '', 1, '1 hour', 'available', 1, '{}', 3))
		INSERT INTO control.ignored (source, ordinal, directory, name, reason, rule) VALUES ('harwell', 1, 'add', 'README', 'not_zip', ''), ('harwell', 2, 'edit', 'a.part', 'filtered', '- *.part')`); err != nil {
		t.Fatal(err)
	}
	row := deadletter.Row{ID: letter, Stage: "validate", About: "add/a.zip", Exception: "panic", Centre: "H", State: deadletter.Open, Time: now()}
	ran := &replay.Status{Replay: 3, From: "xsd", State: "done", RequestedAt: now(), ChangedAt: now()}
	return Deps{Tracker: pool, Control: pool, Past: past.New(asof.Reader{History: history, Postgres: pool, Writer: asof.Tracked}), Orders: order.New(order.Deps{}), Log: slog.New(slog.DiscardHandler), Version: "1", Now: now, ByLink: func(next http.Handler) http.Handler { return of("H", next) }, Beside: Beside{
		Status: func(_ context.Context, s *report.Status) error { s.Insertion = "stopped at 7"; return nil },
		Priority: func(context.Context, string, string) (*report.Priority, error) {
			return &report.Priority{Priority: 9, By: "ada"}, nil
		},
		Standing: func(_ context.Context, source string) (Standing, error) {
			if source != "harwell" {
				return Standing{}, fmt.Errorf("%s: %w", source, sources.ErrUnknown)
			}
			return Standing{Standing: []byte(`{"b":1,"a":"<"}`), Text: "harwell is available"}, nil
		},
		Why: func(_ context.Context, source, path string) ([]why.Answer, int, error) {
			if path == "nothing" {
				return nil, 0, why.ErrUnknownID
			}
			return []why.Answer{{File: path, Source: source, Verdict: why.Held, Evidence: []why.Fact{}}}, 1, nil
		},
		Letters: func(_ context.Context, f *deadletter.Filter, limit int, all bool, each func(deadletter.Row) error) error {
			if f.Centre != "" && f.Centre != "H" || limit < 1 || all {
				return nil
			}
			return each(row)
		},
		Letter: func(_ context.Context, id string) (deadletter.Story, error) {
			if id != letter {
				return deadletter.Story{}, deadletter.ErrNotFound
			}
			return deadletter.Story{Row: row, Event: &topics.Event{Topic: "t", Body: []topics.Field{{Name: "z", Value: 1}, {Name: "a", Value: 2}}}}, nil
		},
		Replays: func(_ context.Context, limit int) ([]*replay.Status, error) {
			return []*replay.Status{ran}[:min(1, limit)], nil
		},
		Replay: func(_ context.Context, name string) (*replay.Status, error) {
			if name != "3" {
				return nil, control.ErrNoReplay
			}
			return ran, nil
		},
		Warehouse: pool, Meaning: strings.ToUpper, Asker: asker, Explained: explained.New(nil).Document, Advice: func(string) centrereport.Advice { return centrereport.Advice{} },
		Lineage: &lineage.Reader{Warehouse: pool, Tracker: pool, Mapping: &mapping.Mapping{}, Limit: 10},
	}}
}

// exchanges are those about what is not in the lists of files and origins. A path may
// have a body behind a space: then it is posted.
func exchanges() []exchange {
	good := "/files/add/" + reporttest.GoodZip
	return []exchange{
		{"/status", "/status?oldest=0", 200, `"oldest":[]`},
		{"/status", "/status", 200, `"insertion":"stopped at 7"`},
		{"/status", "/status?oldest=-1", 422, `"location":"query.oldest"`},
		{"/files/{action}/{name}", good, 200, `"priority":9`},
		{"/files", "/files?name=" + reporttest.GoodZip[:4] + "*", 200, `"file":"` + reporttest.GoodZip + `"`},
		{"/files", "/files?name=" + reporttest.GoodZip[:4], 200, `"rows":[]`},
		{"/files/{action}/{name}/document", good + "/document?entry=a.xml", 404, `"type":"/problems/no_such_document"`},
		{"/files/{action}/{name}/document", good + "/document", 422, `"location":"query.entry"`},
		{"/files/{action}/{name}/document/errors", good + "/document/errors?entry=" + invalid, 200, `"exception":"xsd_enumeration"`},
		{"/files/{action}/{name}/document/errors", good + "/document/errors?entry=" + invalid, 200, `"unseen":"Stored bytes`},
		{"/files/{action}/{name}/document/errors", good + "/document/errors?entry=a.xml", 404, `"type":"/problems/no_such_document"`},
		{"/files/{action}/{name}/document/errors", good + "/document/errors?as_of=" + then + "&entry=" + invalid, 404, `"type":"/problems/no_such_document"`},
		{"/files/{action}/{name}/document/errors", good + "/document/errors?as_of=30m&entry=" + invalid, 200, `"as_of":"2026-11-21T10:30:00Z"`},
		{"/held-files", "/held-files", 200, `[]`},
		{"/expected", "/expected", 200, `"source":"harwell"`},
		{"/expected", "/expected?source=harwell&as_of=" + then, 200, `"interval_seconds":null`},
		{"/expected", "/expected?source=nowhere", 404, `"type":"/problems/unknown_source"`},
		{"/centres/{centre}/report", "/centres/h/report?errors=1", 200, `"text":"`},
		{"/centres/{centre}/report", "/centres/H/report?format=html&since=7d", 200, "html"},
		{"/centres/{centre}/report", "/centres/nobody/report", 404, `"type":"/problems/no_such_centre"`},
		{"/centres/{centre}/report", "/centres/H/report?since=soon", 400, `"location":"query.since"`},
		{"/audit", "/audit", 200, `"rows":[]`},
		{"/audit", "/audit?kind=wish", 400, `"location":"query.kind"`},
		{"/audit", "/audit?after=x", 400, `"type":"/problems/bad_filter"`},
		{"/audit", "/audit?limit=0", 400, `"location":"query.limit"`},
		{"/audit", "/audit?centre=H", 422, `"location":"query.centre"`},
		{"/pace", "/pace", 200, `"step_seconds":60`},
		{"/pace", "/pace?span=1y", 422, `"location":"query.span"`},
		{"/failures", "/failures", 200, `"exception":"`},
		{"/failures", "/failures?centre=nobody", 404, `"type":"/problems/unknown_centre"`},
		{"/centres/{centre}", "/centres/h", 200, `"full_name":"MRC Harwell"`},
		{"/centres/{centre}", "/centres/nobody", 404, `"type":"/problems/unknown_centre"`},
		{"/sources/{source}", "/sources/harwell", 200, `"interval_seconds":null`},
		{"/sources/{source}", "/sources/nowhere", 404, `"type":"/problems/unknown_source"`},
		{"/sources/{source}/standing", "/sources/harwell/standing", 200, `"standing":{"b":1,"a":"<"}`},
		{"/sources/{source}/standing", "/sources/nowhere/standing", 404, `"detail":"nowhere: there is no such source: tributary sources lists them"`},
		{"/sources/{source}/ignored", "/sources/harwell/ignored?limit=1", 200, `{"total":3,"rows":[{"directory":"add","name":"README","reason":"not_zip"}],"next":1}`},
		{"/sources/{source}/ignored", "/sources/harwell/ignored?after=1", 200, `{"total":3,"rows":[{"directory":"edit","name":"a.part","reason":"filtered","rule":"- *.part"}]}`},
		{"/sources/{source}/ignored", "/sources/nowhere/ignored", 404, `"type":"/problems/unknown_source"`},
		{"/sources/{source}/ignored", "/sources/harwell/ignored?after=-1", 422, `"location":"query.after"`},
		{"/sources/{source}/polls", "/sources/harwell/polls?limit=1", 200, `"rows":[`},
		{"/sources/{source}/polls", "/sources/harwell/polls?before=0000-01-01T00:00:00Z", 400, `"type":"/problems/bad_filter"`},
		{"/sessions", "/sessions", 200, `"number":1`},
		{"/sessions", "/sessions?before=2000-01-01T00:00:00Z", 200, `"rows":[]`},
		{"/sessions", "/sessions?before=yesterday", 422, `"location":"query.before"`},
		{"/sessions/{number}", "/sessions/1", 200, `"poll_list":[`},
		{"/sessions/{number}", "/sessions/99", 404, `"type":"/problems/no_such_session"`},
		{"/dead-letters", "/dead-letters", 200, `"id":"` + letter + `"`},
		{"/dead-letters", "/dead-letters?where=centre=J", 200, `[]`},
		{"/dead-letters", "/dead-letters?where=centre=H&where=exception=panic", 200, `"id":"` + letter + `"`},
		{"/dead-letters", "/dead-letters?where=colour=red", 400, `"type":"/problems/bad_filter"`},
		{"/dead-letters", "/dead-letters?all=true", 200, `[]`},
		{"/dead-letters/{id}", "/dead-letters/" + letter, 200, `"body":{"z":1,"a":2}`},
		{"/dead-letters/{id}", "/dead-letters/validate:2:18", 404, `"type":"/problems/no_such_dead_letter"`},
		{"/dead-letters/{id}", "/dead-letters/x", 400, `"type":"/problems/bad_filter"`},
		{"/replays", "/replays", 200, `"replay":3`},
		{"/replays/{replay}", "/replays/3", 200, `"state":"done"`},
		{"/replays/{replay}/compare", "/replays/4/compare", 503, `"type":"/problems/not_here"`},
		{"/replays/{replay}/compare/documents", "/replays/4/compare/documents", 503, `"type":"/problems/not_here"`},
		{"/replays/{replay}/compare/documents", "/replays/4/compare/documents?after=-1", 422, `"location":"query.after"`},
		{"/expected", "/expected?limit=1", 200, `"source":"`},
		{"/expected", "/expected?after=zzz", 200, `[]`},
		{"/replays/{replay}/compare", "/replays/4/compare?limit=251", 422, `"location":"query.limit"`},
		{"/replays/{replay}", "/replays/4", 404, `"type":"/problems/no_such_replay"`},
		{"/replays/{replay}", "/replays/4%00", 400, `"type":"/problems/bad_text"`},
		{"/findings", "/findings", 200, `"meaning":"SPECIMEN_UNKNOWN"`},
		{"/findings/{centre}/{check}", "/findings/H/specimen_unknown?limit=2", 200, `"next":"3-2"`},
		{"/findings/{centre}/{check}", "/findings/H/specimen_unknown?limit=2&after=3-2", 200, `"line":15`},
		{"/findings/{centre}/{check}", "/findings/H/specimen_unknown?after=x", 400, `"type":"/problems/bad_filter"`},
		{"/files/{action}/{name}/lineage", good + "/lineage?limit=1", 200, `"next":"3"`},
		{"/files/{action}/{name}/lineage", good + "/lineage?limit=1&after=3", 200, `"position":4`},
		{"/files/{action}/{name}/lineage", good + "/lineage?after=99", 200, `"rows":[]`},
		{"/files/{action}/{name}/lineage", "/files/add/nothing.zip/lineage", 404, `"type":"/problems/no_such_row"`},
		{"/lineage/{position}/{ordinal}", "/lineage/3/1", 404, `"type":"/problems/no_such_row"`},
		{"/changed", "/changed?since=2h", 200, `"new":4`},
		{"/changed", "/changed", 422, `"location":"query.since"`},
		{"/changed", "/changed?since=soon", 400, `"type":"/problems/bad_filter"`},
		{"/questions", "/questions", 200, `"command":"tributary files --status failed"`},
		{"/questions/{number}/ask", "/questions/1/ask {}", 200, `{"files":{"rows":[`},
		{"/questions/{number}/ask", "/questions/2/ask {}", 200, `{"documents":{"rows":[`},
		{"/questions/{number}/ask", "/questions/3/ask {}", 200, `{"answer":{"columns":[`},
		{"/questions/{number}/ask", "/questions/4/ask {}", 200, `"rows":[["1"]]`},
		{"/questions/{number}/ask", "/questions/5/ask {}", 404, `"type":"/problems/no_such_question"`},
		{"/questions/{number}/ask", "/questions/0/ask {}", 422, `"location":"path.number"`},
		{"/questions/{number}/rename", `/questions/1/rename {"name":"what failed"}`, 200, `"name":"what failed"`},
		{"/questions/{number}/delete", "/questions/4/delete {}", 200, `"name":"one"`},
		{"/questions/{number}/delete", "/questions/4/delete {}", 404, `"type":"/problems/no_such_question"`},
		{"/dead-letters", "/dead-letters?as_of=" + then, 200, `[]`},
		{"/findings", "/findings?as_of=" + then, 200, `[]`},
		{"/findings/{centre}/{check}", "/findings/H/specimen_unknown?as_of=" + then, 200, `"rows":[]`},
		{"/replays", "/replays?as_of=" + then, 200, `[]`},
		{"/replays/{replay}", "/replays/3?as_of=" + then, 404, `"type":"/problems/no_such_replay"`},
		{"/recipes/{recipe}", "/recipes/rejected?as_of=" + then, 200, `"columns":[`},
		{"/recipes/{recipe}", "/recipes/rejected?as_of=2026-11-20", 404, `"type":"/problems/before_history"`},
		{"/lineage", "/lineage?of=3/1", 404, `"type":"/problems/no_such_row"`},
		{"/lineage", "/lineage?of=nothing&of=a", 400, "is not a table of records"},
		{"/lineage", "/lineage?of=specimen", 400, `"type":"/problems/bad_filter"`},
		{"/lineage", "/lineage?of=3/1&of=%00", 400, `"type":"/problems/bad_text"`},
		{"/why", "/why?path=add/a.zip&source=harwell", 200, `"verdict":"held"`},
		{"/why", "/why?path=nothing", 404, `"type":"/problems/no_such_file"`},
		{"/why", "/why", 422, `"location":"query.path"`},
		{"/recipes", "/recipes", 200, `"name":"rejected"`},
		{"/recipes/{recipe}", "/recipes/rejected?centre=H", 200, `"columns":[`},
		{"/recipes/{recipe}", "/recipes/rejected?centre=nobody", 404, `"type":"/problems/unknown_centre"`},
		{"/recipes/{recipe}", "/recipes/rejected?since=soon", 400, `"type":"/problems/bad_parameter"`},
		{"/recipes/{recipe}", "/recipes/rejected?of=x", 400, `"type":"/problems/bad_parameter"`},
		{"/recipes/{recipe}", "/recipes/nothing", 404, `"type":"/problems/no_such_recipe"`},
		{"/sql", `/sql {"store":"tracker","statement":"SELECT 1 AS one"}`, 200, `"rows":[["1"]]`},
		{"/sql", `/sql {"store":"tracker","statement":"DROP TABLE tracker.file"}`, 400, `"type":"/problems/bad_statement"`},
		{"/sql", `/sql {"store":"history","statement":"SELECT 1"}`, 503, `"type":"/problems/not_here"`},
	}
}

// asks sends an exchange's request.
func asks(t *testing.T, server *httptest.Server, c exchange) (*http.Response, []byte) {
	t.Helper()
	path, body, posted := strings.Cut(c.path, " ")
	if !posted {
		return ask(t, server, base+path)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, text
}

// What isn't there is said so, by each operation.
func TestNotHere(t *testing.T) {
	deps := whole(t)
	deps.Beside = Beside{}
	server := served(t, New(deps))
	for _, path := range []string{"/sources/harwell/standing", "/dead-letters", "/dead-letters/" + letter, "/replays", "/replays/3", "/findings", "/findings/H/x", "/recipes", "/recipes/rejected", "/files/add/a.zip/lineage", "/lineage/1/1", "/centres/H/report", "/files/add/a.zip/document/errors?entry=a"} {
		if answer, body := ask(t, server, base+path); answer.StatusCode != 503 || !strings.Contains(string(body), "/problems/not_here") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}
