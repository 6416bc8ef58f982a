// Package turns has long proofs take turns from commit to commit.
package turns

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// Take skips a test whose turn it is not: half of those that take turns run where
// TRIBUTARY_TURN is 0 and the others where it is 1, by their names. .ci/run draws it from
// the commit. Without it, as in campaigns and by hand, none is skipped.
func Take(t testing.TB) {
	t.Helper()
	name := fnv.New32a()
	name.Write([]byte(t.Name()))
	own := strconv.Itoa(int(name.Sum32() % 2))
	switch turn := os.Getenv("TRIBUTARY_TURN"); turn {
	case "", own:
	case "0", "1":
		t.Skipf("takes turns with others: runs with TRIBUTARY_TURN=%s", own)
	default:
		t.Fatalf("TRIBUTARY_TURN is %q: use 0 or 1", turn)
	}
}
