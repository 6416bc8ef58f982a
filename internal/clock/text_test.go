package clock_test

import (
	"testing"
	"time"

	"tributary/internal/clock"
)

func TestWhatIsSaidOfAClock(t *testing.T) {
	day := 24 * time.Hour
	for want, c := range map[string]clock.Clock{
		"": {},
		"its clock is right, by what it tells; times are exact to the second":                                                         {Told: bounds(-time.Second, time.Second), Precision: time.Second},
		"its clock is behind ours by 59m59s to 1h0m0s, by what it tells":                                                              {Told: bounds(-time.Hour, -time.Hour+time.Second)},
		"its clock is ahead of ours by 2h30m0s or more, by its files; times are exact":                                                {Finds: repeat(poll(3*time.Hour, false), 3), Precision: time.Nanosecond},
		"its clock is ahead of ours by 2h30m0s to 3h30m1s, by its files":                                                              {Finds: repeat(poll(3*time.Hour, true), 3)},
		"its clock is not known to be wrong, by its files":                                                                            {Finds: repeat(poll(0, false), 3)},
		"its clock is right, by its files":                                                                                            {Finds: repeat(poll(0, true), 3)},
		"its listing, of an unknown zone, is not known to be wrong, by its files; times are exact to the minute, some without a year": {Finds: repeat(poll(0, false), 3), Precision: time.Minute, Yearless: true},
		"times are exact to the day at worst; its listing is in UTC+05:30 and UTC-03:00; all times moved by 1h0m0s, as seen at 2026-03-01 12:00:00Z": {
			Precision: day, Zones: []time.Duration{5*time.Hour + 30*time.Minute, -3 * time.Hour}, Moved: time.Hour, MovedAt: noon},
	} {
		if got := c.Text(); got != want {
			t.Errorf("said is\n%q, want\n%q", got, want)
		}
	}
}
