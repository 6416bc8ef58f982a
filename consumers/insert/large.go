package insert

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
)

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
	var document pg.Rows
	documentRow(&document, it, rows, failure)
	if err := w.copyDocuments(ctx, document); err != nil {
		return err
	}
	if err := w.uploaded(it, rows, failure); err != nil {
		return err
	}
	w.rows += rows
	var whole []int64
	if it.ev.Action != schemas.Add || len(w.shared) > maxShared {
		// Each of its keys says something, or they are too many to name them: all are looked at.
		w.shared, whole = nil, []int64{it.ev.Position}
	}
	return w.settle(ctx, []*item{it}, nil, whole)
}

// stream reads in one goroutine and writes in this one.
func (w *writer) stream(ctx context.Context, it *item) (int64, error) {
	var rows int64
	chunks := make(chan *content) // none waits: one is read while another is written
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(chunks)
		s := &streaming{ctx: ctx, ev: it.ev, tables: len(w.in.deps.Mapping.Tables), chunks: chunks}
		s.content = newContent(s.tables)
		err := w.in.readDocument(ctx, it, s)
		if err == nil {
			err = s.send()
		}
		rows = s.rows
		return err
	})
	var failed error
	for c := range chunks {
		if failed != nil {
			continue
		}
		var shared []mapping.ID
		if shared, failed = w.copyContents(ctx, []*content{c}); failed != nil {
			group.Go(func() error { return failed }) // ends the reading
		}
		if len(w.shared) <= maxShared {
			w.shared = append(w.shared, shared...)
		}
	}
	return rows, group.Wait()
}

// streaming sends a document's rows in chunks of whole records. A record that
// is too large for that is sent in parts, before it is known whether the
// warehouse holds its content.
type streaming struct {
	ctx     context.Context
	ev      *schemas.DocumentOrdered
	tables  int
	chunks  chan<- *content
	content *content
	within  int   // bytes of the record that is being read
	parted  bool  // some of its rows were sent
	rows    int64 // sent
}

func (s *streaming) Row(r *mapping.Row) error {
	s.content.row(r)
	if r.Record > 0 {
		s.within += len(r.Line)
		if s.within <= maxRecord {
			return nil
		}
		s.parted, s.within = true, 0
	} else if s.within > 0 || s.content.size < chunkBytes {
		return nil
	}
	return s.send()
}

func (s *streaming) Record(r *mapping.Record) error {
	s.content.record(s.ev, r, s.parted)
	s.parted, s.within = false, 0
	if s.content.size < chunkBytes {
		return nil
	}
	return s.send()
}

func (s *streaming) send() error {
	c := s.content
	s.content = newContent(s.tables)
	s.rows += c.rows
	select {
	case s.chunks <- c:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// duplicates finds a key that a large document claims twice. The database counts
// them, since their number has no bound that memory could be planned for.
func (w *writer) duplicates(ctx context.Context, it *item) error {
	var table string
	var key []*string
	var line, column, first int
	found := false
	for err := range pg.Each(ctx, w.tx, "look for repeated keys", []any{&table, &key, &line, &column, &first}, `SELECT record_type, natural_key, line, col, first FROM (
			SELECT record_type, natural_key, line, col, ordinal, lag(line) OVER (PARTITION BY claim ORDER BY ordinal) AS first
			FROM warehouse.claim WHERE position = $1) c
		WHERE first IS NOT NULL ORDER BY ordinal LIMIT 1`, it.ev.Position) {
		if err != nil {
			return err
		}
		found = true
	}
	if found {
		return duplicate(table, keyText(key), line, column, first)
	}
	return nil
}
