package schedule

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
)

// overrun is what is said of a poll that has not ended when the next is due.
const overrun = "the source is due, but its last poll has not ended: it is due again at its next time, and never polled twice at once"

// overruns counts the sources that are due though they are still being polled, or
// wait for it, tells of each, and makes it due again later.
func (s *Scheduler) overruns(ctx context.Context) error {
	now := s.deps.Now()
	ids, err := control.Overdue(ctx, s.deps.Pool, now)
	if err != nil || len(ids) == 0 {
		return err
	}
	var over []control.Standing
	var bad []broken
	err = pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		revision, err := control.NextCount(ctx, tx, "revision")
		if err != nil {
			return err
		}
		if over, err = control.CountOverruns(ctx, tx, ids, now, revision); err != nil {
			return err
		}
		events := make([]schemas.Message, 0, len(over))
		for _, st := range over {
			next, err := s.next(st.Definition, st.Interval, st.Unchanged, now)
			if err != nil {
				bad = append(bad, broken{st.ID, st.Definition, err})
				continue
			}
			if err := control.SetDue(ctx, tx, st.ID, next); err != nil {
				return err
			}
			events = append(events, sourcestate.Overrun(st, revision, overrun, now))
		}
		return s.deps.Outbox.Append(ctx, tx, events...)
	})
	if err != nil {
		return err
	}
	for _, st := range over {
		s.deps.Log.Warn("a poll has not ended though the next is due; poll the source less often if that happens often", "source", st.ID, "overruns", st.Overruns)
	}
	return s.takeOut(ctx, bad)
}
