package asof

import (
	"strings"
	"testing"
	"time"
)

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 987654321, time.UTC)
	day := 24 * time.Hour
	for text, want := range map[string]time.Time{
		"2026-11-21T10:00:00Z":           time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		"2026-11-21T10:00:00.123456789Z": time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC),
		"2026-11-21T10:00:00+02:00":      time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		"2026-11-21 10:00:00Z":           time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		"2026-11-21":                     time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		"2h":                             now.Add(-2 * time.Hour),
		"7d":                             now.Add(-7 * day),
		"2w1d":                           now.Add(-15 * day),
		"1d12h30m":                       now.Add(-day - 12*time.Hour - 30*time.Minute),
		"90s":                            now.Add(-90 * time.Second),
		" 1.5h ":                         now.Add(-90 * time.Minute),
	} {
		got, err := ParseMoment(text, now)
		if err != nil || !got.Equal(want.Truncate(time.Microsecond)) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-2h", "+2h", "2", "2h 3", "2026-11-21T10:00:00", "2026-13-01", "9999999999d", "18000w", "100000000h", "d"} {
		if got, err := ParseMoment(text, now); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestAhead(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z is over: write a moment to come",
		"tomorrow":             `"tomorrow" is no moment`,
		"-6h":                  `"-6h" is no moment`,
	} {
		if _, err := Ahead(text, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]time.Time{
		" 2d ":                      now.Add(48 * time.Hour),
		"2999-01-01T00:00:00+01:00": time.Date(2998, 12, 31, 23, 0, 0, 0, time.UTC),
	} {
		if at, err := Ahead(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", text, at, err, want)
		}
	}
}
