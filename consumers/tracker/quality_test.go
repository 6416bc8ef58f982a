//go:build !race

package tracker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
)

// decided is an event that tells what ann decided about a document's bytes.
func decided(name, entry, bytes, decision string, revision int64) schemas.StatusChanged {
	e := documentAt(name, entry, step{Phase: schemas.QC.ID(), Status: schemas.QualityStatus(decision).ID()})
	e.Entity, e.Attempt, e.Outcome, e.SHA256, e.Note, e.Revision = schemas.EntityQuality, 0, "", bytes, decision, revision
	e.Attributes = map[string]string{"by": "ann", "reason": "<b>'\u202e"}
	return e
}

// loaded is a document that has come to its end.
func loaded(name, entry, bytes string) schemas.StatusChanged {
	e := documentAt(name, entry, step{Phase: schemas.Overview.ID(), Status: done})
	e.SHA256 = bytes
	return e
}

// What people decide moves documents to qc, their file only once all are accepted, and
// disturbs nothing else: not when something was last heard, not what has ended, not what
// is counted. It holds for bytes: not for those of a correction, and still after a replay.
func TestWhatPeopleDecideAboutDocuments(t *testing.T) {
	pool := database(t)
	const name = "H.2012-10-02.1.impc.zip"
	story := append(unzippedFile(name, 2), loaded(name, "a", "A"), loaded(name, "b", "B"))
	finding := loaded(name, "a", "A")
	finding.Check, finding.Phase, finding.Status, finding.Exception = 1, "data", "failed", "specimen_unknown"
	mended := loaded(name, "a", "A")
	mended.Check = 2
	again := unzippedFile(name, 2)
	for i := range again {
		again[i].Attempt = 2
	}
	again = append(again, loaded(name, "a", "A"), loaded(name, "b", "corrected"))
	for i := range again {
		again[i].Attempt = 2
	}
	for _, c := range []struct {
		what string
		log  []schemas.StatusChanged
		want string // the file, and its documents
	}{
		{"nothing", nil, "overview done t 0; a overview done -; b overview done -"},
		{"one accepted", []schemas.StatusChanged{decided(name, "a", "A", "accepted", 1)}, "overview done t 0; a qc done accepted; b overview done -"},
		{"one held", []schemas.StatusChanged{decided(name, "a", "A", "held", 1)}, "overview done t 0; a qc cancelled held; b overview done -"},
		{"all decided", []schemas.StatusChanged{decided(name, "a", "A", "accepted", 1), decided(name, "b", "B", "questioned", 1)}, "overview done t 0; a qc done accepted; b qc running questioned"},
		{"all held", []schemas.StatusChanged{decided(name, "a", "A", "held", 1), decided(name, "b", "B", "held", 1)}, "overview done t 0; a qc cancelled held; b qc cancelled held"},
		{"all accepted", []schemas.StatusChanged{decided(name, "a", "A", "accepted", 1), decided(name, "b", "B", "accepted", 1)}, "qc done t 0; a qc done accepted; b qc done accepted"},
		{"the last counts", []schemas.StatusChanged{decided(name, "a", "A", "held", 2), decided(name, "a", "A", "accepted", 1)}, "overview done t 0; a qc cancelled held; b overview done -"},
		{"taken back", []schemas.StatusChanged{decided(name, "a", "A", "held", 1), decided(name, "a", "A", "accepted", 2)}, "overview done t 0; a qc done accepted; b overview done -"},
		{"other bytes", []schemas.StatusChanged{decided(name, "a", "a", "held", 1)}, "overview done t 0; a overview done -; b overview done -"},
		{"a finding comes first", []schemas.StatusChanged{decided(name, "a", "A", "accepted", 1), finding}, "data failed t 0; a data failed -; b overview done -"},
		{"and is mended", []schemas.StatusChanged{decided(name, "a", "A", "accepted", 1), finding, mended}, "overview done t 0; a qc done accepted; b overview done -"},
		{"again", append([]schemas.StatusChanged{decided(name, "a", "A", "held", 1), decided(name, "b", "B", "held", 1)}, again...), "overview done t 0; a qc cancelled held; b overview done -"},
	} {
		for _, backwards := range []bool{false, true} {
			reset(t, pool)
			tr := newTracker(t, pool)
			log := slices.Concat(story, c.log)
			var events []event
			for i, e := range log {
				at := time.Unix(int64(i+1), 0)
				if e.Entity == schemas.EntityQuality {
					at = at.Add(time.Hour)
				}
				events = append(events, event{at, e})
			}
			if backwards {
				slices.Reverse(events)
			}
			var next int64
			for _, e := range events {
				next = apply(t, tr, next, e)
			}
			if got := stand(t, pool); got != c.want {
				t.Errorf("%s, backwards %v:\n%s, want\n%s", c.what, backwards, got, c.want)
			}
			if late, err := column(pool, "SELECT last_update::text FROM tracker.file WHERE last_update > '1970-01-01 00:30Z' UNION ALL SELECT last_update::text FROM tracker.document WHERE last_update > '1970-01-01 00:30Z'"); err != nil || len(late) > 0 {
				t.Errorf("%s: a decision changed when something was last heard: %q, %v", c.what, late, err)
			}
			if counted, is := counts(t, pool); cmp.Diff(is, counted) != "" {
				t.Errorf("%s: counted (-is +counted):\n%s", c.what, cmp.Diff(is, counted))
			}
		}
	}
}

func stand(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	files, err := column(pool, "SELECT concat_ws(' ', phase, status, ended, documents_open) FROM tracker.file")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := column(pool, "SELECT concat_ws(' ', document, phase, status, coalesce(qc, '-')) FROM tracker.document ORDER BY document")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(files, documents...), "; ")
}

// What can't be a decision is listed as unreadable, and moves nothing.
func TestWhatIsNoDecision(t *testing.T) {
	for _, spoil := range []func(*schemas.StatusChanged){
		func(e *schemas.StatusChanged) { e.Note = "liked" },
		func(e *schemas.StatusChanged) { e.Entry = "" },
		func(e *schemas.StatusChanged) { e.SHA256 = "" },
		func(e *schemas.StatusChanged) { e.Revision = 0 },
		func(e *schemas.StatusChanged) { e.FileName = "" },
	} {
		e := decided("H.2012-10-02.1.impc.zip", "a", "A", "held", 1)
		spoil(&e)
		if err := newFold().add(&e, time.Unix(1, 0)); err == nil {
			t.Errorf("%q of %q with %q, revision %d of %q is taken", e.Note, e.Entry, e.SHA256, e.Revision, e.FileName)
		}
	}
}
