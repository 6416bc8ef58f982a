package sequence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// releaseOperations gives what people asked for its place in the order, in the
// order in which they asked.
func (s *Sequencer) releaseOperations(ctx context.Context, epoch int64, now time.Time) (released bool, err error) {
	for {
		next, err := control.NextOperation(ctx, s.Pool, false)
		if err != nil || next == nil {
			return released, err
		}
		if err := s.releaseOperation(ctx, epoch, now); err != nil {
			return released, err
		}
		released = true
	}
}

// releaseOperation orders the first operation, and behind it the end of a batch
// without documents for every domain that it concerns, so that its findings,
// context and overview follow it.
func (s *Sequencer) releaseOperation(ctx context.Context, epoch int64, now time.Time) error {
	return pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.deps.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		next, err := control.LockPosition(ctx, tx)
		if err != nil {
			return err
		}
		op, err := control.NextOperation(ctx, tx, true)
		if err != nil || op == nil {
			return err
		}
		var concerned []string
		if op.What == schemas.PositionUnload || op.What == schemas.PositionCheck {
			concerned = []string{op.Domain}
		}
		domains, err := control.NumberDomains(ctx, tx, concerned...)
		if err != nil {
			return err
		}
		out := []schemas.Message{positionMessage(operationPosition(*op, next.Next), now)}
		last := next.Next
		for _, d := range domains {
			last++
			b := control.Batch{ID: op.ID, Run: op.Run, Domain: d.Domain, Number: d.Number}
			out = append(out, positionMessage(batchEnd(b, false, 0, last), now), batchEvent(b, false, 0, last, now))
		}
		if op.RequestedBy != "" && op.What != schemas.PositionCheck { // which is the replay's
			out = append(out, operationEvent(*op))
		}
		if err := control.ReleaseOperation(ctx, tx, op.ID, next.Next, last); err != nil {
			return err
		}
		s.deps.Log.Info("operation released", "what", op.What, "operation", op.ID, "position", next.Next, "domains", len(domains))
		return control.AppendPositions(ctx, tx, s.deps.Outbox, next, out...)
	})
}

// operationEvent tells who ordered an operation, when and why.
func operationEvent(op control.Operation) schemas.Message {
	o := operationPosition(op, 0)
	key, subject, done := o.File, o.Action+"/"+o.FileName, "ordered to be unloaded"
	if op.What == schemas.PositionReference {
		key, subject, done = op.Name, "reference "+op.Name, "ordered to be loaded"
	}
	return schemas.Message{
		ID: schemas.EventID(stageName, schemas.LiveRun, op.ID, schemas.EntityOperation), Topic: schemas.StatusChangedTopic,
		Key: key, Stage: stageName, Subject: subject, Time: op.RequestedAt,
		Body: &schemas.StatusChanged{
			Scope: o.Scope, FileRef: o.FileRef, DocumentRef: schemas.DocumentRef{Archive: o.Archive, Entry: o.Entry}, Entity: schemas.EntityOperation, Note: op.What,
			Message: control.Decision{By: op.RequestedBy, Reason: op.Reason}.Said(done), Attributes: map[string]string{"by": op.RequestedBy, "reason": op.Reason, "operation": op.ID},
		},
	}
}

// operationPosition is what the warehouse is told of an operation: all that it
// needs, so that a rebuild needs no control database. What a replay asked for is of
// its run, and so is the batch behind.
func operationPosition(op control.Operation, position int64) *schemas.DocumentOrdered {
	o := &schemas.DocumentOrdered{Scope: schemas.Scope{Run: op.Run, Centre: op.Domain}, Position: position, What: op.What, Batch: op.ID, Domain: op.Domain}
	switch op.What {
	case schemas.PositionUnload:
		o.FileRef = schemas.FileRef{File: schemas.FileID(op.Action, op.File), FileName: op.File, Action: op.Action}
		o.Archive = op.Archive
	case schemas.PositionReference:
		o.Entry, o.Archive, o.FileName = op.Name, op.Blob, op.File
	}
	return o
}
