//go:build !race

package replay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/producers/plan/plantest"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
)

// statuses are the status events of an attempt, as entity, entry, phase and status.
func statuses(messages []schemas.Message, run string) (out []string) {
	for _, b := range bodies[schemas.StatusChanged](messages) {
		if b.Run == run && b.Entity != schemas.EntityReplay {
			out = append(out, strings.TrimSpace(strings.Join([]string{b.Entity, b.Entry, b.Phase, b.Status, b.Exception}, " ")))
		}
	}
	slices.Sort(out)
	return out
}

// From xsd the documents are announced again, without an unzip; the attempt is
// the version's, and what gets lost is found again in the archive.
func TestAReplayFromXSD(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.ask(schemas.FromXSD, 0, version("f.zip", d.SHA256))
	out := m.turns()
	docs := bodies[schemas.DocumentExtracted](out)
	slices.SortFunc(docs, func(a, b *schemas.DocumentExtracted) int { return cmp.Compare(a.Entry, b.Entry) })
	if len(docs) != 2 || len(bodies[schemas.DownloadFinished](out)) != 0 {
		t.Fatalf("%d documents are announced", len(docs))
	}
	want := &schemas.DocumentExtracted{Scope: schemas.Scope{Run: r.ID, Centre: "H", Source: plantest.Own}, FileRef: d.FileRef, Attempt: 2, Download: d.Outcome, Unzip: "done",
		DocumentRef:  schemas.DocumentRef{Document: schemas.DocumentID(d.File, "a.xml"), Entry: "a.xml", Archive: d.SHA256, SHA256: "x", Offset: 7},
		DocumentName: schemas.DocumentName{Kind: "specimen", DocCentre: "H", DocDate: "2026-01-02", DocInc: 1}}
	if diff := gocmp.Diff(want, docs[0]); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{"document a.xml xml_name done", "document b.xml xml_name done", "download  unzip done", "download  zip_md5 done"}, statuses(out, r.ID)); diff != "" {
		t.Error(diff)
	}
	m.Tx(func(tx pgx.Tx) error {
		silent, err := control.Silent(t.Context(), tx, time.Now().Add(time.Hour), 10)
		if err == nil && (len(silent) != 1 || silent[0].Topic != schemas.DownloadFinishedTopic) {
			t.Errorf("%d events would be repeated, want the download", len(silent))
		}
		return err
	})
	again := *d
	again.Run, again.Attempt = r.ID, 2
	m.verdicts(&again, map[string]string{"a.xml": schemas.FailedEnd, "b.xml": schemas.Valid})
	m.turns()
	if got := m.Text("SELECT a.state, a.result, p.state FROM control.acquisition a JOIN control.replay p ON p.id = a.run"); got != "(ended,complete,done)" {
		t.Errorf("the replay is %s", got)
	}
}

// A document whose name was refused is told so again.
func TestRefusedNamesInAReplay(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	rows := m.Text("SELECT body FROM control.document WHERE entry = 'b.xml'")
	if rows == "" {
		t.Fatal("there is no document")
	}
	var body []byte
	if err := m.Pool.QueryRow(t.Context(), "SELECT body FROM control.document WHERE entry = 'b.xml'").Scan(&body); err != nil {
		t.Fatal(err)
	}
	_, decoded, err := m.Outbox.Codec.DecodeBody(body)
	if err != nil {
		t.Fatal(err)
	}
	v := decoded.(*schemas.DocumentValidated)
	v.Phase, v.Exception = string(schemas.XMLName), "name_pattern"
	rec, err := m.Outbox.Codec.Encode(schemas.Message{ID: schemas.ID("x"), Topic: schemas.DocumentValidatedTopic, Key: v.Document, Stage: "test", Time: m.Clock, Body: v})
	if err != nil {
		t.Fatal(err)
	}
	m.Exec("UPDATE control.document SET body = $1 WHERE entry = 'b.xml'", rec.Value)
	m.runner.Naming = func(string) (string, string) { return "name_pattern", "it says why" }
	r := m.ask(schemas.FromXSD, 0, version("f.zip", d.SHA256))
	out := m.turns()
	if got := statuses(out, r.ID); !slices.Contains(got, "document b.xml xml_name failed name_pattern") {
		t.Errorf("told: %q", got)
	}
	for _, e := range bodies[schemas.DocumentExtracted](out) {
		if e.Entry == "b.xml" && (e.Exception != "name_pattern" || e.Message != "it says why") {
			t.Errorf("announced as %q: %q", e.Exception, e.Message)
		}
	}
}

