package schedule

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// broken is a source whose timetable can't be computed.
type broken struct {
	id, definition string
	why            error
}

// next is when a source is due again that is polled now.
func (s *Scheduler) next(definition string, interval time.Duration, unchanged int, now time.Time) (time.Time, error) {
	t, err := config.TimetableOf(definition, interval)
	if err != nil {
		return time.Time{}, err
	}
	return t.Next(now, unchanged, s.spread())
}

// takeOut puts sources into maintenance whose timetable can't be computed, and tells
// why. The others are polled as ever.
func (s *Scheduler) takeOut(ctx context.Context, all []broken) error {
	for _, b := range all {
		var done bool
		err := pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) (err error) {
			done, err = sourcestate.TakeOut(ctx, tx, s.deps.Outbox, b.id, b.definition, b.why.Error(), s.deps.Now())
			return err
		})
		if err != nil {
			return err
		}
		if done {
			s.deps.Log.Error("when the source is due can't be computed; it is in maintenance until its definition is corrected and tributary sources resume says so", "source", b.id, "error", b.why)
		}
	}
	return nil
}

// windows finds the next window of each source whose window has closed.
func (s *Scheduler) windows(ctx context.Context) error {
	now := s.deps.Now()
	passed, err := control.PassedWindows(ctx, s.deps.Pool, now)
	if err != nil {
		return err
	}
	var bad []broken
	for _, st := range passed {
		opens, closes, err := sourcestate.Window(st.Definition, now)
		if err != nil {
			bad = append(bad, broken{st.ID, st.Definition, err})
			continue
		}
		err = pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
			if err := control.MoveWindow(ctx, tx, st.ID, opens, closes, now); err != nil {
				return err
			}
			if opens != nil && opens.After(now) || st.State != control.SourceAvailable {
				return nil
			}
			return control.RetryUnavailable(ctx, tx, st.ID, now) // nobody has seen it open
		})
		if err != nil {
			return err
		}
	}
	return s.takeOut(ctx, bad)
}

// endMaintenance makes sources available again whose maintenance is over.
func (s *Scheduler) endMaintenance(ctx context.Context) error {
	now := s.deps.Now()
	over, err := control.EndedMaintenance(ctx, s.deps.Pool, now)
	if err != nil || len(over) == 0 {
		return err
	}
	return pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		return sourcestate.EndMaintenance(ctx, tx, s.deps.Outbox, now)
	})
}

// setBack has nothing wait for moments that our clock will come to again only because it
// was ahead when they were written.
func (s *Scheduler) setBack(ctx context.Context) error {
	var by time.Duration
	err := pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) (err error) {
		by, err = control.WaitNoLonger(ctx, tx, s.deps.Now())
		return err
	})
	if err == nil && by > 0 {
		s.deps.Log.Warn("our clock was set back since the last session was opened: what waited for a moment that now lies ahead waits no longer", "by", by.Round(time.Second))
	}
	return err
}
