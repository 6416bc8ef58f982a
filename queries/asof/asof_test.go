package asof

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	trackersql "tributary/sql/tracker"
	"tributary/test/wait"
)

const partitions = 3

// database is a Postgres database of its own, with a tracker.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "tracker", trackersql.Migrate), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// partition is where an event lies: those of a name lie together.
func partition(e Event) int {
	sum := 0
	for _, c := range []byte(e.FileName) {
		sum += int(c)
	}
	return sum % partitions
}

// reader reads the past of a log that lies in three partitions, by file as in
// Kafka, and within them not in the order of time.
func reader(t *testing.T, pool *pgxpool.Pool, log []Event) *Reader {
	t.Helper()
	in := make([][]*kgo.Record, partitions)
	for i, e := range slices.Backward(log) {
		p := partition(e)
		in[p] = append(in[p], encoded(t, e, fmt.Sprint(i)))
	}
	in[0] = append(in[0], &kgo.Record{Value: []byte("?")}) // without a time: it has always been there
	return &Reader{History: store(t, in...), Postgres: pool, Writer: Tracked}
}

// answers are what the commands answer.
type answers struct {
	Status    report.Status
	Files     []report.File
	Documents []report.Document
	Stories   map[string][]report.Story
}

// ask asks everything about the given filter, as of a moment.
func ask(ctx context.Context, t *testing.T, q pg.Querier, now time.Time, f report.Filter) answers {
	t.Helper()
	var a answers
	var err error
	if f == (report.Filter{}) {
		if a.Status, err = report.Stand(ctx, q, now, 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := report.Files(ctx, q, f, func(x report.File) error { a.Files = append(a.Files, x); return nil }); err != nil {
		t.Fatal(err)
	}
	if f.Source != "" {
		return a // documents have none
	}
	if err := report.Documents(ctx, q, f, func(x report.Document) error { a.Documents = append(a.Documents, x); return nil }); err != nil {
		t.Fatal(err)
	}
	a.Stories = map[string][]report.Story{}
	for _, x := range a.Files {
		if a.Stories[x.File], err = report.Show(ctx, q, x.File, ""); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// The tracker is told of a log event by event; what it answers after each is
// what is answered later as of that moment, for everything, a file, a pattern, a
// centre, a source and a session.
func TestThePastIsWhatTheTrackerSaid(t *testing.T) {
	pool := database(t)
	log := story()
	r := reader(t, pool, log)
	codec := schemastest.Codec(t)
	live := tracker.New(config.Tracker{}, tracker.Deps{Pool: pool, Codec: codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)})
	apply := func(n int, rec *kgo.Record) {
		rec.Offset = int64(n)
		if err := live.Apply(t.Context(), []sink.Range{{Topic: "told", From: int64(n), To: int64(n + 1), Records: []*kgo.Record{rec}}}); err != nil {
			t.Fatal(err)
		}
	}
	apply(0, &kgo.Record{Value: []byte("?")})
	seen := map[string]int{} // rows that were compared, by what was asked
	for i, e := range log {
		apply(i+1, encoded(t, e, fmt.Sprint(i)))
		if i+1 < len(log) && log[i+1].At.Equal(e.At) {
			continue
		}
		filters := []report.Filter{{}}
		switch {
		case i == 39 || i+1 == len(log):
			filters = append(filters, report.Filter{Name: first}, report.Filter{Name: "H.*.0?.impc.zip"}, report.Filter{Name: "H.2012-1*"}, report.Filter{Centre: "ics"},
				report.Filter{Source: "s1"}, report.Filter{Session: schemas.ID("session", "2")}, report.Filter{Centre: "H", Phase: "xsd", Name: first})
		case i%20 != 0:
			continue
		}
		for _, f := range filters {
			want := ask(t.Context(), t, pool, e.At, f)
			scope := Scope{Name: f.Name, Centre: f.Centre, Source: f.Source, Session: f.Session}
			if err := r.At(t.Context(), e.At, scope, func(q pg.Querier, _ Filled) error {
				got := ask(t.Context(), t, q, e.At, f)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(report.Story{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%+v as of event %d (-live +past):\n%s", f, i, diff)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprintf("%+v", f)] += len(want.Files)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for f, n := range seen {
		if n == 0 && !strings.Contains(f, "0?") {
			t.Errorf("%s never had a file: it shows nothing", f)
		}
	}
	// They go with their connection, whose process takes a moment to end.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(wait.Patience()); ; {
		n := count(t, pool, "SELECT count(*) FROM pg_tables WHERE schemaname LIKE 'pg_temp%' AND tablename = 'zip_action'")
		if n == 0 {
			return
		}
		select {
		case <-over:
			t.Fatalf("%d temporary tables are left", n)
		case <-tick.C:
		}
	}
}

func count(t *testing.T, q pg.Querier, sql string) (n int64) {
	t.Helper()
	if err := q.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What is asked of one file, centre, source or session does not read the rest.
func TestOnlyWhatIsNeededIsRead(t *testing.T) {
	pool := database(t)
	r := reader(t, pool, story())
	var all int64
	for name, s := range map[string]Scope{"all": {}, "file": {Name: first}, "centre": {Centre: "ICS"}, "source": {Source: "s1"}, "session": {Session: schemas.ID("session", "2")}} {
		p := &past{Reader: r}
		n, err := p.count(t.Context(), s.parts(end()))
		if err != nil {
			t.Fatal(err)
		}
		if s == (Scope{}) {
			all = n
		} else if n == 0 || n > int64(len(story()))*4/5 {
			t.Errorf("%s: %d of %d events are read", name, n, len(story()))
		}
	}
	if want := int64(len(story())) + 1; all != want {
		t.Errorf("of everything %d events are read, want %d", all, want)
	}
}

// Of one source the polls are read too where they are wanted, and answered as of all.
func TestOneSourceWithItsPolls(t *testing.T) {
	r := reader(t, database(t), story())
	var told [2][]report.Poll
	var sources [2]report.Source
	for i, s := range []Scope{{}, {Source: "s1", Polls: true}} {
		if err := r.At(t.Context(), end(), s, func(q pg.Querier, _ Filled) (err error) {
			if sources[i], _, err = report.FindSource(t.Context(), q, "s1"); err != nil {
				return err
			}
			told[i], err = report.Polls(t.Context(), q, "s0", time.Time{}, 10)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(sources[0], sources[1]) + cmp.Diff(told[0], told[1]); diff != "" || len(told[0]) == 0 || sources[0].Files == 0 {
		t.Errorf("%d polls, %d files; (-all +one source):\n%s", len(told[0]), sources[0].Files, diff)
	}
}

// Of files with an exception, or of which something failed in a phase, little is read, and
// they are answered as of all.
func TestOnlyFilesOfWhichSomethingFailed(t *testing.T) {
	r := reader(t, database(t), story())
	for name, c := range map[string]struct {
		scope Scope
		asked report.Filter
	}{"exception": {Scope{Exception: "truncated"}, report.Filter{Exception: "truncated"}}, "phase": {Scope{Failed: "xsd"}, report.Filter{Phase: "xsd", Status: "failed"}}} {
		// Just after the first of them has failed, so that it shows the failure.
		var at time.Time
		for _, e := range story() {
			if e.Status == "failed" && (e.Exception == c.scope.Exception || e.Phase == c.scope.Failed) {
				at = e.At
				break
			}
		}
		var files [2]report.Page[report.File]
		var documents [2]report.Page[report.Document]
		for i, s := range []Scope{{}, c.scope} {
			if err := r.At(t.Context(), at, s, func(q pg.Querier, _ Filled) (err error) {
				if files[i], err = report.FilePage(t.Context(), q, c.asked); err != nil {
					return err
				}
				documents[i], err = report.DocumentPage(t.Context(), q, c.asked)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(files[0], files[1]) + cmp.Diff(documents[0], documents[1]); d != "" || len(files[0].Rows)+len(documents[0].Rows) == 0 {
			t.Errorf("%s: %d files, %d documents (-all +those):\n%s", name, len(files[0].Rows), len(documents[0].Rows), d)
		}
		p := &past{Reader: r}
		n, err := p.count(t.Context(), c.scope.parts(end()))
		if err != nil || n == 0 || n > int64(len(story()))*4/5 {
			t.Errorf("%s: %d of %d events are read: %v", name, n, len(story()), err)
		}
	}
}

// A moment after the history's end is answered, with the moment up to which it
// is filled; one before its beginning has nothing.
func TestHowFarTheHistoryGoes(t *testing.T) {
	pool := database(t)
	log := story()
	r := reader(t, pool, log)
	// The live tracker has read two records more of partition 1, and one of a
	// partition that the history has nothing of.
	last := time.Time{}
	n := 0
	for _, e := range log {
		if partition(e) == 1 {
			n++
			last = latest(last, e.At)
		}
	}
	if n == 0 {
		t.Fatal("partition 1 is empty")
	}
	consumed := func(partition, next int) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), `INSERT INTO tracker.consumed (consumer_group, topic, partition, next_offset) VALUES ('g', $1, $2, $3)
			ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = excluded.next_offset`, schemas.StatusChangedTopic, partition, next); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want Filled) {
		t.Helper()
		if err := r.At(t.Context(), end().Add(time.Hour), Scope{}, func(q pg.Querier, f Filled) error {
			if !f.Since.Equal(log[0].At) || !f.Until.Equal(want.Until) || f.Behind != want.Behind || f.Lost != want.Lost {
				t.Errorf("filled %+v, want %+v", f, want)
			}
			if n := count(t, q, "SELECT count(*) FROM tracker.zip_action"); n == 0 {
				t.Error("there are no files")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	check(Filled{Until: end()})
	consumed(1, n)
	check(Filled{Until: end()})
	consumed(1, n+2)
	check(Filled{Until: last, Behind: 2})
	consumed(7, 1)
	check(Filled{Behind: 3})
	if err := r.At(t.Context(), log[0].At.Add(-time.Second), Scope{}, func(q pg.Querier, _ Filled) error {
		if n := count(t, q, "SELECT count(*) FROM tracker.zip_action"); n != 0 {
			t.Errorf("%d files before the beginning", n)
		}
		if n := count(t, q, "SELECT count(*) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid WHERE c.relnamespace = pg_my_temp_schema()"); n != 0 {
			t.Errorf("%d comments were made that nobody reads", n)
		}
		if n := count(t, q, "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = pg_my_temp_schema() AND NOT i.indisunique"); n != 4 {
			t.Errorf("%d indexes that keep no rows apart, not the 4 that are asked", n)
		}
		if _, err := report.Show(t.Context(), q, first, ""); !errors.Is(err, report.ErrNotFound) {
			t.Errorf("the story of a file before the beginning: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "DROP SCHEMA tracker CASCADE"); err != nil {
		t.Fatal(err)
	}
	check(Filled{Until: end()}) // without a tracker there is nothing to compare with
}

// An answer that is too large is refused before anything is made of it.
func TestTooLarge(t *testing.T) {
	pool := database(t)
	r := reader(t, pool, story())
	r.MaxEvents = 30
	var large *TooLargeError
	err := r.At(t.Context(), end(), Scope{}, func(pg.Querier, Filled) error { return nil })
	if !errors.As(err, &large) || large.Events != int64(len(story()))+1 || large.Max != 30 {
		t.Fatalf("refused with %v", err)
	}
	if err := r.At(t.Context(), end(), Scope{Name: "H.2013-01-01.01.impc.zip"}, func(pg.Querier, Filled) error { return nil }); err != nil {
		t.Errorf("one file: %v", err)
	}
}

// Events are written in several pieces, with progress told.
func TestManyEvents(t *testing.T) {
	pool := database(t)
	log := story()
	for i := range 500 {
		name := fmt.Sprintf("H.2014-01-01.%d.impc.zip", i%300)
		e := Event{At: end()}
		e.Entity, e.FileRef, e.Centre, e.Phase, e.Status = schemas.EntityFile, schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, "H", "zip_name", "done"
		log = append(log, e)
	}
	r := reader(t, pool, log)
	r.chunk = 200
	var told []int64
	r.Progress = func(done, all int64) {
		if all != int64(len(log))+1 {
			t.Errorf("progress of %d events, want %d", all, len(log)+1)
		}
		told = append(told, done)
	}
	if err := r.At(t.Context(), end(), Scope{}, func(q pg.Querier, _ Filled) error {
		if n := count(t, q, "SELECT count(*) FROM tracker.zip_action WHERE created = '2026-11-21T10:00:00Z'::timestamptz + interval '59 minutes'"); n != 300 {
			t.Errorf("%d files, want 300", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{200, 400, int64(len(log))}, told); diff != "" {
		t.Errorf("progress (-want +told):\n%s", diff)
	}
}

// Events of much text are written in smaller pieces.
func TestLongEvents(t *testing.T) {
	pool := database(t)
	const room = 2 << 20
	log := story()[:5]
	for i := range 5 {
		e := Event{At: end()}
		e.Entity, e.Centre, e.Revision, e.Attributes = schemas.EntityCentre, "H", int64(i+1), map[string]string{}
		for n := range 11 { // none longer than an attribute may be
			e.Attributes[fmt.Sprint("note", n)] = strings.Repeat("x", room/33)
		}
		log = append(log, e)
	}
	r := reader(t, pool, log)
	r.chunkBytes = room
	var told []int64
	r.Progress = func(done, _ int64) { told = append(told, done) }
	if err := r.At(t.Context(), end(), Scope{}, func(q pg.Querier, _ Filled) error {
		if n := count(t, q, "SELECT revision FROM tracker.centre WHERE short_name = 'H'"); n != 5 {
			t.Errorf("revision %d of the centre counts, want 5", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[1] != int64(len(log)) {
		t.Errorf("progress %v: %d events in two pieces are wanted", told, len(log))
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
