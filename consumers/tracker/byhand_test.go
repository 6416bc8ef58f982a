//go:build !race

package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// A file that a person has ended shows that, and nothing of it is awaited any more,
// whatever was accepted before and comes later; released, it shows the next attempt.
func TestAFileThatAPersonHasEnded(t *testing.T) {
	pool := database(t)
	const name = "H.2012-10-02.1.impc.zip"
	log := unzippedFile(name, 2)
	accepted := log[len(log)-1]
	held := accepted
	held.Phase, held.Status, held.Exception, held.Message, held.Rows = "xsd", "cancelled", "held_by_hand", "held by ann: wrong mice", 0
	told := schemas.StatusChanged{Scope: accepted.Scope, FileRef: accepted.FileRef, Entity: schemas.EntityFile, Note: "held", Message: held.Message, Attributes: map[string]string{"by": "ann"}}
	log = append(log, documentAt(name, "a", step{Phase: 6, Status: done}), held, told, documentAt(name, "b", step{Phase: 6, Status: done}))
	again := accepted
	again.Attempt, again.Phase, again.Status, again.Outcome, again.Accepted, again.Rows = 2, "download", "pending", "", "", 0
	for _, backwards := range []bool{false, true} {
		reset(t, pool)
		tr := newTracker(t, pool)
		var next int64
		story := slices.Clone(log)
		if backwards {
			slices.Reverse(story)
		}
		for i, e := range story {
			next = apply(t, tr, next, event{time.Unix(int64(i+1), 0), e})
		}
		shows := func(want string) {
			t.Helper()
			got, err := column(pool, "SELECT concat_ws(' ', phase, status, exception, '\"' || message || '\"', ended) FROM tracker.file")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{want}, got); d != "" {
				t.Errorf("backwards %v (-want +got):\n%s", backwards, d)
			}
		}
		shows(`xsd cancelled held_by_hand "held by ann: wrong mice" t`)
		apply(t, tr, next, event{time.Unix(100, 0), again})
		shows("download pending f")
	}
}
