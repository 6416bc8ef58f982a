package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as in Go: 30s, 5m, 1h30m.
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String writes the duration without trailing zero units: 5m, not 5m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalYAML writes the duration as String does.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// ParseDuration reads a duration with a unit. Its error names the remedy.
func ParseDuration(s string) (Duration, error) {
	v, err := time.ParseDuration(s)
	if err == nil {
		return Duration(v), nil
	}
	if _, nerr := strconv.ParseFloat(s, 64); nerr == nil {
		return 0, fmt.Errorf("%q has no unit: write %ss, %sm or %sh", s, s, s, s)
	}
	return 0, fmt.Errorf("%q is not a duration: write it like 500ms, 30s, 5m or 1h30m", s)
}

// Bytes is a number of bytes, written plain or with kB, MB, GB, TB, KiB, MiB,
// GiB or TiB.
type Bytes int64

// byteUnits holds the units from the greatest to the least, so that String
// takes the greatest that divides; binary before decimal of the same letter.
func byteUnits() []struct {
	name string
	size int64
} {
	return []struct {
		name string
		size int64
	}{
		{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9},
		{"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3},
	}
}

// String writes the size with the greatest unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits() {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalYAML writes the size as String does.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// ParseBytes reads a size: a number, with or without a unit. Its error names
// the remedy.
func ParseBytes(s string) (Bytes, error) {
	text := strings.TrimSpace(s)
	size := int64(1)
	for _, u := range byteUnits() {
		if n := len(text) - len(u.name); n > 0 && strings.EqualFold(text[n:], u.name) {
			text, size = strings.TrimSpace(text[:n]), u.size
			break
		}
	}
	if size == 1 && len(text) > 1 && strings.EqualFold(text[len(text)-1:], "B") {
		text = strings.TrimSpace(text[:len(text)-1])
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > math.MaxInt64/size || n < math.MinInt64/size {
			return 0, fmt.Errorf("%q is too large", s)
		}
		return Bytes(n * size), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f)*float64(size) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size: write a number with or without kB, MB, GB, KiB, MiB or GiB, like 64MiB", s)
	}
	return Bytes(f * float64(size)), nil
}
