package expect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	trackersql "tributary/sql/tracker"
)

func begin() time.Time { return time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC) }

// world is the log as stages write it.
type world struct {
	t   *testing.T
	log []schemas.Message
	n   int
}

func (w *world) tell(at time.Time, e schemas.StatusChanged) {
	w.n++
	w.log = append(w.log, schemas.Message{ID: schemas.ID("e", strconv.Itoa(w.n)), Topic: schemas.StatusChangedTopic, Stage: "test", Time: at, Body: &e})
}

func (w *world) source(at time.Time, source, centre, state string) {
	w.n++
	w.tell(at, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: centre, Source: source}, Revision: int64(w.n),
		Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": state, "definition": `{"id":"` + source + `"}`}})
}

// poll tells that a poll of a source has ended, and returns its session.
func (w *world) poll(at time.Time, source, centre, status string, counts map[string]string) string {
	w.n++
	scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", source, strconv.Itoa(w.n)), Centre: centre, Source: source}
	w.tell(at, schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope, Number: int64(w.n), StartedAt: &at})
	w.tell(at, schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope, Phase: "zip_name", Status: status, StartedAt: &at, FinishedAt: &at, Attributes: counts})
	return scope.Session
}

// fetched tells that a file was listed, and with a time also that it was fetched then.
func (w *world) fetched(run, session, source, centre, name string, size int64, listed time.Time, took time.Duration) {
	scope := schemas.Scope{Run: run, Session: session, Centre: centre, Source: source}
	ref := schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}
	w.tell(listed, schemas.StatusChanged{Entity: schemas.EntityFile, Scope: scope, FileRef: ref, Phase: "zip_name", Status: "done", FileDate: "2026-01-02", FileInc: 1})
	w.tell(listed, schemas.StatusChanged{Entity: schemas.EntityHosting, Scope: scope, FileRef: ref, Look: 1, FileSize: size, ListedAt: &listed, Attributes: map[string]string{"state": "present"}})
	if took == 0 {
		return
	}
	from, to := listed.Add(time.Second), listed.Add(time.Second+took)
	got := schemas.StatusChanged{Entity: schemas.EntityDownload, Scope: scope, FileRef: ref, Attempt: 1, Phase: "zip_md5", Status: "done", Outcome: "aa", Bytes: size, StartedAt: &from, FinishedAt: &to}
	got.SHA256, got.MD5 = "aa", "bb"
	w.tell(to, got)
	w.tell(to, schemas.StatusChanged{Entity: schemas.EntityDownload, Scope: scope, FileRef: ref, Attempt: 1, Accepted: "aa"})
}

func (w *world) loaded(session, centre string, number int64, at time.Time) {
	scope := schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: centre}
	w.tell(at, schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: scope, Number: number, Status: "done", FinishedAt: &at})
}

func (w *world) tracker() *pgxpool.Pool {
	w.t.Helper()
	pool, err := pg.Open(w.t.Context(), enginetest.Filled(w.t, "tracker", trackersql.Migrate), "test", 4)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	codec := schemastest.Codec(w.t)
	r := sink.Range{Topic: schemas.StatusChangedTopic}
	for i, m := range w.log {
		encoded, err := codec.Encode(m)
		if err != nil {
			w.t.Fatal(err)
		}
		rec := kafka.ToKgo("test", encoded)
		rec.Offset = int64(i)
		r.Records = append(r.Records, rec)
	}
	r.To = int64(len(r.Records))
	if err := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)}).Apply(w.t.Context(), []sink.Range{r}); err != nil {
		w.t.Fatal(err)
	}
	return pool
}

