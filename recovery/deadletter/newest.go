package deadletter

import (
	"cmp"
	"context"
	"slices"
)

// MaxNewest bounds how many letters are held to find the newest.
const MaxNewest = 10_000

// newest keeps so many of the letters given to it as were given up last.
type newest struct {
	n    int // how many, at most MaxNewest
	held []*Standing
}

func (n *newest) add(l *Standing) {
	n.held = append(n.held, l)
	if len(n.held) >= 2*max(n.n, 500) {
		n.held = slices.Clone(n.list())
	}
}

// list returns what is kept, the newest first.
func (n *newest) list() []*Standing {
	slices.SortStableFunc(n.held, func(a, b *Standing) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.ID, b.ID))
	})
	return n.held[:min(len(n.held), n.n)]
}

// List gives the newest of the letters that a filter means, the newest first, at
// most so many; with a limit of 0 all, as they lie. Those that were dropped are
// among them if the filter names that state, or if dropped ones are wanted too.
func (d *Ledger) List(ctx context.Context, f *Filter, limit int, dropped bool, each func(*Standing) error) error {
	found := newest{n: limit}
	err := d.Each(ctx, f, func(l *Standing) bool { return f.lists(l.State, dropped) }, func(chunk []*Standing) error {
		for _, l := range chunk {
			if limit > 0 {
				found.add(l)
			} else if err := each(l); err != nil {
				return err
			}
		}
		return nil
	})
	for _, l := range found.list() {
		if err == nil {
			err = each(l)
		}
	}
	return err
}
