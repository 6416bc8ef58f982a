package insert

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/backoff"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// operate does what people asked for, and notes what became of it. Only an
// error of the warehouse itself is returned.
func (w *writer) operate(ctx context.Context, it *item) error {
	var message string
	var failure, err error
	switch it.ev.What {
	case schemas.PositionUnload:
		message, err = w.unload(ctx, it)
	case schemas.PositionReference:
		message, failure, err = w.loadReference(ctx, it)
	case schemas.PositionCheck:
		message, err = w.checkAgain(ctx, it)
	}
	if err != nil {
		return err
	}
	state := OutcomeDone
	if failure != nil {
		state, message = OutcomeFailed, failure.Error()
		w.in.deps.Log.Warn("an operation has failed", "what", it.ev.What, "operation", it.ev.Batch, "position", it.ev.Position, "error", failure)
	}
	return pg.Exec(ctx, w.tx, "note the operation's outcome", `INSERT INTO warehouse.operation_outcome (operation, position, state, message) VALUES ($1, $2, $3, $4)
		ON CONFLICT (operation) DO UPDATE SET position = $2, state = $3, message = $4`, operationID(it.ev.Batch), it.ev.Position, state, pg.Text(message))
}

// operationID is the operation's id, or what follows from it where it is no
// UUID.
func operationID(id string) string {
	if u, err := uuid.Parse(id); err == nil {
		return u.String()
	}
	return schemas.ID("operation", id)
}

// unload retracts one version of a file, in all its runs: its documents, also
// those that come later, are withdrawn, and what it had withdrawn is not.
func (w *writer) unload(ctx context.Context, it *item) (string, error) {
	ev := it.ev
	if _, err := w.tx.Exec(ctx, "INSERT INTO warehouse.unload (position, file, archive) VALUES ($1, $2, $3)", ev.Position, ev.File, ev.Archive); err != nil {
		return "", fmt.Errorf("note the unload: %w", err)
	}
	turned, err := w.turn(ctx, map[string]struct{}{ev.File: {}})
	if err != nil {
		return "", err
	}
	if err := w.elect(ctx, nil, turned.positions()); err != nil {
		return "", err
	}
	message := fmt.Sprintf("version %s of %s is unloaded: %d loaded documents were retracted, %d that it had superseded hold again",
		ev.Archive, it.subject(), len(turned.fallen), len(turned.restored))
	// About the file, without a phase: the tracker goes on showing how it
	// fared, and people read in its history that it was retracted.
	e := &schemas.StatusChanged{Scope: ev.Scope, FileRef: ev.FileRef, DocumentRef: schemas.DocumentRef{Archive: ev.Archive}, Entity: schemas.EntityFile,
		Note: "unloaded", Message: message, Position: ev.Position, StartedAt: at(w.applied), FinishedAt: at(w.in.now()),
		Attributes: map[string]string{"operation": ev.Batch, "retracted": strconv.Itoa(len(turned.fallen)), "restored": strconv.Itoa(len(turned.restored))}}
	e.Centre = centreOf(ev)
	return message, w.emit(it, ev.File, "unload", e)
}

// allChecks is the name in warehouse.recheck that stands for all checks: those
// of the profile at the batch end, which may be another by then.
const allChecks = ""

// checkAgain has every check judge all current records of a centre again, at
// the batch end that follows.
func (w *writer) checkAgain(ctx context.Context, it *item) (string, error) {
	centre := centreOf(it.ev)
	if _, err := w.tx.Exec(ctx, "INSERT INTO warehouse.recheck (centre, test) VALUES ($1, $2) ON CONFLICT DO NOTHING", centre, allChecks); err != nil {
		return "", fmt.Errorf("ask for checks to be done again: %w", err)
	}
	return fmt.Sprintf("the records of %s are judged again by %d checks", centre, len(w.in.deps.Statements.Checks)), nil
}

// The states of an operation that has been applied.
const (
	OutcomeDone   = "done"
	OutcomeFailed = "failed" // it has changed nothing
)

// Outcome is what became of an operation.
type Outcome struct {
	Position int64
	State    string // OutcomeDone or OutcomeFailed
	Message  string // for people
}

// ReadOutcome returns what became of an operation; nil if it hasn't been
// applied yet.
func ReadOutcome(ctx context.Context, warehouse pg.Querier, operation string) (*Outcome, error) {
	var o Outcome
	err := warehouse.QueryRow(ctx, "SELECT position, state, message FROM warehouse.operation_outcome WHERE operation = $1", operation).Scan(&o.Position, &o.State, &o.Message)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the outcome of operation %s: %w", operation, err)
	}
	return &o, nil
}

// awaitPause is how often AwaitOperation asks.
const awaitPause = 100 * time.Millisecond

// AwaitOperation waits until an operation that was requested has been ordered
// and applied, with the batch ends that follow it, and returns what became of
// it. It waits as long as ctx lets it: members with the roles sequence, publish
// and insert must be running.
func AwaitOperation(ctx context.Context, controls, warehouse pg.Querier, operation string) (Outcome, error) {
	for range backoff.Every(ctx, awaitPause) {
		o, err := applied(ctx, controls, warehouse, operation)
		if err == nil && o != nil {
			return *o, nil
		}
		if err != nil && ctx.Err() == nil {
			return Outcome{}, err
		}
	}
	return Outcome{}, fmt.Errorf("wait for operation %s: %w", operation, context.Cause(ctx))
}

// applied returns what became of an operation once all its positions are
// applied; nil before.
func applied(ctx context.Context, controls, warehouse pg.Querier, operation string) (*Outcome, error) {
	op, err := control.ReadOperation(ctx, controls, operation)
	if err != nil || op.LastPosition == 0 {
		return nil, err
	}
	at, err := AppliedPosition(ctx, warehouse)
	if err != nil || at < op.LastPosition {
		return nil, err
	}
	o, err := ReadOutcome(ctx, warehouse, operation)
	if err == nil && o == nil {
		err = fmt.Errorf("operation %s was applied at position %d by a member that notes no outcomes", operation, op.Position)
	}
	return o, err
}