// What is expected of sources is read from what the tracker knows of them: from polls
// of theirs alone, whatever these are told to have counted, from what was fetched from
// them by live work, and from what is still to be fetched.
func TestSources(t *testing.T) {
	w := &world{t: t}
	w.source(begin().Add(-30*time.Hour), "harwell", "H", "available")
	w.source(begin(), "ics", "Ics", "available")
	w.source(begin(), "over", "Ics", "available")
	w.source(begin().Add(time.Hour), "over", "Ics", "removed")
	nothing := map[string]string{"listed": "9", "new": "0", "changed": "0"}
	// What it held when it was added was taken up in turns, of which one broke off.
	w.poll(begin().Add(-30*time.Hour), "harwell", "H", "done", map[string]string{"new": "1000", "postponed": "2000"})
	w.poll(begin().Add(-15*time.Hour), "harwell", "H", "failed", map[string]string{"new": "900", "end": "broken_off"})
	for day := range 12 {
		at := begin().AddDate(0, 0, day)
		files := 2
		if day == 11 {
			files = 20
		}
		session := w.poll(at, "harwell", "H", "done", map[string]string{"listed": "9", "new": strconv.Itoa(files - 1), "changed": "1", "taken_bytes": strconv.Itoa(1000 * files), "largest": "1000"})
		for i := range 2 {
			name := fmt.Sprintf("H.2026-01-02.%d%02d.impc.zip", i+1, day)
			w.fetched(schemas.LiveRun, session, "harwell", "H", name, 1000, at, time.Duration(i+1)*5*time.Second)
			w.fetched(schemas.ID("replay"), session, "harwell", "H", name, 1000, at, time.Hour)
		}
		w.loaded(session, "H", int64(day+1), at.Add(2*time.Minute))
		w.loaded(session, "Ics", int64(day+1), at.Add(time.Hour))
		w.poll(at.Add(time.Hour), "harwell", "H", "done", nothing)
		w.poll(at, "ics", "Ics", "failed", map[string]string{"new": "x", "changed": "-3", "taken_bytes": "99999999999999999999"})
	}
	waits := begin().AddDate(0, 0, 11)
	w.fetched(schemas.LiveRun, schemas.ID("session", "x"), "harwell", "H", "H.2026-01-03.1.impc.zip", 7000, waits, 0)
	w.fetched(schemas.LiveRun, schemas.ID("session", "x"), "harwell", "H", "H.2026-01-03.2.impc.zip", 1<<63-1, waits, 0)
	w.poll(begin().AddDate(0, 0, 13), "harwell", "H", "done", nothing)
	w.poll(begin().AddDate(0, 0, 18), "harwell", "H", "done", map[string]string{"listed": "0", "new": "0", "changed": "0", "end": "minimal"})
	w.poll(begin().AddDate(0, 0, 20), "harwell", "H", "failed", nil)
	pool := w.tracker()

	var all []expect.Expectation
	read := func(source string) error {
		all = nil
		return expect.Sources(t.Context(), pool, source, func(e expect.Expectation) error { all = append(all, e); return nil })
	}
	if err := read(""); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Source)
	}
	if d := cmp.Diff([]string{"harwell", "ics"}, names); d != "" {
		t.Fatalf("sources (- want, + got):\n%s", d)
	}
	if d := cmp.Diff(expect.Expectation{Source: "ics", State: "available", Rests: []string{}, Findings: []expect.Finding{}}, all[1]); d != "" {
		t.Errorf("of a source whose polls only failed (- want, + got):\n%s", d)
	}
	e := all[0]
	if want := begin().AddDate(0, 0, 13); e.Seen == nil || !e.Seen.Equal(want) {
		t.Errorf("its last complete poll was at %v, want %s: neither a minimal one nor one that failed tells that nothing came", e.Seen, want)
	}
	one := 1.0
	is := func(v float64, n int) *expect.Spread {
		return &expect.Spread{Low: v, Median: v, High: v, Factor: &one, Learned: n}
	}
	for name, x := range map[string]struct{ want, got *expect.Spread }{
		"interval": {is(86400, 10), e.Interval}, "files": {is(2, 10), e.Files}, "bytes": {is(2000, 10), e.Bytes}, "largest": {is(1000, 10), e.Largest},
		"rate": {is(200, 12), e.Rate}, "load": {is(120, 12), e.Load},
	} {
		if d := cmp.Diff(x.want, x.got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", name, d)
		}
	}
	if e.Waiting.Files != 2 || e.Waiting.Bytes != 1e18 || e.ETA == nil {
		t.Errorf("outstanding: %+v", e.Waiting)
	}
	if !e.Seen.Equal(begin().AddDate(0, 0, 13)) || !e.Last.Equal(begin().AddDate(0, 0, 11)) {
		t.Errorf("it was seen at %v, and showed something new at %v", e.Seen, e.Last)
	}
	var found []string
	for _, f := range e.Findings {
		found = append(found, f.Finding)
	}
	if d := cmp.Diff([]string{expect.Late, expect.Unusual, expect.Unusual}, found); d != "" {
		t.Errorf("findings (- want, + got):\n%s", d)
	}
	if stand, err := expect.Stand(t.Context(), pool, begin(), 0); err != nil || len(stand.Late) != 0 { // its last poll failed
		t.Errorf("where everything stands: %+v, %v", stand.Late, err)
	}

	for after, want := range map[string]string{"": "harwell", "harwell": "ics", "ics": ""} {
		page, err := expect.Page(t.Context(), pool, "", after, 1)
		got := ""
		if len(page) == 1 {
			got = page[0].Source
		}
		if err != nil || got != want || len(page) > 1 {
			t.Errorf("the page after %q: %+v, %v, want %q", after, page, err, want)
		}
	}

	if err := read("over"); err != nil || len(all) != 1 || all[0].State != "removed" {
		t.Errorf("a removed source that is named: %v, %v", all, err)
	}
	var unknown *report.UnknownError
	if err := read("nosuch"); !errors.As(err, &unknown) {
		t.Errorf("of an unknown source: %v", err)
	}
}

