package insert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"tributary/internal/mapping"
)

// chunk is a part of a document's rows on their way to one table.
type chunk struct {
	table *mapping.Table
	lines []byte
}

// loadLarge writes a document while it is read, behind a savepoint of its own:
// it never is in memory as a whole.
func (w *writer) loadLarge(ctx context.Context, it *item) error {
	failure, err := w.verdict(ctx, it)
	if err != nil {
		return err
	}
	var rows int64
	if failure == nil {
		err = w.savepoint(ctx, func() error {
			if rows, err = w.stream(ctx, it); err != nil {
				return err
			}
			return w.duplicates(ctx, it)
		})
		if failure = refusal(err); failure == nil && !errors.As(err, &failure) {
			if errors.Is(err, errPanic) {
				failure = poison(err)
			} else if err != nil {
				return err
			}
		}
	}
	if failure != nil {
		rows = 0
	}
	if err := w.copyDocuments(ctx, appendDocument(nil, it, rows, failure)); err != nil {
		return err
	}
	if err := w.uploaded(it, rows, failure); err != nil {
		return err
	}
	w.rows += rows
	return w.settle(ctx, []*item{it}, nil)
}

// stream reads in one goroutine and writes in this one.
func (w *writer) stream(ctx context.Context, it *item) (int64, error) {
	var rows int64
	chunks := make(chan chunk, 2)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(chunks)
		var err error
		rows, err = w.in.chunked(ctx, it, chunks)
		return err
	})
	var failed error
	for c := range chunks {
		if failed == nil {
			if failed = w.copy(ctx, c.table, bytes.NewReader(c.lines)); failed != nil {
				group.Go(func() error { return failed }) // ends the reading
			}
		}
	}
	return rows, group.Wait()
}

// chunked reads a document and sends its rows in chunks of one table each.
func (in *Inserter) chunked(ctx context.Context, it *item, chunks chan<- chunk) (int64, error) {
	var rows int64
	tables := make([][]byte, len(in.d.Mapping.Tables))
	send := func(t *mapping.Table) error {
		c := chunk{t, tables[t.Index]}
		tables[t.Index] = nil
		select {
		case chunks <- c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := in.readDocument(ctx, it, func(row *mapping.Row) error {
		rows++
		i := row.Table.Index
		if tables[i] == nil {
			tables[i] = make([]byte, 0, 64<<10)
		}
		if tables[i] = append(tables[i], row.Line...); len(tables[i]) >= chunkBytes {
			return send(row.Table)
		}
		return nil
	})
	if err != nil {
		return rows, err
	}
	for _, t := range in.d.Mapping.Tables {
		if len(tables[t.Index]) > 0 {
			if err := send(t); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// duplicates finds keys that a large document claims twice. The database counts
// them, since their number has no bound that memory could be planned for.
func (w *writer) duplicates(ctx context.Context, it *item) error {
	for _, t := range w.in.claims {
		var line, column int
		var found bool
		err := w.tx.QueryRow(ctx, fmt.Sprintf(`SELECT coalesce(min(line), 0), coalesce(min(col), 0), count(*) > 0 FROM (
			SELECT line, col, row_number() OVER (PARTITION BY claim ORDER BY ordinal) AS n FROM warehouse.%s WHERE position = $1) x
			WHERE n = 2`, t.Name), it.ev.Position).Scan(&line, &column, &found)
		if err != nil {
			return fmt.Errorf("look for repeated keys in %s: %w", t.Name, err)
		}
		if found {
			return duplicate(strings.ReplaceAll(t.Name, "_", " "), "see the line", line, column)
		}
	}
	return nil
}
