//go:build !race

package tracker

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
	"tributary/test/scale/plans"
)

// A tracker that knows very many documents writes by index: no statement looks at
// more rows and pages than its batch accounts for. TRIBUTARY_SCALE_DOCUMENTS is
// how many it knows; make projections-scale gives it a million.
func TestTrackerWritesByIndex(t *testing.T) {
	documents := 9000
	if text := os.Getenv("TRIBUTARY_SCALE_DOCUMENTS"); text != "" {
		var err error
		if documents, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TRIBUTARY_SCALE_DOCUMENTS: %v", err)
		}
	}
	dsn := enginetest.Filled(t, "tracker", trackersql.Migrate)
	plain, err := pg.Open(t.Context(), dsn, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	var p plans.Watcher
	for _, table := range tableNames() {
		p.Given = append(p.Given, temp(table))
	}
	l := &longLog{t: t, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	l.files(plain, 0, documents/3)
	if _, err := plain.Exec(t.Context(), "VACUUM (ANALYZE)"); err != nil {
		t.Fatal(err)
	}

	watched := p.Pool(t, dsn)
	p.Watch()
	l.files(watched, documents/3, documents/3+2) // new ones
	l.files(watched, 100, 102)                   // the same again
	l.files(watched, 1000, 1300)                 // so many at once that none may be compared with each
	var failures []event
	for i := range 3 {
		d := documentAt(fileNumber(200+i), "H.2012-10-02.1.specimen.impc.xml", step{Phase: 8, Status: failed, Exception: "specimen_unknown"})
		d.Check, d.Errors = 2, []schemas.ErrorDetail{{Line: 1, Column: 1, Exception: "specimen_unknown", Message: "a message"}}
		l.now = l.now.Add(time.Second)
		failures = append(failures, event{l.now, d})
		d.Check, d.Status, d.Exception, d.Errors = 3, string(schemas.Done), "", nil
		failures = append(failures, event{l.now.Add(time.Second), d})
	}
	tr := newTracker(t, watched)
	// A finding that comes in one batch and goes in the next.
	for _, parity := range []int{0, 1} {
		var batch []event
		for i, e := range failures {
			if i%2 == parity {
				batch = append(batch, e)
			}
		}
		l.from = apply(t, tr, l.from, batch...)
	}
	p.Check(t, nil)
	if !p.Seen("DELETE FROM tracker.xml_log") || !p.Seen("INSERT INTO tracker.xml_file") || !p.Seen("SELECT id, centre_id FROM new_rows EXCEPT") {
		t.Error("statements that the test is about were not executed")
	}
}

// longLog writes a log of whole files.
type longLog struct {
	t    *testing.T
	now  time.Time
	from int64
}

func fileNumber(n int) string { return fmt.Sprintf("H.2012-10-02.%d.impc.zip", n) }

// files applies the logs of some files in large batches.
func (l *longLog) files(pool *pgxpool.Pool, from, to int) {
	l.t.Helper()
	tr := newTracker(l.t, pool)
	var batch []event
	for n := from; n < to; n++ {
		for _, e := range wholeFile(fileNumber(n)) {
			l.now = l.now.Add(time.Microsecond)
			batch = append(batch, event{l.now, e})
		}
		if len(batch) > 20000 || n == to-1 {
			l.from = apply(l.t, tr, l.from, batch...)
			batch = batch[:0]
		}
	}
}
