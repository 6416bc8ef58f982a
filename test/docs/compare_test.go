package docs

import (
	"regexp"
	"strings"
	"testing"
)

// varying is what differs from run to run: times, ids, digests, durations, rates,
// ports and directories. Numbers that count something are compared.
var varying = []struct{ like, as string }{
	{`\b[0-9a-f]{4}[0-9a-f-]*…`, "…"},
	{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`, "TIME"},
	{`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "ID"},
	{`\b[0-9a-f]{10,64}\b`, "DIGEST"},
	{`\b\d+(\.\d+)?(ns|µs|ms|s|m|h|d)\b`, "DURATION"},
	{`\b\d+\.\d+ (files|documents) a minute`, "RATE $1 a minute"},
	{`\b\d+ bytes a second`, "RATE bytes a second"},
	{`[ \t]+`, " "},
}

func normal(text string) string {
	for _, v := range varying {
		text = regexp.MustCompile(v.like).ReplaceAllString(text, v.as)
	}
	return strings.TrimRight(text, " ")
}

// matches tells whether a command printed what a page shows, but for what
// varies. A page leaves out lines with … alone on a line, and the rest of a line
// with … in it.
func matches(page, printed string) bool {
	return lines(strings.Split(strings.TrimSpace(page), "\n"), strings.Split(strings.TrimSpace(printed), "\n"))
}

func lines(page, printed []string) bool {
	for i, want := range page {
		if strings.TrimSpace(want) == "…" {
			for skip := i; skip <= len(printed); skip++ {
				if lines(page[i+1:], printed[skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(printed) || !like(normal(want), normal(printed[i])) {
			return false
		}
	}
	return len(page) == len(printed)
}

// like compares two lines; … in the first stands for any text, a column of it for an empty
// one, too.
func like(want, got string) bool {
	pattern := strings.NewReplacer(" … ", "( .*)? ", "…", ".*").Replace(regexp.QuoteMeta(want))
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, page, printed string
		want                bool
	}{
		{"the same", "a 1\nb 2", "a 1\nb 2\n", true},
		{"another number", "a 1", "a 2", false},
		{"another time", "at 2026-11-22 04:04:23Z", "at 2027-01-02 03:04:05Z", true},
		{"another width of columns", "A   B", "A B", true},
		{"lines left out", "a\n…\nd", "a\nb\nc\nd", true},
		{"the end left out", "a\n…", "a\nb", true},
		{"a line that is missing", "a\n…\ne", "a\nb", false},
		{"a line too many", "a", "a\nb", false},
		{"a column left out", "a  …  c", "a  12  c", true},
		{"an empty column left out", "a  …  c", "a      c", true},
		{"another column than the one left out", "a  …  c", "a  12  d", false},
		{"a line cut", "version 3c24…: told", "version 3c2401171a59: told", true},
	} {
		if got := matches(c.page, c.printed); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
