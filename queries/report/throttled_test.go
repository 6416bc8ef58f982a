package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// How fast a source may be asked now, and why: by its server's sources, by itself, by
// robots.txt where that is heeded; and until when not at all.
func TestThrottled(t *testing.T) {
	pool := controltest.Open(t, 4)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	for _, s := range []struct{ id, server, definition string }{
		{"fast", "fast:80", `{}`},
		{"a", "both:80", `{"throttle": [{"cron": "0 0 * * *", "for": "1h"}, {"rate": "1MiB", "requests": 90}]}`},
		{"b", "both:80", `{"throttle": [{"pause": "2s"}, {"of": "source", "rate": "64KiB"}]}`},
		{"c", "both:80", `{"robots": "ignore"}`},
		{"new", "newer:80", `{"throttle": [{"lunar": true}]}`},
		{"shut", "shut:80", `{}`},
	} {
		if _, err := pool.Exec(t.Context(), `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
			VALUES ($1, 'H', $2, 'http', '', 1, '1 hour', 'available', 1, $3::text::jsonb)`, s.id, s.server, s.definition); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), "UPDATE control.source SET opens = $1, closes = $2 WHERE id = 'shut'", later, later.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := (control.Throttles{Pool: pool}).Heed(t.Context(), "both:80", 3*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := control.LeaveAlone(t.Context(), pool, "shut:80", now, time.Hour); err != nil {
		t.Fatal(err)
	}
	server := report.ThrottleBound{Of: "server", Name: "both:80", Rate: 1 << 20, Requests: 90, Pause: 2, Why: []string{"throttle of a", "throttle of b"}}
	crawl := report.ThrottleBound{Of: "server", Name: "both:80", Pause: 3, Why: []string{"Crawl-delay of its robots.txt"}}
	const says = "throttled now, server both:80: 1MiB a second, 90 requests a minute, 2s between requests (throttle of a, throttle of b)\n"
	for id, want := range map[string]struct {
		is   *report.Throttled
		text string
	}{
		"fast": {},
		"a":    {&report.Throttled{Bounds: []report.ThrottleBound{server, crawl}}, says + "throttled now, server both:80: 3s between requests (Crawl-delay of its robots.txt)\n"},
		"b": {&report.Throttled{Bounds: []report.ThrottleBound{server, {Of: "source", Name: "b", Rate: 64 << 10, Why: []string{"throttle of b"}}, crawl}},
			says + "throttled now, source b: 64KiB a second (throttle of b)\nthrottled now, server both:80: 3s between requests (Crawl-delay of its robots.txt)\n"},
		"c":    {&report.Throttled{Bounds: []report.ThrottleBound{server}}, says},
		"new":  {&report.Throttled{Bounds: []report.ThrottleBound{}, Error: "source new: definition of a source:1: throttle[0].lunar: unknown key; known here: cron, for, of, rate, requests, pause"}, "what throttles it can't all be read: source new: definition of a source:1: throttle[0].lunar: unknown key; known here: cron, for, of, rate, requests, pause\n"},
		"shut": {&report.Throttled{Bounds: []report.ThrottleBound{}, LeftUntil: &later, Opens: &later}, "its server has asked to be left alone (Retry-After): it is neither polled nor given a job until 2026-03-01 13:00:00Z\n"},
	} {
		all, err := control.Standings(t.Context(), pool, id)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		got, err := report.ThrottledOf(t.Context(), pool, all[0], now)
		if diff := cmp.Diff(want.is, got, cmpopts.IgnoreUnexported(report.ThrottleBound{})); diff != "" || err != nil {
			t.Errorf("%s, %v (-want +got):\n%s", id, err, diff)
		}
		if diff := cmp.Diff(want.text, got.Text()); diff != "" {
			t.Errorf("%s, for people (-want +got):\n%s", id, diff)
		}
	}
}
