package insert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
)

// writer is the work of one transaction. Positions gather until something
// depends on them, so that many small documents cost one COPY per table.
type writer struct {
	in      *Inserter
	tx      pgx.Tx
	applied time.Time

	loads       []*item // to be written, in order
	withdrawals []*item // that follow them

	shared     []mapping.ID     // claims loaded on keys that have others, or that say that there are
	records    []schemas.Record // for the outbox
	rows       int64
	candidates bool // whether the table of records to be judged is there
	all        bool // whether all records of the centre are judged
}

// apply does what a position asks for.
func (w *writer) apply(ctx context.Context, it *item) error {
	switch it.ev.What {
	case schemas.PositionDocument:
		if len(w.withdrawals) > 0 {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
		if it.large() {
			if err := w.flush(ctx); err != nil {
				return err
			}
			return w.loadLarge(ctx, it)
		}
		w.loads = append(w.loads, it)
	case schemas.PositionVersion:
		w.withdrawals = append(w.withdrawals, it)
	case schemas.PositionBatchEnd:
		if err := w.flush(ctx); err != nil {
			return err
		}
		return w.due(ctx, it)
	case hollow:
		// It holds its position, and does nothing.
	case schemas.PositionSession:
		// Control sees by the position that the session's end has been
		// reached, and closes the session.
	case schemas.PositionUnload, schemas.PositionReference, schemas.PositionCheck:
		if err := w.flush(ctx); err != nil {
			return err
		}
		return w.operate(ctx, it)
	default:
		return fmt.Errorf("a position of the unknown kind %q: upgrade this member", it.ev.What)
	}
	return nil
}

// flush writes what has gathered, and settles what is current.
func (w *writer) flush(ctx context.Context) error {
	loads, withdrawals := w.loads, w.withdrawals
	w.loads, w.withdrawals = nil, nil
	if len(loads) > 0 {
		if err := w.loadAll(ctx, loads); err != nil {
			return err
		}
	}
	if len(loads) == 0 && len(withdrawals) == 0 {
		return nil
	}
	return w.settle(ctx, loads, withdrawals, nil)
}

// copyFrom writes lines in COPY's text format, by a statement.
func (w *writer) copyFrom(ctx context.Context, lines io.Reader, sql string) (pgconn.CommandTag, error) {
	return w.tx.Conn().PgConn().CopyFrom(ctx, lines, w.in.target.SQL(sql))
}

// verdict is a document's outcome at the upload.
func (w *writer) verdict(ctx context.Context, it *item) (*mapping.DocumentError, error) {
	if !it.load() {
		return nil, nil
	}
	if failure := w.in.target.verdict(it); failure != nil {
		return failure, nil
	}
	if tries, err := w.in.tries(ctx, w.tx, it.ev.Position); err != nil {
		return nil, err
	} else if tries > maxTries {
		return &mapping.DocumentError{Exception: quarantined,
			Message: fmt.Sprintf("work on the document was begun %d times and never ended: it may have crashed whoever loaded it", tries-1)}, nil
	}
	return nil, nil
}

// loadAll writes documents behind one savepoint. If the database refuses a row,
// which no check before could see, they are written one by one, and the one
// that is refused has failed.
func (w *writer) loadAll(ctx context.Context, items []*item) error {
	if len(items) == 1 && items[0].load() && items[0].done.failure == nil {
		failure, err := w.verdict(ctx, items[0])
		if err != nil {
			return err
		}
		if failure != nil {
			items[0].done = &prepared{failure: failure}
		}
	}
	err := w.savepoint(ctx, func() error { return w.copyAll(ctx, items) })
	refused := refusal(err)
	switch {
	case refused == nil:
		return err
	case len(items) > 1:
		for i := range items {
			if err := w.loadAll(ctx, items[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case items[0].hollow:
		// What can't even be said of it is lost, too: it must not stop insertion.
		w.in.deps.Log.Warn("the warehouse refuses the row of a document that is passed over; it goes on without it", "position", items[0].ev.Position, "error", err)
		return w.uploaded(items[0], 0, items[0].done.failure)
	case !items[0].load() || items[0].done.failure != nil:
		return err
	}
	items[0].done = &prepared{failure: refused}
	return w.loadAll(ctx, items)
}

// refusal returns what is wrong with a document whose rows the database
// refused; nil if err is nothing of the kind.
func refusal(err error) *mapping.DocumentError {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || len(pe.Code) < 2 || !slices.Contains([]string{"22", "23", "54"}, pe.Code[:2]) {
		return nil
	}
	return &mapping.DocumentError{Exception: "row_refused", Message: fmt.Sprintf("the warehouse refuses a row of the document: %s (table %s, SQLSTATE %s)", pe.Message, pe.TableName, pe.Code)}
}

func (w *writer) savepoint(ctx context.Context, fn func() error) error {
	records, rows, shared := len(w.records), w.rows, len(w.shared)
	if _, err := w.tx.Exec(ctx, "SAVEPOINT document"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	err := fn()
	if err == nil {
		_, err = w.tx.Exec(ctx, "RELEASE SAVEPOINT document")
		return err
	}
	w.records, w.rows, w.shared = w.records[:records], rows, w.shared[:shared]
	if _, rerr := w.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT document"); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// copyAll writes the rows of documents, a COPY per table.
func (w *writer) copyAll(ctx context.Context, items []*item) error {
	var contents []*content
	var documents pg.Rows
	for _, it := range items {
		var failure *mapping.DocumentError
		if it.done != nil {
			failure = it.done.failure
			if it.done.content != nil {
				contents = append(contents, it.done.content)
			}
		}
		rows := it.done.rows()
		documentRow(&documents, it, rows, failure)
		if err := w.uploaded(it, rows, failure); err != nil {
			return err
		}
		w.rows += rows
		if it.ev.Action != schemas.Add && it.done != nil && it.done.content != nil {
			// An edit or a deletion of what nobody knows is a finding.
			for _, r := range it.done.content.records {
				w.shared = append(w.shared, r.claim)
			}
		}
	}
	shared, err := w.copyContents(ctx, contents)
	if err != nil {
		return err
	}
	w.shared = append(w.shared, shared...)
	return w.copyDocuments(ctx, documents)
}
