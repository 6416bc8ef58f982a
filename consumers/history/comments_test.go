//go:build !race

package history

import (
	"strings"
	"testing"
)

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

// What a column may hold by now is said in its comment, also of a table that was
// made when it held less, of one that a rebuild fills, and in the views.
func TestCommentsAreBroughtUpToDate(t *testing.T) {
	h, conn := fresh(t)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "ALTER TABLE event COMMENT COLUMN entity 'of before', COMMENT COLUMN note 'of before'")
	exec(t, conn, "ALTER TABLE schema_version DROP COLUMN digest, DROP COLUMN object") // earlier versions knew none
	h = another(t, h)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := func() {
		t.Helper()
		for _, table := range []string{"event", "log", "once"} {
			for column, word := range map[string]string{"entity": "batch, replay", "note": "replayed, not_tried"} {
				comment := scan[string](t, conn, "SELECT any(comment) FROM system.columns WHERE database = currentDatabase() AND table = '"+table+"' AND name = '"+column+"'")
				if !strings.Contains(comment, word) {
					t.Errorf("%s.%s says %q", table, column, comment)
				}
			}
		}
	}
	said()
	l := newLog(t, 1)
	l.events(t, 5)
	l.rebuild(t, h, RebuildOptions{})
	said()
}
