package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

// bench is a plane whose files are processed again.
type bench struct {
	*plantest.Plane

	t       *testing.T
	manager *Manager
	runner  *Runner
	runs    []*control.ReplayRun
}

func newBench(t *testing.T) *bench {
	t.Helper()
	p := plantest.New(t)
	return &bench{Plane: p, t: t, manager: &Manager{Pool: p.Pool, Outbox: p.Outbox, Now: p.Now},
		runner: NewRunner(Deps{Pool: p.Pool, Outbox: p.Outbox, Log: p.Log, Now: p.Now})}
}

// ask asks for a replay of versions of files, given as file and sha256.
func (m *bench) ask(phase string, rate float64, items ...control.ReplayItem) *control.ReplayRun {
	m.t.Helper()
	r := &control.ReplayRun{ID: schemas.ID("test", m.t.Name(), phase, fmt.Sprint(len(m.runs))), Phase: phase, Rate: rate, By: "somebody", Reason: "a test"}
	m.runs = append(m.runs, r)
	at := 0
	n, err := m.manager.Request(m.t.Context(), r, func() (control.ReplayItem, bool, error) {
		if at++; at > len(items) {
			return control.ReplayItem{}, false, nil
		}
		return items[at-1], true, nil
	})
	if err != nil || n == 0 {
		m.t.Fatalf("%d items (%v)", n, err)
	}
	return r
}

func version(name, sha string) control.ReplayItem {
	return control.ReplayItem{File: schemas.FileID("add", name), Archive: sha}
}

// turns lets replays be taken up, and returns what it told.
func (m *bench) turns() []schemas.Message {
	m.t.Helper()
	if _, err := m.runner.turns(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return m.Drain()
}

func bodies[T any](messages []schemas.Message) (out []*T) {
	for _, m := range messages {
		if b, ok := m.Body.(*T); ok {
			out = append(out, b)
		}
	}
	return out
}

// verdicts are documents.validated as sequence keeps it.
func (m *bench) verdicts(d *schemas.DownloadFinished, results map[string]string) {
	m.t.Helper()
	var docs []control.Document
	for entry, result := range results {
		v := &schemas.DocumentValidated{Scope: d.Scope, FileRef: d.FileRef, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done", Result: result, Outcome: result,
			DocumentRef:  schemas.DocumentRef{Document: schemas.DocumentID(d.File, entry), Entry: entry, Archive: d.SHA256, SHA256: "x", Offset: 7},
			DocumentName: schemas.DocumentName{Kind: "specimen", DocCentre: "H", DocDate: "2026-01-02", DocInc: 1}}
		if result != schemas.Valid {
			v.Phase, v.Exception, v.ErrorsTotal = string(schemas.XSD), "xsd_error", 3
		}
		rec, err := m.Outbox.Codec.Encode(schemas.Message{ID: schemas.ID(entry), Topic: schemas.DocumentValidatedTopic, Key: v.Document, Stage: "test", Time: m.Clock, Body: v})
		if err != nil {
			m.t.Fatal(err)
		}
		docs = append(docs, control.Document{Run: d.Run, File: d.File, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done",
			Document: v.Document, Entry: entry, Kind: "specimen", DocDate: &v.DocDate, DocInc: 1, SHA256: "x", Result: result, Body: rec.Value})
	}
	m.Tx(func(tx pgx.Tx) error {
		if err := control.StoreDocuments(m.t.Context(), tx, docs); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(m.t.Context(), tx, []string{d.File}, m.Clock)
		if err != nil {
			return err
		}
		return control.AfterEnds(m.t.Context(), tx, ended, m.Clock)
	})
}

// inserted carries a file's look all the way, with a valid document and one
// that is not.
func (m *bench) inserted(name string, look int32, content string) *schemas.DownloadFinished {
	m.t.Helper()
	j, f := m.RequestedOne(name, look)
	d := plantest.FetchedOf(j, f, m.Put(content))
	m.Read(schemas.DownloadFinishedTopic, d)
	m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, 2))
	m.verdicts(d, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.FailedEnd})
	m.Drain()
	return d
}

