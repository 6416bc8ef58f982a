package stage

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Isolation is shared by all Runners of one process. A record that is
// suspected of killing the process runs by itself, so that the next
// death is its own and no innocent neighbour's.
type Isolation struct{ sem *semaphore.Weighted }

// everybody is more than ever work at once.
const everybody = 1 << 30

// NewIsolation makes an Isolation. It is called once per process; every Runner's
// configuration is given the result.
func NewIsolation() *Isolation { return &Isolation{sem: semaphore.NewWeighted(everybody)} }

// enter waits until work may begin: alone, or while nobody is or waits to be
// alone. It fails only with ctx. The caller calls leave when the work is over.
func (i *Isolation) enter(ctx context.Context, alone bool) (leave func(), err error) {
	share := int64(1)
	if alone {
		share = everybody
	}
	if err := i.sem.Acquire(ctx, share); err != nil {
		return nil, err
	}
	return func() { i.sem.Release(share) }, nil
}
