package control

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// SourceChange stores sources within one transaction.
type SourceChange struct {
	Revision int64 // of the change

	tx pgx.Tx
}

// ChangeSources begins a change of sources, by which the given ones may be reached at
// other addresses, or counted under other names. It takes all locks of the change, in
// the order in which whoever changes sources or ends their work does, so that no two
// wait for each other: what is outstanding, the counter of revisions, the sources.
func ChangeSources(ctx context.Context, tx pgx.Tx, all []Source) (c SourceChange, err error) {
	c.tx = tx
	if len(all) > 0 {
		if err := relabel(ctx, tx, all); err != nil {
			return c, err
		}
	}
	if c.Revision, err = NextCount(ctx, tx, "revision"); err != nil {
		return c, err
	}
	return c, LockSources(ctx, tx)
}
