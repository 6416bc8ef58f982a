package insert

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

// batchEnd checks the data of a batch, and of what the batch changed for
// others, and brings context and overview up to date.
func (w *writer) batchEnd(ctx context.Context, it *item) error {
	centre := centreOf(it.ev)
	started := w.in.now()
	documents, err := pg.List(ctx, w.tx, "documents of the batch", pgx.RowTo[int64], "SELECT position FROM warehouse.document WHERE batch = $1 AND state = 'loaded'", it.ev.Batch)
	if err != nil {
		return err
	}
	judged, err := w.judge(ctx, centre)
	if err != nil {
		return err
	}
	whole := make(map[int64]bool, len(documents)) // of others, checks judged what changed
	for _, position := range documents {
		whole[position] = true
	}
	documents = append(documents, judged...)
	steps := [3]span{{started, w.in.now()}, {}, {}}
	for i, statements := range [][]warehouse.Statement{w.in.deps.Statements.Context, w.in.deps.Statements.Overview} {
		begun := w.in.now()
		for _, s := range statements {
			var args []any
			if s.OfCentre() {
				args = []any{centre}
			}
			if _, err := w.tx.Exec(ctx, s.SQL, args...); err != nil {
				return fmt.Errorf("%s: %w", s.File, err)
			}
		}
		steps[i+1] = span{begun, w.in.now()}
	}
	if _, err := w.tx.Exec(ctx, "DELETE FROM warehouse.changed WHERE centre = $1", centre); err != nil {
		return fmt.Errorf("end the batch: %w", err)
	}
	slices.Sort(documents)
	documents = slices.Compact(documents)
	for part := range slices.Chunk(documents, eventChunk) {
		if err := w.checked(ctx, it, part, steps, whole); err != nil {
			return err
		}
	}
	return w.batchEnded(ctx, it)
}

// span is when a step began and ended.
type span struct{ from, to time.Time }

// numberChecks numbers the checks of the documents $1.
const numberChecks = `INSERT INTO warehouse.data_check AS c (position, checks) SELECT unnest($1::bigint[]), 1
	ON CONFLICT (position) DO UPDATE SET checks = c.checks + 1 RETURNING position, checks`

// checked numbers the check of documents and tells its result. What is told of
// many documents goes to the outbox at once, so that it isn't all in memory.
func (w *writer) checked(ctx context.Context, it *item, documents []int64, steps [3]span, whole map[int64]bool) error {
	if !w.in.target.first {
		_, err := w.tx.Exec(ctx, numberChecks, documents)
		return err
	}
	errs, totals, err := w.openFindings(ctx, documents)
	if err != nil {
		return err
	}
	all, err := pg.List(ctx, w.tx, "number the data checks", pgx.RowToStructByNameLax[schemas.StatusChanged], `WITH checked AS (`+numberChecks+`)
		SELECT position, run, session, source, centre, file, file_name, action, file_date, file_inc, document, entry, entry_ordinal AS ordinal,
			kind, doc_centre, doc_date, doc_inc, attempt, download || '/' || unzip AS outcome, rows, checks AS check
		FROM checked JOIN warehouse.document USING (position)`, documents)
	if err != nil {
		return err
	}
	events := make(map[int64]schemas.StatusChanged, len(all))
	for _, e := range all {
		e.Entity = schemas.EntityDocument
		events[e.Position] = e
	}
	for _, position := range documents {
		version := ""
		if w.all || whole[position] {
			version = w.checkedBy()
		}
		if err := w.tellChecked(it, events[position], errs[position], totals[position], steps, version); err != nil {
			return err
		}
	}
	return w.spill(ctx)
}

// openFindings returns the open errors of documents, the first of each and
// their number.
func (w *writer) openFindings(ctx context.Context, documents []int64) (map[int64][]schemas.ErrorDetail, map[int64]int32, error) {
	errs, totals := map[int64][]schemas.ErrorDetail{}, map[int64]int32{}
	var position int64
	var total int32
	var e schemas.ErrorDetail
	for err := range pg.Each(ctx, w.tx, "open findings", []any{&position, &e.Line, &e.Column, &e.Exception, &e.Message, &total}, `SELECT position, line, col, test, message, total FROM (
			SELECT position, line, col, test, message, ordinal, count(*) OVER (PARTITION BY position) AS total,
				row_number() OVER (PARTITION BY position ORDER BY line, col, ordinal, test) AS n
			FROM warehouse.finding WHERE position = ANY($1) AND open AND level = 'error') f
		WHERE n <= $2 ORDER BY position, n`, documents, maxErrors) {
		if err != nil {
			return nil, nil, err
		}
		errs[position], totals[position] = append(errs[position], e), total
	}
	return errs, totals, nil
}
