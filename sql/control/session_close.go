package control

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// CloseSession closes a session; false if another did.
func CloseSession(ctx context.Context, tx pgx.Tx, id string, now time.Time) (bool, error) {
	n, err := pg.Changed(ctx, tx, "close session", "UPDATE control.session SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL", id, now)
	return n == 1, err
}

// CloseEmpty closes the session of a poll that has ended in the transaction, if all its
// polls have, none of them failed, and nothing that they found is in a batch, or comes into
// one: the order then holds nothing of it, and its end needs no position there but as the
// Heartbeat. One round that a person waits for has one, since it ends behind all that was
// ordered before. It returns nil where the session is not closed by this.
func CloseEmpty(ctx context.Context, tx pgx.Tx, p Poll, now time.Time) (*Session, error) {
	return pg.Maybe(ctx, tx, "close the session of a poll of "+p.Source, scanSession, `UPDATE control.session s SET closed_at = $2
		WHERE s.id = $1 AND NOT s.once AND s.polls_ended_at IS NOT NULL AND s.closed_at IS NULL AND s.end_position IS NULL
		  AND NOT EXISTS (SELECT FROM control.poll p WHERE p.session = s.id AND p.state NOT IN ('complete', 'minimal'))
		  AND NOT EXISTS (`+openLooks+`)
		  AND NOT EXISTS (SELECT FROM control.batch b WHERE b.session = s.id)
		  AND EXISTS (SELECT FROM control.position o WHERE o.given_at > $3 AND o.given_at <= $2)
		RETURNING s.id::text, s.number, s.opened_at, '', ARRAY[]::text[]`, p.Session, now, now.Add(-Heartbeat))
}

// Closed is the event that tells that a stage has closed the session.
func (s Session) Closed(stage string, now time.Time) schemas.Message {
	st := schemas.Done
	if s.Failed != "" {
		st = schemas.Failed
	}
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, s.ID, "session_closed"), Topic: schemas.StatusChangedTopic,
		Key: s.ID, Stage: stage, Subject: "session " + strconv.FormatInt(s.Number, 10), Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: schemas.LiveRun, Session: s.ID}, Entity: schemas.EntitySession,
			Phase: s.Failed, Status: string(st), Number: s.Number, StartedAt: &s.OpenedAt, FinishedAt: &now,
		},
	}
}
