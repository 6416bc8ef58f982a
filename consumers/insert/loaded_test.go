package insert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a file's version counts what is loaded, once each, and what nobody has taken out.
func TestLoaded(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	r.live()
	r.exec(`UPDATE warehouse.document SET state = 'loaded', withdrawn = false, file = 'f', archive = 'a', document = 'd' || position; DELETE FROM warehouse.finding`)
	var n int
	if err := r.pool.QueryRow(t.Context(), "SELECT count(*) FROM warehouse.document").Scan(&n); err != nil || n < 3 {
		t.Fatalf("%d documents, %v", n, err)
	}
	expect := func(when string, want map[string]int) {
		t.Helper()
		got, err := Loaded(t.Context(), r.pool, []string{"f", "g"}, []string{"a", "a"})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", when, d)
		}
	}
	expect("all", map[string]int{"f": n})
	r.exec(`INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
		SELECT max(position), l.ordinal, 0, 'x', 'H', 'specimen', '', l.level, 0, 0, '', l.open FROM warehouse.document,
		(VALUES (900, 'warn', true), (901, 'error', false)) AS l (ordinal, level, open) GROUP BY l.ordinal, l.level, l.open`)
	expect("a warning, and an error that is over", map[string]int{"f": n})
	r.exec("UPDATE warehouse.finding SET open = true")
	expect("an error in the data of one", map[string]int{"f": n - 1})
	r.exec("DELETE FROM warehouse.finding")
	r.exec("UPDATE warehouse.document SET state = 'failed' WHERE position = (SELECT min(position) FROM warehouse.document)")
	expect("one failed", map[string]int{"f": n - 1})
	r.exec("UPDATE warehouse.document SET withdrawn = true WHERE position = (SELECT max(position) FROM warehouse.document)")
	expect("one is taken out", map[string]int{"f": n - 2})
	r.exec("UPDATE warehouse.document SET archive = 'b'")
	expect("another version", map[string]int{})
}
