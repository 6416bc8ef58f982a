package poll

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/twin"
	"tributary/schemas"
	"tributary/sql/control"
)

// Names are bytes to us, so two that differ only in case, or in how an accent is written,
// are two files, and both are taken. Where they lie in a place that takes them for one,
// one of them is lost; and their centre may have meant one. So they are told.

const (
	// nameTwin is the stable name of the warning.
	nameTwin = "name_twin"
	// mostTwins is how many sets of twins of a directory are kept by name.
	mostTwins = 50
	// mostAlike is how many names of a set are.
	mostAlike = 4
)

// twins are what a listing shows of them.
type twins struct {
	finders map[string]*twin.Finder // by directory
	is      control.Twins
}

// add adds names that the listing has shown for the first time.
func (t *twins) add(rows []control.Entry, repeated []control.Entry) {
	again := map[string]int{}
	for _, e := range repeated {
		again[e.File]++
	}
	for _, e := range rows {
		if again[e.File] > 0 {
			again[e.File]--
			continue
		}
		f := t.finders[e.Action]
		if f == nil {
			f = &twin.Finder{}
			if t.finders == nil {
				t.finders = map[string]*twin.Finder{}
			}
			t.finders[e.Action] = f
		}
		f.Add(e.Name)
	}
}

// find finds out which names have twins. The listing is read again only if there are any.
func (t *twins) find(ctx context.Context, conn *pgxpool.Conn) error {
	first := map[string]func(string) bool{}
	for directory, f := range t.finders {
		if f.Count() > 0 {
			first[directory] = f.First(mostTwins)
		}
	}
	if len(first) == 0 {
		return nil
	}
	together := map[[2]string][]string{} // by directory and what they have in common
	err := control.EachListed(ctx, conn, func(directory, name string) {
		if is := first[directory]; is != nil && is(name) {
			key := [2]string{directory, twin.Fold(name)}
			if len(together[key]) < mostAlike {
				together[key] = append(together[key], name)
			}
		}
	})
	if err != nil {
		return err
	}
	t.is = control.Twins{}
	for key, names := range together {
		if len(names) < 2 {
			continue // another name has its hash
		}
		slices.Sort(names)
		d := t.is[key[0]]
		d.Names, d.First = t.finders[key[0]].Count(), append(d.First, names)
		t.is[key[0]] = d
	}
	for _, d := range t.is {
		slices.SortFunc(d.First, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	}
	return nil
}

// keepTwins keeps the twins of the directories that a poll has listed, and logs it where
// they are others than before.
func (s *Poller) keepTwins(ctx context.Context, tx pgx.Tx, p control.Poll, c counts) error {
	is := maps.Clone(c.twins.is)
	for _, over := range c.passedOver() {
		if was, has := p.Twins[over]; has {
			if is == nil {
				is = control.Twins{}
			}
			is[over] = was
		}
	}
	if len(is) == 0 && len(p.Twins) == 0 || reflect.DeepEqual(is, p.Twins) {
		return nil
	}
	if exception := nameTwin; len(is) > 0 {
		s.deps.Log.Warn("the source shows names that differ only in case or in how accents are written: both are taken", "source", p.Source, "exception", exception, "names", c.twins.names())
	}
	if is == nil {
		is = control.Twins{}
	}
	return control.PutTwins(ctx, tx, p.Source, is)
}

// attributes are what the poll's event tells of them.
func (t *twins) attributes(to map[string]string) {
	n := 0
	for _, d := range t.is {
		n += d.Names
	}
	if n > 0 {
		to["name_twins"], to["name_twin_names"] = strconv.Itoa(n), t.names()
	}
}

// names are the first names, as an event tells them.
func (t *twins) names() string {
	return quoted(func(yield func(string) bool) {
		for _, action := range schemas.Actions() {
			for _, together := range t.is[action].First {
				for _, name := range together {
					if !yield(action + "/" + name) {
						return
					}
				}
			}
		}
	}, strconv.QuoteToASCII) // in which accents differ
}
