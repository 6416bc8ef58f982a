package shadow

import (
	"cmp"
	"maps"
	"slices"
)

// By is what documents are grouped by.
const (
	Total       = "total"
	ByException = "exception"
	ByCentre    = "centre"
	ByDate      = "date" // of the file
)

// Groupings are all that documents can be grouped by, in the order of reports.
func Groupings() []string { return []string{ByException, ByCentre, ByDate} }

// Group counts documents by what would become of them.
type Group struct {
	By    string `json:"by"`
	Group string `json:"group"` // the exception, centre or date; empty of the total
	Counts
}

// Counts are numbers of documents.
type Counts struct {
	Documents        int64 `json:"documents"`
	Unchanged        int64 `json:"unchanged"`
	NewlyValid       int64 `json:"newly_valid"`
	NewlyRefused     int64 `json:"newly_refused"`
	RefusedOtherwise int64 `json:"refused_otherwise"`
	RowsDiffer       int64 `json:"rows_differ"`
}

func (c *Counts) add(change string) {
	c.Documents++
	switch change {
	case NewlyValid:
		c.NewlyValid++
	case NewlyRefused:
		c.NewlyRefused++
	case RefusedOtherwise:
		c.RefusedOtherwise++
	case RowsDiffer:
		c.RowsDiffer++
	default:
		c.Unchanged++
	}
}

// Add adds the numbers of others.
func (c *Counts) Add(o Counts) {
	c.Documents += o.Documents
	c.Unchanged += o.Unchanged
	c.NewlyValid += o.NewlyValid
	c.NewlyRefused += o.NewlyRefused
	c.RefusedOtherwise += o.RefusedOtherwise
	c.RowsDiffer += o.RowsDiffer
}

// Counter counts documents in groups: as many as there are exceptions, centres
// and dates.
type Counter struct {
	total  Counts
	groups map[[2]string]*Counts
}

// NewCounter returns a counter of nothing.
func NewCounter() *Counter { return &Counter{groups: map[[2]string]*Counts{}} }

// Add counts a document.
func (c *Counter) Add(d *Document) {
	c.total.add(d.Change)
	for _, key := range [][2]string{{ByException, d.Exception()}, {ByCentre, d.Centre}, {ByDate, d.Date}} {
		if c.groups[key] == nil {
			c.groups[key] = &Counts{}
		}
		c.groups[key].add(d.Change)
	}
}

// AddGroups adds what another counter has counted, all its Groups.
func (c *Counter) AddGroups(groups []Group) {
	for _, g := range groups {
		if g.By == Total {
			c.total.Add(g.Counts)
			continue
		}
		key := [2]string{g.By, g.Group}
		if c.groups[key] == nil {
			c.groups[key] = &Counts{}
		}
		c.groups[key].Add(g.Counts)
	}
}

// Groups returns the total, and the groups by what is wanted: all if that is
// empty.
func (c *Counter) Groups(by string) []Group {
	out := []Group{{By: Total, Counts: c.total}}
	keys := slices.SortedFunc(maps.Keys(c.groups), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(slices.Index(Groupings(), a[0]), slices.Index(Groupings(), b[0])), cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		if by == "" || by == key[0] {
			out = append(out, Group{By: key[0], Group: key[1], Counts: *c.groups[key]})
		}
	}
	return out
}
