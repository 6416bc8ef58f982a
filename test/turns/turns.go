// Package turns has long proofs take turns from commit to commit.
package turns

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// Take skips a test whose turn it is not: half of those that take turns run with an even
// TRIBUTARY_TURN and the others with an odd one, by their names. .ci/run draws it from the
// commit. Without it, as in campaigns and by hand, none is skipped.
func Take(t testing.TB) {
	t.Helper()
	turn, err := strconv.ParseUint(os.Getenv("TRIBUTARY_TURN"), 10, 64)
	if err != nil {
		return
	}
	name := fnv.New32a()
	name.Write([]byte(t.Name()))
	if turn%2 != uint64(name.Sum32()%2) {
		t.Skipf("takes turns with others: runs with TRIBUTARY_TURN=%d", 1-turn%2)
	}
}
