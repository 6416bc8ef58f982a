package history

import "testing"

// Whoever looks at a table or a view is told what it holds.
func TestEverythingHasAComment(t *testing.T) {
	h, conn := fresh(t)
	for range 2 { // made, and made again
		if _, err := another(t, h).ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM system.columns WHERE database = currentDatabase()"); n < 200 {
		t.Errorf("only %d columns", n)
	}
	for what, sql := range map[string]string{
		"columns": "SELECT arrayStringConcat(groupArray(concat(table, '.', name)), ' ') FROM system.columns WHERE database = currentDatabase() AND comment = ''",
		"tables":  "SELECT arrayStringConcat(groupArray(name), ' ') FROM system.tables WHERE database = currentDatabase() AND comment = ''",
	} {
		if without := scan[string](t, conn, sql); without != "" {
			t.Errorf("%s without a comment: %s", what, without)
		}
	}
}
