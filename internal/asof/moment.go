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

// days are the units of a duration back that Go lacks, weeks and days, before
// the rest.
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
	back, ok := parseBack(s)
	if !ok {
		return time.Time{}, fmt.Errorf("%q is no moment: use %s", text, Moments)
	}
	return now.UTC().Add(-back).Truncate(time.Microsecond), nil
}

// parseBack reads a duration that may begin with weeks and days.
func parseBack(s string) (time.Duration, bool) {
	m := days.FindStringSubmatch(s)
	if m == nil || s == "" || strings.HasPrefix(m[3], "-") || strings.HasPrefix(m[3], "+") {
		return 0, false
	}
	var back time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil || n > 50*366 {
			return 0, false
		}
		back += time.Duration(n) * unit
	}
	if m[3] != "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil {
			return 0, false
		}
		back += rest
	}
	return back, true
}
