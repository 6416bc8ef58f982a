//go:build !race

package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// A file that is not loaded, since another shows its bytes, says so, whatever unzip has
// begun or done with them, and whichever is told first.
func TestAFileWhoseBytesAnotherShows(t *testing.T) {
	pool := database(t)
	const name = "H.2012-10-02.1.impc.zip"
	log := unzippedFile(name, 2)
	got, unzipped := log[0], log[1]
	begun, judged := got, got
	begun.Phase, begun.Status, begun.SHA256 = "unzip", "running", ""
	unzipped.Accepted = ""
	judged.Note, judged.Accepted = duplicate, "sha"
	var story []event
	for i, e := range []schemas.StatusChanged{got, begun, unzipped, documentAt(name, "a", step{Phase: 6, Status: running}), judged} {
		story = append(story, event{time.Unix(int64(i+1), 0), e})
	}
	for _, backwards := range []bool{false, true} {
		reset(t, pool)
		tr := newTracker(t, pool)
		told := slices.Clone(story)
		if backwards {
			slices.Reverse(told)
		}
		var next int64
		for _, e := range told {
			next = apply(t, tr, next, e)
		}
		for sql, want := range map[string]string{
			"SELECT concat_ws(' ', phase, status, exception, message, ended) FROM tracker.file": "zip_md5 done t",
			"SELECT concat_ws(' ', note, documents_open, version) FROM tracker.zip_download":    "duplicate 0 sha",
		} {
			got, err := column(pool, sql)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{want}, got); d != "" {
				t.Errorf("backwards %v, %s (-want +got):\n%s", backwards, sql, d)
			}
		}
		if logged, err := column(pool, "SELECT count(*)::text FROM tracker.zip_log"); err != nil || logged[0] != "0" {
			t.Errorf("backwards %v: %v failures are noted, %v", backwards, logged, err)
		}
	}
}
