package stage

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Company is the work of one process, over all its Runners. A record that is
// suspected of killing the process runs without company, so that the next
// death is its own and no innocent neighbour's.
type Company struct{ sem *semaphore.Weighted }

// everybody is more than ever work at once.
const everybody = 1 << 30

// NewCompany makes a Company. It is called once per process; every Runner's
// configuration is given the result.
func NewCompany() *Company { return &Company{sem: semaphore.NewWeighted(everybody)} }

// join waits until work may begin: alone, or while nobody is or waits to be
// alone. It fails only with ctx. The caller calls leave when the work is over.
func (c *Company) join(ctx context.Context, alone bool) (leave func(), err error) {
	share := int64(1)
	if alone {
		share = everybody
	}
	if err := c.sem.Acquire(ctx, share); err != nil {
		return nil, err
	}
	return func() { c.sem.Release(share) }, nil
}