// From upload the verdicts are taken as they are: the attempt is complete at
// once, and in a late batch of the run.
func TestAReplayFromUpload(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.ask(schemas.FromUpload, 0, version("f.zip", d.SHA256))
	out := m.turns()
	if n := len(bodies[schemas.DocumentExtracted](out)) + len(bodies[schemas.DownloadFinished](out)); n != 0 {
		t.Errorf("%d events ask for work", n)
	}
	if diff := gocmp.Diff([]string{"document a.xml xsd done", "document b.xml xsd failed xsd_error", "download  unzip done", "download  zip_md5 done"}, statuses(out, r.ID)); diff != "" {
		t.Error(diff)
	}
	var docs []control.Ordered
	var batch string
	if err := m.Pool.QueryRow(t.Context(), "SELECT batch::text FROM control.acquisition WHERE run = $1", r.ID).Scan(&batch); err != nil {
		t.Fatal(err)
	}
	m.Tx(func(tx pgx.Tx) (err error) {
		docs, err = control.BatchDocuments(t.Context(), tx, batch, []string{"specimen"})
		return err
	})
	if len(docs) != 2 || docs[0].RunNumber != 1 || docs[0].RankOrdinal != 1 {
		t.Fatalf("the batch has %+v", docs)
	}
	for _, o := range docs {
		_, body, err := m.Outbox.Codec.DecodeBody(o.Body)
		if v, ok := body.(*schemas.DocumentValidated); err != nil || !ok || v.Run != r.ID || v.Attempt != 2 || v.Session != "" || v.Download != d.Outcome {
			t.Errorf("a verdict of the run is %+v (%v)", body, err)
		}
	}
}

// From download the file is fetched again, in a job of the run's own; the same
// bytes are no duplicate and keep their rank, others are a new version.
func TestAReplayFromDownload(t *testing.T) {
	m := newBench(t)
	same, other := m.inserted("same.zip", 1, "an archive"), m.inserted("other.zip", 1, "another")
	r := m.ask(schemas.FromDownload, 0, version("same.zip", same.SHA256), version("other.zip", other.SHA256))
	if diff := gocmp.Diff([]string{"download  download pending", "download  download pending"}, statuses(m.turns(), r.ID)); diff != "" {
		t.Error(diff)
	}
	m.Read(schemas.FileDiscoveredTopic, m.Look(plantest.Own, "live.zip", 1, 10))
	m.Exec("UPDATE control.source SET max_sessions = 1")
	jobs := m.Requested()
	if len(jobs) != 1 || jobs[0].Run != schemas.LiveRun || len(jobs[0].Files) != 1 {
		t.Fatalf("the first job is %+v, want what is live", jobs)
	}
	m.Exec("UPDATE control.source SET max_sessions = 2")
	jobs = m.Requested()
	if len(jobs) != 1 || jobs[0].Run != r.ID || len(jobs[0].Files) != 2 {
		t.Fatalf("the second job is %+v, want the replay's files", jobs)
	}
	for _, f := range jobs[0].Files {
		sha := same.SHA256
		if f.FileName == "other.zip" {
			sha = m.Put("what it has become")
		}
		d := plantest.FetchedOf(jobs[0], f, sha)
		d.Run = r.ID
		m.finish([]schemas.Message{{Body: d}})
	}
	want := "(other.zip,2,2,complete) (same.zip,1,1,complete)"
	if got := m.Text(`SELECT f.name, f.acceptances, a.rank_ordinal, a.result FROM control.acquisition a JOIN control.file f ON f.id = a.file
		WHERE a.run = $1 ORDER BY 1`, r.ID); got != want {
		t.Errorf("the attempts are %s, want %s", got, want)
	}
	if got := m.Text("SELECT count(*) FROM control.file WHERE current_attempt = 2"); got != "(2)" {
		t.Errorf("%s files show the replay's attempt", got)
	}
}

// A fetch that fails in a replay is its item's end: what is tried again later
// is what the live run has failed to fetch.
func TestAReplayThatFails(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	r := m.ask(schemas.FromDownload, 0, version("f.zip", d.SHA256))
	m.turns()
	jobs := m.Requested()
	dead := plantest.FetchedOf(jobs[0], jobs[0].Files[0], "")
	dead.Run, dead.Result, dead.Outcome, dead.Phase, dead.Exception = r.ID, schemas.Quarantined, schemas.Quarantined, "download", schemas.Quarantined
	m.Read(schemas.DownloadFinishedTopic, dead)
	if got := m.Text("SELECT state, result, retry_at FROM control.acquisition WHERE run = $1", r.ID); got != "(ended,failed,)" {
		t.Errorf("the attempt is %s", got)
	}
	m.turns()
	ends, err := control.ReplayEnds(t.Context(), m.Pool, r.ID)
	if diff := gocmp.Diff([]control.ReplayEnd{{Phase: "download", Exception: schemas.Quarantined, Items: 1, Example: "add/f.zip"}}, ends); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	id := deadletter.ID("download", 0, 1)
	letter := &deadletter.Letter{ID: id, Key: schemas.ID("test", id), Stage: "download", Class: "panic", Error: "panic: index 17 out of range",
		Run: dead.Run, Centre: "H", Source: dead.Source, File: dead.File, FileName: dead.FileName, Action: dead.Action, Attempt: dead.Attempt, Download: dead.Outcome, Archive: dead.SHA256}
	decider := &deadletter.Decider{Pool: m.Pool, Outbox: m.Outbox, Blobs: m.Blobs, Now: m.Now}
	retried, err := decider.Retry(t.Context(), []*deadletter.Letter{letter}, deadletter.RetryOptions{By: "somebody", MaxDeaths: 3})
	if err != nil || len(retried) != 1 || !strings.Contains(retried[0].Refused, "replay run") {
		t.Errorf("its letter: %+v (%v), want it to be left to replays", retried, err)
	}
}

