package sequence

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// endSession gives the end of a session its position, behind all its batches.
func (s *Sequencer) endSession(ctx context.Context, epoch int64, session control.Session, now time.Time) error {
	return pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		next, err := control.LockPosition(ctx, tx)
		if err != nil {
			return err
		}
		ended, err := control.EndSession(ctx, tx, session.ID, next)
		if err != nil || !ended {
			return err
		}
		if err := control.SetPosition(ctx, tx, next+1); err != nil {
			return err
		}
		return s.Outbox.Append(ctx, tx, positionMessage(&schemas.DocumentOrdered{
			Scope:    schemas.Scope{Run: schemas.LiveRun, Session: session.ID},
			Position: next, What: schemas.PositionSession, Number: session.Number,
		}, now))
	})
}

// closeSessions closes the sessions whose end the warehouse has applied.
func (s *Sequencer) closeSessions(ctx context.Context, epoch int64, now time.Time) (bool, error) {
	applied, err := s.Applied(ctx)
	if err != nil {
		return false, err
	}
	var closed []control.Session
	err = pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		if closed, err = control.CloseSessions(ctx, tx, applied, now); err != nil {
			return err
		}
		var out []schemas.Message
		for _, c := range closed {
			out = append(out, closedEvent(c, now))
		}
		return s.Outbox.Append(ctx, tx, out...)
	})
	return len(closed) > 0, err
}

func closedEvent(c control.Session, now time.Time) schemas.Message {
	st := schemas.Done
	if c.Failed {
		st = schemas.Failed
	}
	return schemas.Message{
		ID: schemas.EventID(stageName, schemas.LiveRun, c.ID, "session_closed"), Topic: schemas.StatusChangedTopic,
		Key: c.ID, Stage: stageName, Subject: "session " + strconv.FormatInt(c.Number, 10), Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: schemas.LiveRun, Session: c.ID}, Entity: schemas.EntitySession,
			Status: string(st), Number: c.Number, StartedAt: &c.OpenedAt, FinishedAt: &now,
		},
	}
}
