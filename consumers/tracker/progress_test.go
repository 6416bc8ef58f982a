//go:build !race

package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// What is told of a download's progress is shown while it runs, and only then: the
// last that was told, of the transfer that runs now, in whatever order it is heard
// of, and however often.
func TestProgressOfADownload(t *testing.T) {
	const name = "H.2012-10-02.1.impc.zip"
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	of := func(attempt int32, seconds int, change func(*schemas.StatusChanged)) event {
		e := unzippedFile(name, 1)[0]
		e.Source, e.Centre, e.Attempt, e.FileSize = "s", "H", attempt, 1000
		e.Phase, e.Status, e.Outcome, e.Accepted, e.SHA256, e.MD5, e.Bytes, e.Note, e.FinishedAt, e.StartedAt = "download", "running", "", "", "", "", 0, "", nil, nil
		change(&e)
		return event{after(seconds), e}
	}
	begun := func(attempt int32, seconds int) event {
		return of(attempt, seconds, func(e *schemas.StatusChanged) { at := after(seconds); e.StartedAt = &at })
	}
	told := func(attempt int32, seconds int, received int64) event {
		return of(attempt, seconds, func(e *schemas.StatusChanged) {
			e.Attributes = schemas.Progress{Received: received, Rate: 10}.Attributes()
		})
	}
	end := func(attempt int32, seconds int, change func(*schemas.StatusChanged)) event {
		return of(attempt, seconds, func(e *schemas.StatusChanged) { at := after(seconds); e.FinishedAt = &at; change(e) })
	}
	fetched := func(e *schemas.StatusChanged) {
		e.Phase, e.Status, e.Outcome, e.SHA256, e.MD5, e.Bytes, e.Note = "zip_md5", "done", "sha", "sha", "md5", 1000, "no_checksum"
	}
	failed := func(e *schemas.StatusChanged) { e.Status, e.Exception, e.Outcome = "failed", "too_slow", "too_slow" }
	pool := database(t)
	tr := newTracker(t, pool)
	for what, tt := range map[string]struct {
		events []event
		want   []string // attempt, bytes of size, rate, seconds after the beginning when told
	}{
		"it has begun":                   {[]event{begun(1, 0)}, nil},
		"it is told once":                {[]event{begun(1, 0), told(1, 10, 100)}, []string{"1: 100 of 1000, 10, 10"}},
		"it is told again":               {[]event{begun(1, 0), told(1, 10, 100), told(1, 20, 250)}, []string{"1: 250 of 1000, 10, 20"}},
		"it is told before its begin is": {[]event{told(1, 10, 100)}, []string{"1: 100 of 1000, 10, 10"}},
		"nothing has come":               {[]event{begun(1, 0), told(1, 10, 0)}, []string{"1: 0 of 1000, 10, 10"}},
		"it begins anew":                 {[]event{begun(1, 0), told(1, 10, 100), begun(1, 30)}, nil},
		"it begins anew, and is told":    {[]event{begun(1, 0), told(1, 10, 900), begun(1, 30), told(1, 40, 50)}, []string{"1: 50 of 1000, 10, 40"}},
		"it is fetched":                  {[]event{begun(1, 0), told(1, 10, 100), end(1, 15, fetched)}, nil},
		"it failed":                      {[]event{begun(1, 0), told(1, 10, 100), end(1, 15, failed)}, nil},
		"it was not tried to its end": {[]event{begun(1, 0), told(1, 10, 100), of(1, 15, func(e *schemas.StatusChanged) {
			e.Status, e.Exception, e.Note, e.Accepted = "cancelled", "not_tried", "not_tried", "not_tried"
		})}, nil},
		"control has judged it":                  {[]event{begun(1, 0), told(1, 10, 100), of(1, 15, func(e *schemas.StatusChanged) { e.Phase, e.Status, e.Accepted = "", "", "sha" })}, nil},
		"it is told after its end, by its clock": {[]event{begun(1, 0), end(1, 15, fetched), told(1, 20, 999)}, nil},
		"the next attempt counts anew":           {[]event{begun(1, 0), told(1, 10, 900), end(1, 15, failed), begun(2, 20), told(2, 30, 70)}, []string{"2: 70 of 1000, 10, 30"}},
		"what can't be is not believed": {[]event{begun(1, 0), told(1, 10, 100), of(1, 20, func(e *schemas.StatusChanged) {
			e.Attributes = map[string]string{"received": "-5", "rate": "much"}
		})}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			first, err := folded(tt.events)
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range permutations(tt.events) {
				got, err := folded(order[:1], order, order[len(order)-1:]) // in batches, and some again
				if d := cmp.Diff(first, got); err != nil || d != "" {
					t.Fatalf("another order gives another state: %v\n%s", err, d)
				}
			}
			reversed := slices.Clone(tt.events)
			slices.Reverse(reversed)
			for _, order := range [][]event{tt.events, reversed} {
				reset(t, pool)
				next := int64(0)
				for _, e := range order {
					next = apply(t, tr, next, e)
				}
				got, err := column(pool, `SELECT format('%s: %s of %s, %s, %s', attempt, received_bytes, size_bytes, bytes_per_second, extract(epoch FROM told - '2026-11-21 10:00:00Z')::int)
					FROM tracker.transfer ORDER BY 1`)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("shown (-want +got):\n%s", d)
				}
			}
		})
	}
}

// permutations are all orders of a few events.
func permutations(events []event) (all [][]event) {
	if len(events) < 2 {
		return [][]event{slices.Clone(events)}
	}
	for i := range events {
		rest := slices.Concat(events[:i], events[i+1:])
		for _, p := range permutations(rest) {
			all = append(all, append([]event{events[i]}, p...))
		}
	}
	return all
}
