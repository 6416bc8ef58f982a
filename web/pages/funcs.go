package pages

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"tributary/schemas"
)

// funcs are what templates may call.
func (s *Site) funcs() template.FuncMap {
	return template.FuncMap{
		"to":       s.to,
		"shown":    shown,
		"keyOf":    keyOf,
		"long":     newLong,
		"brief":    brief,
		"count":    count,
		"text":     text,
		"plural":   counted,
		"age":      func(t time.Time) string { return age(s.Now().Sub(t)) },
		"moment":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
		"stamp":    stamp,
		"clock":    func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
		"size":     size,
		"when":     func(t time.Time) string { return when(t, s.Now()) },
		"filepath": func(action, file string) string { return s.fileTo(action, file) },
		"took":     took,
		"polled":   polled,
		"source":   s.sourceAt,
		"centre":   s.centreAt,
		"then":     func() *then { return s.then },
		"ownrows":  func(what string, rows []ownRow) ownList { return ownList{What: what, Rows: rows} },
	}
}

// to is an address below the prefix with a query of names and values; values that are
// empty are left out.
func (s *Site) to(path string, query ...string) string {
	q := url.Values{}
	if s.then != nil && hasPast(path) {
		q.Set(asOf, s.then.Text())
	}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if len(q) == 0 {
		return s.Prefix + path
	}
	return s.Prefix + path + "?" + q.Encode()
}

// and is an address with one more value in its query.
func and(address, name, value string) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + url.Values{name: {value}}.Encode()
}

// shown is text of others as people may see it: characters that nobody sees, or that
// turn the direction of text, are written out, as ⟨U+202E⟩.
func shown(text string) string {
	if schemas.Clean(text) == text { // as nearly all is
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if one := string(r); schemas.Clean(one) != one {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// text is what a column that may be empty says.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// count writes a whole number of any size with its thousands apart.
func count(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}

// brief is a count as narrow places have it: 1.2 M.
func brief(n int64) string {
	switch {
	case n < 100_000:
		return count(n)
	case n < 1_000_000:
		return fmt.Sprintf("%d k", n/1000)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f M", float64(n/100_000)/10)
	}
	return count(n/1_000_000) + " M"
}

// counted is a number of things, in words for one of them and for many.
func counted(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return count(n) + " " + many
}

// age is a duration as people say it: 4 min, 3 h, 2 d.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		if m := int(d.Minutes()) % 60; m != 0 && d < 12*time.Hour {
			return fmt.Sprintf("%d h %d min", int(d.Hours()), m)
		}
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// when is a moment as tables have it: how long ago while it is recent, then UTC.
func when(t, now time.Time) string {
	switch since := now.Sub(t); {
	case since >= 0 && since < time.Hour:
		return age(since) + " ago"
	case t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly):
		return t.UTC().Format("15:04:05")
	case t.Year() == now.Year():
		return t.UTC().Format("2 Jan, 15:04")
	}
	return t.UTC().Format("2 Jan 2006, 15:04")
}

// size is a number of bytes as people say it.
func size(n int64) string {
	switch {
	case n < 10_000:
		return count(n) + " bytes"
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 10_000_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%d GB", n/1_000_000_000)
}
