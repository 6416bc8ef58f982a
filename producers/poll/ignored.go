package poll

import (
	"iter"
	"strconv"
	"strings"

	"tributary/sql/control"
)

// ignored are the entries that a listing shows and that are no files of ours: all
// are counted, by reason, and the first are kept by name.
type ignored struct {
	keep     int // how many are kept at most
	total    int
	byReason map[string]int
	first    []control.Ignored
}

func (g *ignored) add(e control.Ignored) {
	g.count(e.Reason, 1)
	if len(g.first) < g.keep {
		g.first = append(g.first, e)
	}
}

// count counts entries without their names.
func (g *ignored) count(reason string, n int) {
	if g.byReason == nil {
		g.byReason = map[string]int{}
	}
	g.total += n
	g.byReason[reason] += n
}

// ahead keeps names of entries that were counted before all others.
func (g *ignored) ahead(first []control.Ignored) {
	g.first = append(first, g.first...)
	g.first = g.first[:min(len(g.first), g.keep)]
}

// maxNames is how long the names are that an event tells together, in bytes.
const maxNames = 1000

// quoted are the first of paths, quoted so, as many as an event tells.
func quoted(paths iter.Seq[string], quote func(string) string) string {
	var b strings.Builder
	for path := range paths {
		path = quote(path)
		if b.Len()+len(path)+1 > maxNames {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(path)
	}
	return b.String()
}

// names are the first names, as an event tells them.
func (g *ignored) names() string {
	return quoted(func(yield func(string) bool) {
		for _, e := range g.first {
			if !yield(e.Directory + "/" + e.Name) {
				return
			}
		}
	}, strconv.Quote)
}

// attributes are what an event tells of them.
func (g *ignored) attributes(to map[string]string) {
	to["ignored"] = strconv.Itoa(g.total)
	for reason, n := range g.byReason {
		to["ignored_"+reason] = strconv.Itoa(n)
	}
	if names := g.names(); names != "" {
		to["ignored_names"] = names
	}
}
