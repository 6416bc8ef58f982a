package deadletter

import (
	"cmp"
	"slices"
)

// MaxNewest bounds how many letters Newest holds.
const MaxNewest = 10_000

// Newest keeps so many of the letters given to it as were given up last.
type Newest[T any] struct {
	N    int             // how many, at most MaxNewest
	Of   func(T) *Letter // the letter of what is kept
	held []T
}

// Add takes one more.
func (n *Newest[T]) Add(v T) {
	n.held = append(n.held, v)
	if len(n.held) >= 2*max(n.N, 500) {
		n.held = slices.Clone(n.List())
	}
}

// List returns what is kept, the newest first.
func (n *Newest[T]) List() []T {
	slices.SortStableFunc(n.held, func(a, b T) int {
		return cmp.Or(n.Of(b).Time.Compare(n.Of(a).Time), cmp.Compare(n.Of(a).ID, n.Of(b).ID))
	})
	return n.held[:min(len(n.held), n.N)]
}