// The sources that are late are those of which Sources finds it, but for those whose last
// poll failed, whatever their polls are told to have counted.
func TestSourcesThatAreLate(t *testing.T) {
	w := &world{t: t}
	count := func(fresh, changed string) map[string]string {
		return map[string]string{"new": fresh, "changed": changed}
	}
	var want []string
	end := begin().AddDate(0, 0, 12)
	for source, x := range map[string]struct {
		state string
		poll  func(day int) map[string]string // what each day's poll counted
		last  string                          // how its last poll ended, which found nothing
		late  bool
	}{
		"daily":       {"available", func(int) map[string]string { return count("5", "0") }, "done", true},
		"changed":     {"available", func(int) map[string]string { return count("0", "5") }, "done", true},
		"failing":     {"available", func(int) map[string]string { return count("5", "0") }, "failed", false},
		"maintenance": {"maintenance", func(int) map[string]string { return count("5", "0") }, "done", false},
		"removed":     {"removed", func(int) map[string]string { return count("5", "0") }, "done", false},
		"silent":      {"available", func(int) map[string]string { return count("0", "0") }, "done", false},
		"junk":        {"available", func(int) map[string]string { return count("x", "-3") }, "done", false},
		"huge":        {"available", func(int) map[string]string { return count("99999999999999999999", "") }, "done", false},
		"in turns": {"available", func(int) map[string]string {
			return map[string]string{"new": "5", "postponed": "7"}
		}, "done", false}, // all of it is one arrival
		"broken off": {"available", func(int) map[string]string {
			return map[string]string{"new": "5", "end": "broken_off"}
		}, "done", false},
		"nothing postponed": {"available", func(int) map[string]string {
			return map[string]string{"new": "5", "postponed": "0", "end": "complete"}
		}, "done", true},
		"minimal": {"available", func(int) map[string]string { return count("5", "0") }, "minimal", false},
	} {
		w.source(begin().Add(-time.Hour), source, "C", "available")
		for day := range 9 {
			w.poll(begin().AddDate(0, 0, day), source, "C", "done", x.poll(day))
		}
		counts, status := count("0", "0"), x.last
		if x.last == "minimal" {
			counts["end"], status = x.last, "done"
		}
		w.poll(end, source, "C", status, counts)
		if x.state != "available" {
			w.source(end, source, "C", x.state)
		}
		if x.late {
			want = append(want, source)
		}
	}
	slices.Sort(want)
	pool := w.tracker()
	late, err := expect.LateSources(t.Context(), pool)
	var names []string
	for _, l := range late {
		names = append(names, l.Source)
	}
	if d := cmp.Diff(want, names); err != nil || d != "" {
		t.Errorf("late (- want, + got): %v\n%s", err, d)
	}
	found := map[string]string{}
	if err := expect.Sources(t.Context(), pool, "", func(e expect.Expectation) error {
		for _, f := range e.Findings {
			if f.Finding == expect.Late && e.Source != "failing" {
				found[e.Source] = f.Message
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	said := map[string]string{}
	for _, l := range late {
		said[l.Source] = l.Said
	}
	if d := cmp.Diff(found, said); d != "" {
		t.Errorf("late (- of all that is expected, + of the sources that are late):\n%s", d)
	}
}

// However many polls found nothing, none of these is read: an index gives the others of
// a source in their order.
func TestAnIndexServesThePolls(t *testing.T) {
	w := &world{t: t}
	w.source(begin().Add(-30*time.Hour), "harwell", "H", "available")
	w.poll(begin(), "harwell", "H", "done", map[string]string{"new": "1"})
	pool := w.tracker()
	if _, err := pool.Exec(t.Context(), `INSERT INTO tracker.poll_task (id, session_id, file_source_id, phase_id, status_id, finish_time, counts, created, last_update, merge)
		SELECT gen_random_uuid(), session_id, file_source_id, phase_id, status_id, finish_time + n * interval '1 minute', '{"new": "0", "changed": "0"}', created, last_update, '{}'
		FROM tracker.poll_task, generate_series(1, 30000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "ANALYZE tracker.poll_task"); err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query(t.Context(), "EXPLAIN ANALYZE "+schemas.Numbered(expect.FindsSQL), ids(t, pool), expect.MaxFinds)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil || strings.Contains(plan.String(), "Seq Scan on poll_task") || !strings.Contains(plan.String(), "Index Scan Backward using poll_task_found_idx") || !strings.Contains(plan.String(), "rows=1 loops=1") {
		t.Errorf("%v\n%s", err, plan.String())
	}
	t.Log(plan.String())
}
