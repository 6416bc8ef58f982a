//go:build !race

package insert

import (
	"strings"
	"testing"

	"tributary/sql/warehouse"
)

// The end of a batch that fails stops a rebuild, and is named, though it is worked off
// beside the loading of what follows. Nothing is changed by it.
func TestRebuildStopsAtAnEndThatFails(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 3)
	r.live()
	before := r.all()
	again := r.again()
	broken := *again.In.deps.Statements
	broken.Context = append(broken.Context, warehouse.Statement{File: "sql/context/broken.sql", SQL: "SELECT 1 / (length($1) - length($1))"})
	again.In.deps.Statements = &broken
	if _, err := again.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "broken.sql") || !strings.Contains(err.Error(), "position ") {
		t.Errorf("the end that fails is not named: %v", err)
	}
	same(t, "rows", r.all(), before)
	same(t, "schemas left", r.left(), []string{})
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows in the end", r.all(), before)
}