// finish carries what a replay published through the stages.
func (m *bench) finish(messages []schemas.Message) {
	m.t.Helper()
	for _, d := range bodies[schemas.DownloadFinished](messages) {
		m.Read(schemas.DownloadFinishedTopic, d)
		m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, 2))
		m.verdicts(d, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.FailedEnd})
	}
	m.turns()
}

const ranks = "SELECT attempt, sha256, rank_own, rank_time, rank_ordinal FROM control.acquisition"

// A version is processed again from its stored bytes, as an attempt of the
// run's with the version's own rank, in a late batch of the run's own.
func TestAReplayBeginsWithTheStoredBytes(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	m.Clock = m.Clock.Add(time.Hour)
	r := m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256), version("f.zip", d.SHA256))
	out := m.turns()

	again := bodies[schemas.DownloadFinished](out)
	if len(again) != 1 || again[0].Run != r.ID || again[0].Attempt != 2 || again[0].SHA256 != d.SHA256 || again[0].Outcome != d.Outcome || again[0].Session != "" {
		t.Fatalf("published: %+v", again)
	}
	if got := m.Text("SELECT current_attempt, acceptances FROM control.file"); got != "(2,1)" {
		t.Errorf("the file has (attempt, acceptances) %s", got)
	}
	if got := m.Text("SELECT count(DISTINCT (rank_own, rank_time, rank_ordinal)) FROM control.acquisition WHERE sha256 = $1", d.SHA256); got != "(1)" {
		t.Errorf("the replay has another rank: %s", m.Text(ranks))
	}
	if more := m.turns(); len(more) > 0 {
		t.Errorf("a second turn tells %d events", len(more))
	}
	m.finish(out)
	if got := m.Text("SELECT state, result, batch <> (SELECT batch FROM control.acquisition WHERE attempt = 1) FROM control.acquisition WHERE run = $1", r.ID); got != "(ended,complete,t)" {
		t.Errorf("the attempt has ended as %s", got)
	}
	if got := m.Text("SELECT b.session IS NULL, b.run FROM control.batch b JOIN control.acquisition a ON a.batch = b.id AND a.run = b.run WHERE a.run = $1", r.ID); got != "(t,"+r.ID+")" {
		t.Errorf("its batch is %s", got)
	}
	if got := m.Text("SELECT state, changes FROM control.replay"); got != "(done,1)" {
		t.Errorf("the replay is %s", got)
	}
	c, err := control.CountReplay(t.Context(), m.Pool, r.ID)
	if diff := cmp.Diff(control.ReplayCounts{Items: 1, Complete: 1, Documents: 2}, c); diff != "" || err != nil {
		t.Errorf("counts: %v %s", err, diff)
	}
}

