package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File    string // the configuration file as it was given
	Line    int    // 0 when the value does not come from the file
	Path    string // the key: sources[0].interval; empty for the file itself
	Origin  string // the environment variable that gave the value, if one did
	Message string // what is wrong and what to do
}

// String is the problem in one line: file:line: key: message.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.Origin != "":
		b.WriteString("environment " + p.Origin)
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d", p.File, p.Line)
	default:
		b.WriteString(p.File)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	b.WriteString(": " + p.Message)
	return b.String()
}

// How long a problem is, in bytes: whoever reads it finds the value by its line.
const (
	maxPath    = 200
	maxMessage = 2000
)

// abridged is a text of at most about so many bytes. Its middle goes, where the value is:
// its end says what to do.
func abridged(text string, most int) string {
	left := len(text) - most
	if left <= 0 {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + fmt.Sprintf("… (%d bytes) …", left) + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// Problems is everything that is wrong with a configuration, in the order of
// its lines. It is the error that Load returns for a file that it could read.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders by line, then path; what does not come from the file is last.
func (ps Problems) sorted() Problems {
	last := func(line int) int {
		if line == 0 {
			return 1 << 30
		}
		return line
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(last(a.Line), last(b.Line)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// nearest is the candidate most like name, if any is like it.
func nearest(name string, candidates []string) string {
	best, distance := "", len(name)/3+2
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's, for names of keys.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
