//go:build !race

package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// Who asked for a replay, what chose its files and who stopped it are in one
// row, whatever comes first.
func TestReplays(t *testing.T) {
	const run = "00000000-0000-4000-8000-00000000000a"
	change := func(revision int64, note, status string, more map[string]string) event {
		return event{time.Date(2026, 3, 1, 12, int(revision), 0, 0, time.UTC), schemas.StatusChanged{Entity: schemas.EntityReplay, Scope: schemas.Scope{Run: run}, Number: 3,
			Revision: revision, Note: note, Status: status, Rows: map[bool]int64{true: 7}[note == "requested"], Attributes: more}}
	}
	events := []event{
		change(2, "stopped", "pending", map[string]string{"by": "another", "reason": "too much", "from": "xsd"}),
		change(1, "requested", "running", map[string]string{"by": "somebody", "reason": "new schemas", "from": "xsd", "where": "centre = 'H'", "rate": "2.5", "shadow": "stricter", "promotes": "00000000-0000-8000-8000-00000000000b", "since": "2026-01-02T03:04:05Z"}),
	}
	want := []string{"(3,6,1,7,\"centre = 'H'\",\"2026-01-02 03:04:05+00\",2.5,somebody,\"new schemas\",\"2026-03-01 12:01:00+00\",another,\"too much\",\"2026-03-01 12:02:00+00\",stricter,00000000-0000-8000-8000-00000000000b)"}
	pool := database(t)
	tr := newTracker(t, pool)
	r := sink.Range{Topic: schemas.StatusChangedTopic, To: int64(len(events))}
	for i, e := range events {
		r.Records = append(r.Records, record(t, tr, e, int64(i)))
	}
	if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	got, err := column(pool, `SELECT (number, phase_id, status_id, items, predicate, since, rate, requested_by, reason, requested, changed_by, change_reason, changed, shadow, promotes)::text FROM tracker.replay`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
