package expect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// judge finds what is not as it was before in the arrival that is the last, and in
// what has come since. One that may still go on is not yet short.
func (e *Expectation) judge(last arrival, seen time.Time, within time.Duration) {
	if e.LateAfter != nil && seen.After(*e.LateAfter) {
		resting := ""
		if len(e.Rests) > 0 {
			resting = " (never on a " + strings.Join(e.Rests, ", ") + ")"
		}
		e.find(Late, fmt.Sprintf("nothing new since %s; pauses were %s before%s, and it should have come by %s",
			stamp(*e.Last), span(e.Interval), resting, stamp(*e.LateAfter)))
	}
	if last.backlog {
		return
	}
	over := !last.more && (within == 0 || seen.Sub(last.ends) > within)
	for _, m := range []struct {
		is      float64
		usual   *Spread
		what    string
		text    func(float64) string
		isShort bool
	}{
		{last.files, e.Files, "files", count, true},
		{last.bytes, e.Bytes, "all its bytes together", size, true},
		{last.largest, e.Largest, "its largest file", size, false},
	} {
		if m.usual == nil || m.is < 0 {
			continue
		}
		said := fmt.Sprintf("the arrival of %s: %s: %s, %s to %s before", stamp(last.begins), m.what, m.text(m.is), m.text(m.usual.Low), m.text(m.usual.High))
		switch {
		case m.is > m.usual.High*sizeFactor:
			e.find(Unusual, said)
		case m.isShort && over && m.is < m.usual.Low/sizeFactor:
			e.find(Short, said)
		}
	}
}

func (e *Expectation) find(finding, message string) {
	e.Findings = append(e.Findings, Finding{finding, message})
}

// Header names the cells of an expectation.
func Header() []string {
	return []string{"source", "state", "last", "next", "late after", "files", "bytes", "bytes/s", "loaded in", "outstanding", "eta", "findings", "detail"}
}

// Cells are the expectation as Header orders it.
func (e Expectation) Cells() []string {
	outstanding, eta := "", ""
	if e.Waiting.Files > 0 {
		outstanding = fmt.Sprintf("%d (%s)", e.Waiting.Files, size(float64(e.Waiting.Bytes)))
		eta = "unknown"
	}
	if e.ETA != nil {
		eta = age(*e.ETA)
	}
	var names, details []string
	for _, f := range e.Findings {
		if !slices.Contains(names, f.Finding) {
			names = append(names, f.Finding)
		}
		details = append(details, f.Message)
	}
	return []string{e.Source, e.State, cell(e.Last), cell(e.Next), cell(e.LateAfter), about(e.Files, count), about(e.Bytes, size), about(e.Rate, size),
		about(e.Load, age), outstanding, eta, strings.Join(names, ", "), strings.Join(details, "; ")}
}

// about is a spread for people: its median, and how far nine of ten are from it.
func about(s *Spread, text func(float64) string) string {
	switch {
	case s == nil:
		return "unknown"
	case s.Factor == nil:
		return fmt.Sprintf("%s (%s to %s)", text(s.Median), text(s.Low), text(s.High))
	}
	return fmt.Sprintf("%s ×%.1f", text(s.Median), *s.Factor)
}

func span(s *Spread) string { return age(s.Low) + " to " + age(s.High) }

func cell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return stamp(*t)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func count(n float64) string { return fmt.Sprintf("%.0f", math.Round(n)) }

// size is a number of bytes as people say it.
func size(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB"} {
		if n < 999.5 || unit == "TB" {
			if unit == "B" || n >= 9.95 {
				return fmt.Sprintf("%.0f %s", n, unit)
			}
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1000
	}
	return ""
}

// age is a number of seconds as people say it: the two greatest units.
func age(s float64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch n := int64(math.Round(s)); {
	case n >= day:
		return fmt.Sprintf("%dd%dh", n/day, n%day/hour)
	case n >= hour:
		return fmt.Sprintf("%dh%dm", n/hour, n%hour/minute)
	case n >= minute:
		return fmt.Sprintf("%dm%ds", n/minute, n%minute)
	default:
		return fmt.Sprintf("%ds", n)
	}
}

// seconds is a time that is measured in seconds, as far as a Duration reaches.
func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/2))
}

// momentOf is a moment, or nil where there is none.
func momentOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
