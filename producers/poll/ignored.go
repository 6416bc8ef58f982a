package poll

import (
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
	if g.byReason == nil {
		g.byReason = map[string]int{}
	}
	g.total++
	g.byReason[e.Reason]++
	if len(g.first) < g.keep {
		g.first = append(g.first, e)
	}
}

// ahead counts entries of a reason, the first of which are kept before all others.
func (g *ignored) ahead(reason string, n int, first []control.Ignored) {
	if g.byReason == nil {
		g.byReason = map[string]int{}
	}
	g.total += n
	g.byReason[reason] += n
	g.first = append(first, g.first...)
	g.first = g.first[:min(len(g.first), g.keep)]
}

// maxNames is how long the names are that an event tells together, in bytes.
const maxNames = 1000

// names are the first names, quoted, as many as an event tells.
func (g *ignored) names() string {
	var b strings.Builder
	for _, e := range g.first {
		quoted := strconv.Quote(e.Directory + "/" + e.Name)
		if b.Len()+len(quoted)+1 > maxNames {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoted)
	}
	return b.String()
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
