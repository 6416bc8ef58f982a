package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// What rests, since when and why, and how often it was overrun, stands in the row
// of a source; what is no time and no number is left out, and a source that is
// resumed keeps nothing of it.
func TestASourceThatRests(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var at int64
	for _, c := range []struct {
		name       string
		attributes map[string]string
		want       string
	}{
		{"available", map[string]string{"state": "available"}, "available - - -"},
		{"overrun", map[string]string{"state": "available", "overruns": "12"}, "available - - 12"},
		{"suspended", map[string]string{"state": "suspended", "suspended_at": "2026-11-21T09:00:00.25Z", "suspended_why": "3 polls failed", "overruns": "12"}, "suspended 2026-11-21 09:00:00.25 3 polls failed 12"},
		{"nonsense", map[string]string{"state": "suspended", "suspended_at": "yesterday", "overruns": "-1"}, "suspended - - -"},
		{"resumed", map[string]string{"state": "available"}, "available - - -"},
	} {
		apply(t, tr, at, event{clock.Add(time.Duration(at) * time.Second), schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Revision: at + 1, Attributes: c.attributes}})
		at++
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT concat_ws(' ', r.short_name, coalesce((s.suspended_at AT TIME ZONE 'UTC')::text, '-'), coalesce(s.suspended_why, '-'), coalesce(s.overruns::text, '-'))
			FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id`).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", c.name, d)
		}
	}
}
