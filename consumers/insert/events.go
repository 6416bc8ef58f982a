package insert

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// emit adds an event to the transaction.
func (w *writer) emit(cause *item, key, kind string, body *schemas.StatusChanged, ordinal ...string) error {
	if !w.in.target.first {
		return nil // it was told when it was done first
	}
	now := w.in.now().UTC()
	r, err := w.in.deps.Codec.Encode(schemas.Message{
		ID: schemas.EventID(Stage, cause.ev.Run, cause.id, kind, ordinal...), Topic: schemas.StatusChangedTopic, Key: key, Stage: Stage,
		Subject: subjectOf(body), Time: now, Traceparent: cause.trace, Body: body,
	})
	if err != nil {
		return fmt.Errorf("tell of %s: %w", kind, err)
	}
	w.records = append(w.records, r)
	return nil
}

func subjectOf(e *schemas.StatusChanged) string {
	if e.FileName == "" {
		return e.Centre
	}
	return e.Action + "/" + e.FileName
}

// spill moves the events gathered so far to the outbox.
func (w *writer) spill(ctx context.Context) error {
	records := w.records
	w.records = nil
	return outbox.Append(ctx, w.tx, warehouse.Schema, records)
}

// uploaded tells that a document was loaded, or why not. One that had failed
// before was told of by who judged it.
func (w *writer) uploaded(it *item, rows int64, failure *mapping.DocumentError) error {
	if !it.load() {
		return nil
	}
	ev := it.ev
	e := &schemas.StatusChanged{
		Scope: ev.Scope, FileRef: ev.FileRef, DocumentRef: ev.Named(), DocumentName: ev.DocumentName,
		Entity: schemas.EntityDocument, Attempt: ev.Attempt, Outcome: ev.Download + "/" + ev.Unzip,
		FileDate: ev.FileDate, FileInc: ev.FileInc,
		Phase: string(schemas.Upload), Status: string(schemas.Done), Rows: rows, Bytes: ev.Size, Position: ev.Position,
		StartedAt: at(w.applied), FinishedAt: at(w.in.now()), VersionOf: w.in.deps.Versions.Of(string(schemas.Upload), ev.Kind),
	}
	e.Centre = centreOf(ev)
	if failure != nil {
		e.Status, e.Exception, e.Message, e.Rows, e.ErrorsTotal = string(schemas.Failed), failure.Exception, failure.Message, 0, 1
		e.Errors = []schemas.ErrorDetail{{Line: int32(failure.Line), Column: int32(failure.Column), Exception: failure.Exception, Message: failure.Message}}
	}
	return w.emit(it, ev.File, "upload", e)
}

// tellChecked tells how a document's data was judged: that it failed, or that
// it was found good and that context and overview know it, in one event.
// The version is empty unless all of the document was judged.
func (w *writer) tellChecked(it *item, e schemas.StatusChanged, errs []schemas.ErrorDetail, total int32, steps [3]span, version string) error {
	phases := [3]schemas.Phase{schemas.Data, schemas.Context, schemas.Overview}
	last := len(phases) - 1
	e.Status = string(schemas.Done)
	if total > 0 {
		last = 0
		e.Status, e.Exception, e.Message, e.Errors, e.ErrorsTotal = string(schemas.Failed), errs[0].Exception, errs[0].Message, errs, total
	}
	for i := range last {
		e.Passed = append(e.Passed, schemas.PassedPhase{Phase: string(phases[i]), StartedAt: at(steps[i].from), FinishedAt: at(steps[i].to), VersionOf: version})
	}
	e.Phase, e.StartedAt, e.FinishedAt = string(phases[last]), at(steps[last].from), at(steps[last].to)
	e.VersionOf = version
	return w.emit(it, e.File, "checked", &e, strconv.FormatInt(e.Position, 10))
}

// checkedBy is the version of what judges at batch ends.
func (w *writer) checkedBy() string { return w.in.deps.Versions.Of(string(schemas.Data), "") }

// batchEnded tells that a batch's end has been reached, what is odd in the centre's data
// by then, and, where all records of the centre were checked, by what: most of their
// documents are not told of.
func (w *writer) batchEnded(ctx context.Context, it *item) error {
	if !w.in.target.first {
		return nil
	}
	odd, err := w.oddities(ctx, centreOf(it.ev))
	if err != nil {
		return err
	}
	e := &schemas.StatusChanged{Scope: it.ev.Scope, Entity: schemas.EntityBatch, Status: string(schemas.Done), Number: it.ev.Number,
		Rows: int64(it.ev.Documents), Position: it.ev.Position, StartedAt: at(w.applied), FinishedAt: at(w.in.now()), Attributes: odd}
	e.Centre = centreOf(it.ev)
	if w.all {
		e.VersionOf = w.checkedBy()
	}
	return w.emit(it, e.Centre, "batch", e)
}

// oddities counts the open findings of a centre that make no document fail, as attributes:
// how many there are in all, and how many each check has of them. Errors are told of with
// their documents.
func (w *writer) oddities(ctx context.Context, centre string) (map[string]string, error) {
	out, all := map[string]string{}, int64(0)
	var level, check string
	var n int64
	for err := range pg.Each(ctx, w.tx, "count the findings", []any{&level, &check, &n}, `SELECT level, test, sum(findings)::bigint FROM warehouse.finding_count
		WHERE centre = $1 AND level <> 'error' GROUP BY 1, 2 HAVING sum(findings) > 0`, centre) {
		if err != nil {
			return nil, err
		}
		out[level+schemas.FindingsOf+check] = strconv.FormatInt(n, 10)
		all += n
	}
	out[schemas.Findings] = strconv.FormatInt(all, 10)
	return out, nil
}

func at(t time.Time) *time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
