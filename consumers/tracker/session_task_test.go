//go:build !race

package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tributary/schemas"
)

// What a session tried again until it went well has not failed, whatever phase the
// attempt ended in; what it tried again in vain has, once, and what another session
// tries again has, too.
func TestTasksThatWereTriedAgain(t *testing.T) {
	first, second := uuid.NewString(), uuid.NewString()
	for name, tc := range map[string]struct {
		failed, again string // phases in which the first attempt fails, and the second; empty: it goes well
		session       string // of the second
		want          []string
	}{
		"a transfer, then all is well": {"download", "", first, []string{"download: 2 in all, 0 failed, 0 open, 1 tried again 0", "zip_md5: 1 in all, 0 failed, 0 open 0", "unzip: 1 in all, 0 failed, 0 open 0"}},
		"a checksum, then all is well": {"zip_md5", "", first, []string{"download: 2 in all, 0 failed, 0 open 0", "zip_md5: 2 in all, 0 failed, 0 open, 1 tried again 0", "unzip: 1 in all, 0 failed, 0 open 0"}},
		"an archive, then all is well": {"unzip", "", first, []string{"download: 2 in all, 0 failed, 0 open 0", "zip_md5: 2 in all, 0 failed, 0 open 0", "unzip: 2 in all, 0 failed, 0 open, 1 tried again 0"}},
		"in vain":                      {"download", "download", first, []string{"download: 2 in all, 1 failed, 0 open, 1 tried again 1"}},
		"in vain, later in another":    {"download", "unzip", first, []string{"download: 2 in all, 0 failed, 0 open, 1 tried again 0", "zip_md5: 1 in all, 0 failed, 0 open 0", "unzip: 1 in all, 1 failed, 0 open 1"}},
		"by another session":           {"download", "", second, []string{"download: 1 in all, 1 failed, 0 open 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			pool := database(t)
			clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			var log []event
			attempt := func(number int32, session, failed string) {
				for _, e := range unzippedFile("H.2012-10-02.1.impc.zip", 0) {
					clock = clock.Add(time.Second)
					at := clock
					e.Attempt, e.Session, e.FinishedAt = number, session, &at
					switch {
					case failed == "unzip" && e.Phase == failed:
						e.Status, e.Exception, e.Outcome, e.Accepted = "failed", "zip_crc_mismatch", "sha/bad", "sha/bad"
					case failed != "" && failed != "unzip":
						e.Phase, e.Status, e.Exception, e.Outcome, e.Accepted, e.SHA256 = failed, "failed", "transfer_truncated", "bad", "bad", ""
					}
					log = append(log, event{at, e})
					if e.Status == "failed" {
						return
					}
				}
			}
			for number, id := range []string{first, second} {
				at := clock
				log = append(log, event{at, schemas.StatusChanged{Scope: schemas.Scope{Session: id}, Entity: schemas.EntitySession, Number: int64(number + 1), StartedAt: &at}})
			}
			attempt(1, first, tc.failed)
			attempt(2, tc.session, tc.again)
			apply(t, newTracker(t, pool), 0, log...)
			got, err := column(pool, "SELECT phase || ': ' || comment || ' ' || coalesce(status::text, 'open') FROM tracker.session_task WHERE session_id = '"+first+"' ORDER BY phase_id")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("tasks of the first session (- wanted, + seen):\n%s", d)
			}
		})
	}
}
