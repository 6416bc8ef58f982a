package sourcestate

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Orders gives orders about sources, as somebody has decided, each in a transaction of
// its own.
type Orders struct {
	control.Decision // who, why and when

	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Dry    bool          // only tell what would be done
}

// Resume is Resume of the named sources; without names of all that are suspended.
func (o Orders) Resume(ctx context.Context, ids ...string) ([]Outcome, error) {
	return o.give(ctx, "resumed", ids, Resume)
}

// Maintain is MaintainUntil of the named sources.
func (o Orders) Maintain(ctx context.Context, until *time.Time, ids ...string) ([]Outcome, error) {
	return o.give(ctx, "put into maintenance", ids, MaintainUntil(until))
}

// Poll is Poll of the named sources.
func (o Orders) Poll(ctx context.Context, ids ...string) ([]Outcome, error) {
	return o.give(ctx, "to be polled at once, as said", ids, Poll)
}

// errDry ends a transaction that was only tried.
var errDry = errors.New("nothing is stored")

func (o Orders) give(ctx context.Context, done string, ids []string, order func(context.Context, pgx.Tx, outbox.Outbox, []string, Cause, time.Time) ([]Outcome, error)) (outcomes []Outcome, err error) {
	err = pg.InTx(ctx, o.Pool, func(tx pgx.Tx) error {
		if outcomes, err = order(ctx, tx, o.Outbox, ids, Cause{Done: done, Decision: o.Decision}, o.At); err == nil && o.Dry {
			return errDry
		}
		return err
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return outcomes, err
}
