package asof

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Moments is how moments are written, for help texts.
const Moments = "RFC 3339 (2026-11-21T10:00:00Z), a date (its beginning, UTC), or a duration back from now (90m, 2h, 7d)"

// days are the units of a duration that Go lacks, weeks and days, before the
// rest.
var days = regexp.MustCompile(`^(?:(\d+)w)?(?:(\d+)d)?(.*)$`)

// ParseMoment reads a moment as people write it, see Moments. A time may have a
// space in place of the T, as tables show it. The moment has microseconds, as
// events have.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	s := strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Truncate(time.Microsecond), nil
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	back, err := ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no moment: use %s", text, Moments)
	}
	return now.UTC().Add(-back).Truncate(time.Microsecond), nil
}

// longest is the longest duration that is read: 100 years.
const longest = 100 * 366 * 24 * time.Hour

// ParseDuration reads a duration that may begin with weeks and days.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no duration, or longer than 100 years: write 30s, 90m, 24h, 7d or 2w", text)
	m := days.FindStringSubmatch(text)
	if m == nil || text == "" || strings.HasPrefix(m[3], "-") || strings.HasPrefix(m[3], "+") {
		return 0, bad
	}
	var all time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil || n > int64(longest/unit) {
			return 0, bad
		}
		all += time.Duration(n) * unit
	}
	if m[3] != "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil || rest > longest {
			return 0, bad
		}
		all += rest
	}
	if all > longest {
		return 0, bad
	}
	return all, nil
}

// Ahead reads a moment to come: as ParseMoment, but that a duration is from now on.
func Ahead(text string, now time.Time) (time.Time, error) {
	if d, err := ParseDuration(strings.TrimSpace(text)); err == nil {
		return now.Add(d), nil
	}
	at, err := ParseMoment(text, now)
	if err != nil {
		return at, fmt.Errorf("%q is no moment: write RFC 3339 (2026-11-21T10:00:00Z), or how long that is from now (90m, 6h, 2d)", text)
	}
	if !at.After(now) {
		return at, fmt.Errorf("%s is over: write a moment to come", text)
	}
	return at, nil
}
