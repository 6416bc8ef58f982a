//go:build !race

package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// By what a document was judged in each phase is shown as far as it came: of a
// failure the version that found it, and nothing of what it did not reach. A
// check of all records of its centre counts for it if it was loaded before.
func TestVersionsOfDocuments(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	const name = "H.2012-10-02.1.impc.zip"
	var log []event
	add := func(e schemas.StatusChanged) {
		log = append(log, event{time.Unix(int64(len(log)+1), 0), e})
	}
	for _, e := range unzippedFile(name, 4) {
		e.VersionOf = "u1"
		add(e)
	}
	document := func(entry string, phase int, status int, version string, check int32, passed ...schemas.PassedPhase) {
		e := documentAt(name, entry, step{Phase: phase, Status: status})
		e.VersionOf, e.Check, e.Passed = version, check, passed
		if phase >= 7 {
			e.Position = map[string]int64{"a": 1, "b": 20, "c": 30}[entry]
		}
		add(e)
	}
	for _, entry := range []string{"a", "b"} {
		document(entry, 5, done, "u1", 0)
		document(entry, 6, done, "x1", 0)
		document(entry, 7, done, "l1", 0)
		document(entry, 10, done, "d1", 1, schemas.PassedPhase{Phase: "data", VersionOf: "d1"})
		document(entry, 10, done, "", 2) // only what changed was judged
	}
	// From upload: what passed before is told in one event. It fails, of which
	// another member with a newer mapping knows nothing.
	document("c", 6, done, "x0", 0, schemas.PassedPhase{Phase: "xml_name", VersionOf: "u0"})
	document("c", 7, failed, "l1", 0)
	document("c", 7, done, "l2", 0)
	document("d", 5, failed, "u1", 0)
	add(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, Number: 2, Position: 10, Status: "done", VersionOf: "d2"})
	add(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, Number: 3, Position: 40, Status: "done"})
	apply(t, tr, 0, log...)
	for what, want := range map[string][]string{
		"SELECT concat_ws(' ', document, unzip_version, xsd_version, upload_version, data_version) FROM tracker.document ORDER BY document": {
			"a u1 x1 l1 d2", "b u1 x1 l1 d1", "c u0 x0 l1", "d u1"},
		"SELECT unzip_version FROM tracker.file":                                                 {"u1"},
		"SELECT unzip_version FROM tracker.zip_download":                                         {"u1"},
		"SELECT concat_ws(' ', number, position, checked_version) FROM tracker.batch ORDER BY 1": {"2 10 d2", "3 40"},
	} {
		got, err := column(pool, what)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", what, d)
		}
	}
}
