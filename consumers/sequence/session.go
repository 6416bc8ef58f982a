package sequence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// endSessions gives the ends of sessions their positions that have ended.
func (s *Sequencer) endSessions(ctx context.Context, epoch int64, limits control.Limits, now time.Time) (ended bool, err error) {
	ending, err := control.EndableSessions(ctx, s.Pool, limits)
	if err != nil {
		return false, err
	}
	for _, session := range ending {
		if err := s.endSession(ctx, epoch, session, now); err != nil {
			return false, err
		}
	}
	return len(ending) > 0, nil
}

// endSession gives the end of a session its position, behind all its batches.
func (s *Sequencer) endSession(ctx context.Context, epoch int64, session control.Session, now time.Time) error {
	return pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.deps.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		next, err := control.LockPosition(ctx, tx)
		if err != nil {
			return err
		}
		ended, err := control.EndSession(ctx, tx, session.ID, next.Next)
		if err != nil || !ended {
			return err
		}
		return control.AppendPositions(ctx, tx, s.deps.Outbox, next, positionMessage(&schemas.DocumentOrdered{
			Scope:    schemas.Scope{Run: schemas.LiveRun, Session: session.ID},
			Position: next.Next, What: schemas.PositionSession, Number: session.Number,
		}, now))
	})
}

// closeSessions closes the sessions whose end the warehouse has applied. Each
// tells the earliest phase in which a task of it failed: a poll or a file, as
// control knows, or a document, as the warehouse does.
func (s *Sequencer) closeSessions(ctx context.Context, epoch int64, now time.Time) (bool, error) {
	applied, err := s.deps.Applied(ctx)
	if err != nil {
		return false, err
	}
	ended, err := control.AppliedSessions(ctx, s.Pool, applied)
	if err != nil || len(ended) == 0 {
		return false, err
	}
	for i, c := range ended {
		if c.Failed == "" && s.deps.Failed != nil {
			phase, err := s.deps.Failed(ctx, c.Batches)
			if err != nil {
				return false, err
			}
			ended[i].Failed = string(phase)
		}
	}
	err = pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.deps.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		var out []schemas.Message
		for _, c := range ended {
			closed, err := control.CloseSession(ctx, tx, c.ID, now)
			if err != nil {
				return err
			}
			if closed {
				out = append(out, c.Closed(stageName, now))
			}
		}
		return s.deps.Outbox.Append(ctx, tx, out...)
	})
	return err == nil, err
}