// Who has done what with a replay, and why, is told.
func TestAReplayIsTold(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.ask(schemas.FromUnzip, 2.5, version("f.zip", d.SHA256))
	told := func() (out []string) {
		for _, msg := range m.Drain() {
			if b, ok := msg.Body.(*schemas.StatusChanged); ok && b.Entity == schemas.EntityReplay {
				if b.Run != r.ID || b.Number != 1 || msg.Key != r.ID {
					t.Errorf("an event of the replay is %+v", b)
				}
				out = append(out, strings.Join([]string{b.Note, b.Status, b.Attributes["by"], b.Attributes["reason"], b.Attributes["items"], b.Attributes["rate"]}, ","))
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"requested,running,somebody,a test,1,2.5"}, told()); diff != "" {
		t.Error(diff)
	}
	for _, change := range []struct {
		do      func() (control.ReplayRun, bool, error)
		changes bool
		want    []string
	}{
		{func() (control.ReplayRun, bool, error) {
			return m.manager.Stop(t.Context(), "1", "another", "too much")
		}, true, []string{"stopped,pending,another,too much,,"}},
		{func() (control.ReplayRun, bool, error) {
			return m.manager.Stop(t.Context(), r.ID, "another", "too much")
		}, false, nil},
		{func() (control.ReplayRun, bool, error) {
			return m.manager.Resume(t.Context(), "1", "a third", "why not")
		}, true, []string{"resumed,running,a third,why not,,"}},
	} {
		if _, changed, err := change.do(); changed != change.changes || err != nil {
			t.Errorf("changed: %t (%v), want %t", changed, err, change.changes)
		}
		if diff := cmp.Diff(change.want, told()); diff != "" {
			t.Error(diff)
		}
	}
	if _, _, err := m.manager.Stop(t.Context(), "2", "another", ""); !errors.Is(err, control.ErrNoReplay) {
		t.Errorf("stopping a replay that there is not: %v", err)
	}
	if _, err := m.manager.Request(t.Context(), &control.ReplayRun{ID: schemas.ID("none"), Phase: schemas.FromUnzip}, func() (control.ReplayItem, bool, error) { return control.ReplayItem{}, false, nil }); !errors.Is(err, ErrNothingChosen) {
		t.Errorf("a replay of nothing: %v", err)
	}
}

// A replay that is stopped requests nothing; resumed, it goes on with what it
// has left.
func TestAReplayIsStoppedAndResumed(t *testing.T) {
	m := newBench(t)
	var items []control.ReplayItem
	for i := range 3 {
		d := m.inserted(fmt.Sprintf("f%d.zip", i), 1, fmt.Sprintf("archive %d", i))
		items = append(items, version(d.FileName, d.SHA256))
	}
	m.ask(schemas.FromUnzip, 1, items...)
	if n := len(bodies[schemas.DownloadFinished](m.turns())); n != 0 {
		t.Fatalf("%d files at once, want none before a second has passed", n)
	}
	m.Clock = m.Clock.Add(time.Second)
	if n := len(bodies[schemas.DownloadFinished](m.turns())); n != 1 {
		t.Fatalf("%d files in the first second, want 1", n)
	}
	m.Clock = m.Clock.Add(time.Hour) // what was not used is not used at once
	if n := len(bodies[schemas.DownloadFinished](m.turns())); n != 1 {
		t.Fatalf("%d files after an hour, want 1", n)
	}
	if _, _, err := m.manager.Stop(t.Context(), "1", "another", ""); err != nil {
		t.Fatal(err)
	}
	m.Drain()
	m.Clock = m.Clock.Add(time.Hour)
	if out := m.turns(); len(out) > 0 {
		t.Fatalf("a stopped replay tells %d events", len(out))
	}
	if _, _, err := m.manager.Resume(t.Context(), "1", "another", ""); err != nil {
		t.Fatal(err)
	}
	m.Drain()
	m.Clock = m.Clock.Add(time.Second)
	if n := len(bodies[schemas.DownloadFinished](m.turns())); n != 1 {
		t.Fatalf("%d files once resumed, want 1", n)
	}
}

// An older version is replayed with its own rank, and the file goes on showing
// the newer one.
func TestAnOlderVersionStaysOlder(t *testing.T) {
	m := newBench(t)
	older := m.inserted("f.zip", 1, "an archive")
	m.Clock = m.Clock.Add(time.Hour)
	newer := m.inserted("f.zip", 2, "another archive")
	r := m.ask(schemas.FromUnzip, 0, version("f.zip", older.SHA256))
	out := m.turns()
	if got := m.Text("SELECT current_sha256, current_attempt, attempts, acceptances FROM control.file"); got != "("+newer.SHA256+",2,3,2)" {
		t.Errorf("the file is %s", got)
	}
	if got := m.Text("SELECT rank_ordinal FROM control.acquisition WHERE run = $1", r.ID); got != "(1)" {
		t.Errorf("the replay's rank has the ordinal %s", got)
	}
	var repeats []int32
	for _, b := range bodies[schemas.StatusChanged](out) {
		if b.Phase == string(schemas.ZipMD5) {
			repeats = append(repeats, b.Repeats)
		}
	}
	if diff := cmp.Diff([]int32{2}, repeats); diff != "" {
		t.Errorf("the attempt repeats: %s", diff)
	}
	m.finish(out)
	if got := m.Text("SELECT current_sha256, current_attempt FROM control.file"); got != "("+newer.SHA256+",2)" {
		t.Errorf("the file is %s after the replay", got)
	}
}

// Two replays of a file at once come one after the other, and a listing that
// shows the same bytes meanwhile repeats the newest.
func TestTwoReplaysOfAFile(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.Drain()
	first := m.turns()
	if n := len(bodies[schemas.DownloadFinished](first)); n != 1 {
		t.Fatalf("%d attempts of a file under way at once", n)
	}
	m.Clock = m.Clock.Add(time.Minute)
	if n := len(bodies[schemas.DownloadFinished](m.turns())); n != 0 {
		t.Fatal("the second replay did not wait")
	}
	for _, again := range bodies[schemas.DownloadFinished](first) {
		m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(again, 2))
		m.verdicts(again, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.FailedEnd})
	}
	m.Clock = m.Clock.Add(time.Minute)
	second := m.turns()
	if n := len(bodies[schemas.DownloadFinished](second)); n != 1 {
		t.Fatalf("%d attempts once the first had ended", n)
	}
	m.finish(second)
	if got := m.Text("SELECT string_agg(state, ' ') FROM control.replay"); got != "(\"done done\")" {
		t.Errorf("the replays are %s", got)
	}

	j, f := m.RequestedOne("f.zip", 2)
	same := plantest.FetchedOf(j, f, d.SHA256)
	m.Read(schemas.DownloadFinishedTopic, same)
	var repeats int32
	for _, b := range bodies[schemas.StatusChanged](m.Drain()) {
		repeats = max(repeats, b.Repeats)
	}
	if got := m.Text("SELECT result FROM control.acquisition WHERE attempt = 4"); got != "(duplicate)" || repeats != 3 {
		t.Errorf("bytes that were replayed are %s, and repeat attempt %d", got, repeats)
	}
}

