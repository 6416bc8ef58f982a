package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
)

// Ends of sessions are found on both sides of a moment, that moment not among them, in
// the order in which the sessions were opened; one that is open has none.
func TestEndsAround(t *testing.T) {
	tracker := reporttest.Told(t, nil)
	if _, err := tracker.Exec(t.Context(), `INSERT INTO tracker.crawling_session (id, number, start_time, finish_time, merge)
		SELECT md5('s' || n)::uuid, n, '2026-11-21T10:00Z'::timestamptz + n * interval '10 min', CASE WHEN n < 4 THEN '2026-11-21T10:05Z'::timestamptz + n * interval '10 min' END, '{}' FROM generate_series(1, 4) n`); err != nil {
		t.Fatal(err)
	}
	end := func(n int64) *report.SessionEnd {
		return &report.SessionEnd{Number: n, At: time.Date(2026, 11, 21, 10, 5+10*int(n), 0, 0, time.UTC)}
	}
	for at, want := range map[string][2]*report.SessionEnd{
		"10:00:00": {nil, end(1)}, "10:15:00": {nil, end(2)}, "10:15:01": {end(1), end(2)}, "10:22:00": {end(1), end(2)}, "10:34:00": {end(2), end(3)}, "10:35:00": {end(2), nil}, "12:00:00": {end(3), nil},
	} {
		moment, err := time.Parse(time.DateTime, "2026-11-21 "+at)
		if err != nil {
			t.Fatal(err)
		}
		before, after, err := report.EndsAround(t.Context(), tracker, moment)
		if diff := cmp.Diff(want, [2]*report.SessionEnd{before, after}, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); err != nil || diff != "" {
			t.Errorf("at %s: %v\n%s", at, err, diff)
		}
	}
}