// From data a centre's records are checked again, by an operation.
func TestAReplayFromData(t *testing.T) {
	m := newBench(t)
	r := m.ask(schemas.FromData, 0, control.ReplayItem{Domain: "H"}, control.ReplayItem{Domain: "H"}, control.ReplayItem{Domain: "Ics"})
	m.turns()
	if got := m.Text("SELECT what, domain, run = $1, requested_by, reason FROM control.operation ORDER BY number", r.ID); got != `(check,H,t,somebody,"a test") (check,Ics,t,somebody,"a test")` {
		t.Errorf("operations are %s", got)
	}
	m.Exec("UPDATE control.operation SET position = number, last_position = number")
	m.turns()
	c, err := control.CountReplay(t.Context(), m.Pool, r.ID)
	if diff := gocmp.Diff(control.ReplayCounts{Items: 2, Complete: 2}, c); diff != "" || err != nil || m.Text("SELECT state FROM control.replay") != "(done)" {
		t.Errorf("counts: %v %s", err, diff)
	}
}

// A replay that came back from a restore with nothing that waits, and without
// knowing what else it had, is not resumed: it would be done at once. One with
// something left is.
func TestALostReplayIsNotResumed(t *testing.T) {
	m := newBench(t)
	r := m.ask(schemas.FromData, 0, control.ReplayItem{Domain: "H"})
	m.Exec("UPDATE control.replay SET state = 'stopped', lost = 2")
	m.Exec("UPDATE control.replay_item SET state = 'refused'")
	if _, _, err := m.manager.Resume(t.Context(), "1", "somebody", ""); !errors.Is(err, control.ErrLost) || !strings.Contains(err.Error(), "which 2 of its items were") {
		t.Errorf("resumed: %v", err)
	}
	if got := m.Text("SELECT state FROM control.replay"); got != "(stopped)" {
		t.Errorf("it is %s", got)
	}
	m.Exec("UPDATE control.replay_item SET state = 'waiting'")
	if _, changed, err := m.manager.Resume(t.Context(), r.ID, "somebody", ""); err != nil || !changed {
		t.Errorf("with an item that waits: %v, %v", changed, err)
	}
}

// A replay is done when the warehouse has applied what came of it, and not
// before: neither while its late batch gathers, nor while that or its operations
// lie ahead of the warehouse. Until then something is pending.
func TestAReplayIsDoneWhenItIsApplied(t *testing.T) {
	m := newBench(t)
	applied := int64(0)
	m.runner.Applied = func(context.Context) (int64, error) { return applied, nil }
	d := m.inserted("f.zip", 1, "an archive")
	m.Exec("UPDATE control.batch SET released_at = now(), number = 1, last_position = 4")
	files, checks := m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256)), m.ask(schemas.FromData, 0, control.ReplayItem{Domain: "H"})
	m.finish(m.turns())
	state := func(why, want string) {
		t.Helper()
		m.turns()
		if got := m.Text("SELECT state FROM control.replay ORDER BY number"); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
		u, err := control.Pending(t.Context(), m.Pool)
		if left := int64(strings.Count(want, control.ReplayRunning)); err != nil || u.Replays != left {
			t.Errorf("%s: %d pending, want %d (%v)", why, u.Replays, left, err)
		}
	}
	state("nothing is released", "(running) (running)")
	m.Exec("UPDATE control.operation SET position = 5, last_position = 6 WHERE run = $1", checks.ID)
	m.Exec("UPDATE control.batch SET released_at = now(), number = 3, last_position = 10 WHERE run = $1", files.ID)
	applied = 5
	state("the check is applied, but not its batch's end", "(running) (running)")
	applied = 9
	state("all but the end of the late batch is applied", "(running) (done)")
	applied = 10
	state("all is applied", "(done) (done)")
}
