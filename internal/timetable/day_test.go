package timetable

import (
	"testing"
	"time"
)

// A day ends at midnight in its zone, also where clocks change, and where midnight is
// skipped at the moment of the change.
func TestDays(t *testing.T) {
	for name, c := range map[string]struct{ zone, now, day, ends string }{
		"in UTC":                       {"", "2026-11-26T09:00:00Z", "2026-11-26", "2026-11-27T00:00:00Z"},
		"at its beginning":             {"", "2026-11-26T00:00:00Z", "2026-11-26", "2026-11-27T00:00:00Z"},
		"at its last moment":           {"", "2026-11-26T23:59:59.999Z", "2026-11-26", "2026-11-27T00:00:00Z"},
		"to the east it is later":      {"Asia/Tokyo", "2026-11-26T15:00:00Z", "2026-11-27", "2026-11-27T15:00:00Z"},
		"to the west it is earlier":    {"America/New_York", "2026-11-26T04:59:00Z", "2026-11-25", "2026-11-26T05:00:00Z"},
		"one of 23 hours":              {"Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29", "2026-03-29T22:00:00Z"},
		"one of 25 hours":              {"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25", "2026-10-25T23:00:00Z"},
		"the next begins at one":       {"America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-03", "2018-11-04T03:00:00Z"},
		"the next is skipped as whole": {"Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-29", "2011-12-30T10:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := Zone(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			day, ends := Day(moment(t, c.now), zone)
			if day != c.day || !ends.Equal(moment(t, c.ends)) {
				t.Errorf("it is %s until %s, want %s until %s", day, ends.UTC().Format(time.RFC3339), c.day, c.ends)
			}
		})
	}
}