// What cannot be replayed is refused, by name.
func TestWhatAReplayRefuses(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	gone := m.inserted("gone.zip", 1, "an archive of a file that is gone")
	m.Read(schemas.FileDiscoveredTopic, m.Look(plantest.Own, "new.zip", 1, 10))
	if err := m.Blobs.Remove(t.Context(), d.SHA256); err != nil {
		t.Fatal(err)
	}
	m.Exec("UPDATE control.acquisition SET state = 'ended', result = 'failed' WHERE state <> 'ended'")
	m.Exec("UPDATE control.hosting SET state = 'gone' WHERE file = $1", gone.File)
	m.runner.Blobs = m.Blobs
	m.Drain()
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256), version("new.zip", ""), version("nobody's.zip", "abc"))
	m.ask(schemas.FromDownload, 0, version("gone.zip", gone.SHA256))
	m.Exec("DELETE FROM control.document WHERE file = $1", gone.File)
	m.ask(schemas.FromXSD, 0, version("gone.zip", gone.SHA256))
	m.turns()
	m.turns()
	want := "(1,no_bytes) (1,no_version) (1,unknown_file) (2,gone) (3,not_unzipped)"
	if got := m.Text("SELECT r.number, i.refusal FROM control.replay_item i JOIN control.replay r ON r.id = i.run WHERE i.state = 'refused' ORDER BY 1, 2"); got != want {
		t.Errorf("refused are %s, want %s", got, want)
	}
	if got := m.Text("SELECT count(*) FROM control.replay WHERE state = 'done'"); got != "(3)" {
		t.Errorf("%s of the replays are done", got)
	}
}

// Replays wait while much waits to be published: what needs no work would else
// be told without bound.
func TestReplaysWaitForThePublisher(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.ask(schemas.FromUpload, 0, version("f.zip", d.SHA256))
	m.Drain()
	m.Exec("INSERT INTO control.outbox (events, packed) VALUES ($1, '')", maxUnpublished+1)
	turn := func(want string) {
		t.Helper()
		if _, err := m.runner.turns(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := m.Text("SELECT state FROM control.replay_item WHERE run = $1", r.ID); got != want {
			t.Errorf("the item is %s, want %s", got, want)
		}
	}
	turn("(waiting)")
	m.Exec("DELETE FROM control.outbox")
	turn("(requested)")
}
