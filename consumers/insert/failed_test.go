package insert

import (
	"testing"

	"tributary/schemas"
)

// Of several batches the earliest phase counts in which a document failed, be it
// before it was ordered, while it was loaded, or by the checks of its data.
func TestFailedPhase(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	r.live()
	expect := func(when string, want schemas.Phase, batches ...string) {
		t.Helper()
		if got, err := FailedPhase(t.Context(), r.pool, batches); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
	}
	r.exec("UPDATE warehouse.document SET state = 'loaded'; DELETE FROM warehouse.finding")
	expect("all is well", "", "batch-0", "batch-1")
	r.exec(`INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
		SELECT max(position), l.ordinal, 0, 'x', 'H', 'specimen', '', l.level, 0, 0, '', l.open FROM warehouse.document,
		(VALUES (900, 'warn', true), (901, 'error', false)) AS l (ordinal, level, open) WHERE batch = 'batch-1' GROUP BY l.ordinal, l.level, l.open`)
	expect("a warning, and an error that is over", "", "batch-0", "batch-1")
	r.exec("UPDATE warehouse.finding SET open = true")
	expect("an error in the data", schemas.Data, "batch-0", "batch-1")
	expect("of another batch", "", "batch-0")
	r.exec("UPDATE warehouse.document SET state = 'failed', phase = 'upload' WHERE position = (SELECT min(position) FROM warehouse.document WHERE batch = 'batch-1')")
	expect("loading failed", schemas.Upload, "batch-0", "batch-1")
	r.exec("UPDATE warehouse.document SET state = 'failed', phase = 'xsd' WHERE position = (SELECT max(position) FROM warehouse.document WHERE batch = 'batch-1')")
	expect("a document was refused", schemas.XSD, "batch-0", "batch-1")
	expect("no batch", "")
}
