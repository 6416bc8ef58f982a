//go:build !race

package schedule

import (
	"testing"
	"time"

	"tributary/internal/config"
)

// Where our clock was ahead, and is set back, sources are polled at once and go on by their
// times, not when the clock has come there again; windows too. It is done once. A clock that
// is set forward has what was missed made up for once.
func TestOurClockIsSet(t *testing.T) {
	const at = "2006-01-02T15:04:05"
	for name, ahead := range map[string]time.Duration{"an hour": time.Hour, "a day": 24 * time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := timed(t, func(s *config.Source) {
				s.Interval, s.TimeZone = config.Duration(12*time.Hour), "UTC"
				s.Windows = []config.Window{{Cron: "0 10 * * *", For: config.Duration(6 * time.Hour)}}
			})
			right := noon
			for _, step := range []struct {
				what string
				at   time.Time
				want string
			}{
				{"a first poll", right, "(a)"},
				{"not before it is due", right.Add(time.Minute), ""},
				{"set forward", right.Add(24*time.Hour + ahead), "(a)"},
				{"not again", right.Add(24*time.Hour + ahead + time.Minute), ""},
				{"set back", right.Add(24*time.Hour + 2*time.Minute), "(a)"},
				{"once", right.Add(24*time.Hour + 3*time.Minute), ""},
				{"outside of its window", right.Add(30 * time.Hour), ""},
				{"the next day", right.Add(48 * time.Hour), "(a)"},
			} {
				if got := b.tick(step.at.Format(at)); got != step.want {
					t.Errorf("%s, at %s: polled %q, want %q", step.what, step.at, got, step.want)
				}
			}
		})
	}
}

// Clocks of members may differ by seconds: that is no clock which was set back.
func TestClocksOfMembersDiffer(t *testing.T) {
	b := timed(t, func(s *config.Source) { s.Interval = config.Duration(time.Hour) })
	if got := b.tick("2026-03-01T12:00:30"); got != "(a)" {
		t.Fatalf("polled %q", got)
	}
	if got := b.tick("2026-03-01T12:00:00"); got != "" || b.due() != `("2026-03-01 13:00")` {
		t.Errorf("half a minute earlier, polled %q, due %s", got, b.due())
	}
}
