package asof

import (
	"context"
	"fmt"
	"time"

	"tributary/internal/pg"
)

// Kinds of changes between two moments.
const (
	New      = "new"      // it was not there, or not shown
	Moved    = "moved"    // it stands at another (phase, status, exception)
	Replaced = "replaced" // it shows another version, wherever it stands
	Gone     = "gone"     // a document that is not shown any more: its file shows another attempt or version without it
)

// Stand is where a file or document stands. Absent values are nil.
type Stand struct {
	Phase     string  `json:"phase"`
	Status    string  `json:"status"`
	Exception *string `json:"exception"`
	Version   *string `json:"version"` // sha256 of the file's bytes
}

// Change is how one file or document changed.
type Change struct {
	Kind     string  `json:"kind"` // file or document
	Change   string  `json:"change"`
	File     string  `json:"file"`
	Action   string  `json:"action"`
	Document *string `json:"document"` // nil: the file itself
	Centre   *string `json:"centre"`   // that produced the file
	From     *Stand  `json:"from"`     // nil if it is new
	To       *Stand  `json:"to"`       // nil if it is gone
}

// Count is how many files or documents changed in one way.
type Count struct {
	Kind   string `json:"kind"`
	Change string `json:"change"`
	From   *Stand `json:"from"` // without the version, which is each one's own
	To     *Stand `json:"to"`
	Count  int64  `json:"count"`
}

// Difference is what changed between two moments.
type Difference struct {
	From, To time.Time
	Filled   Filled
	Counts   []Count

	past *past
}

// Diff lets tell read what changed in a scope after one moment and up to a
// later one.
func (r *Reader) Diff(ctx context.Context, from, to time.Time, s Scope, tell func(*Difference) error) error {
	if !from.Before(to) {
		return fmt.Errorf("nothing can change from %s to %s: the first moment must be before the second", from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	}
	return r.with(ctx, false, func(p *past) error {
		d := &Difference{From: from, To: to, past: p}
		var err error
		if d.Filled, err = p.filled(ctx); err != nil {
			return err
		}
		if s == (Scope{}) {
			s.Name = "*" // sessions and batches are not compared
		}
		parts := changed(s.parts(to), from, to)
		if err := p.limit(ctx, parts); err != nil {
			return err
		}
		before, after := make([]part, len(parts)), make([]part, len(parts))
		for i, x := range parts {
			before[i] = x.and("time <= "+microseconds, from.UnixMicro())
			after[i] = x.and("time > "+microseconds, from.UnixMicro())
		}
		if err := p.fill(ctx, before); err != nil {
			return err
		}
		if err := p.keep(ctx); err != nil {
			return err
		}
		if err := p.fill(ctx, after); err != nil {
			return err
		}
		if err := p.compare(ctx, s); err != nil {
			return err
		}
		if err := d.count(ctx); err != nil {
			return err
		}
		return tell(d)
	})
}

// keep keeps where everything stands, before more is added.
func (p *past) keep(ctx context.Context) error {
	for _, sql := range []string{
		`CREATE TEMP TABLE before_file AS SELECT file, action, centre, phase_id, phase, status_id, status, exception, version FROM tracker.file`,
		`CREATE TEMP TABLE before_document AS SELECT file, action, document, centre, phase_id, phase, status_id, status, exception, version FROM tracker.document`,
		`ANALYZE before_file, before_document`,
	} {
		if _, err := p.Exec(ctx, sql); err != nil {
			return fmt.Errorf("keep where everything stands: %w", err)
		}
	}
	return nil
}

// compare puts what has changed into a table.
func (p *past) compare(ctx context.Context, s Scope) error {
	const sides = `a.phase_id AS from_phase_id, a.phase AS from_phase, a.status_id AS from_status_id, a.status AS from_status, a.exception AS from_exception, a.version AS from_version,
		b.phase_id AS to_phase_id, b.phase AS to_phase, b.status_id AS to_status_id, b.status AS to_status, b.exception AS to_exception, b.version AS to_version,
		CASE WHEN a.file IS NULL THEN 'new' WHEN b.file IS NULL THEN 'gone' WHEN a.version <> b.version THEN 'replaced' ELSE 'moved' END AS change`
	const differ = `(a.phase, a.status, a.exception) IS DISTINCT FROM (b.phase, b.status, b.exception) OR a.version <> b.version`
	if _, err := p.Exec(ctx, `CREATE TEMP TABLE change AS
		SELECT 'file' AS kind, file, action, NULL::text AS document, coalesce(b.centre, a.centre) AS centre, `+sides+`
			FROM before_file a FULL JOIN tracker.file b USING (file, action) WHERE `+differ+`
		UNION ALL
		SELECT 'document', file, action, document, coalesce(b.centre, a.centre), `+sides+`
			FROM before_document a FULL JOIN tracker.document b USING (file, action, document) WHERE `+differ); err != nil {
		return fmt.Errorf("compare the two moments: %w", err)
	}
	if s.Centre != "" { // names may be read that another centre has too
		if _, err := p.Exec(ctx, "DELETE FROM change WHERE lower(centre) IS DISTINCT FROM lower($1)", s.Centre); err != nil {
			return fmt.Errorf("compare the two moments: %w", err)
		}
	}
	return nil
}

func (d *Difference) count(ctx context.Context) error {
	var c Count
	var from, to stand
	targets := append(append([]any{&c.Kind, &c.Change}, from.targets()...), to.targets()...)
	for err := range pg.Each(ctx, d.past, "count what changed", append(targets, &c.Count), `SELECT kind, change, from_phase, from_status, from_exception, NULL::text, to_phase, to_status, to_exception, NULL::text, count(*)
		FROM change GROUP BY kind, change, from_phase_id, from_phase, from_status_id, from_status, from_exception, to_phase_id, to_phase, to_status_id, to_status, to_exception
		ORDER BY kind DESC, change COLLATE "C", from_phase_id NULLS FIRST, from_status_id, from_exception COLLATE "C" NULLS FIRST,
			to_phase_id NULLS FIRST, to_status_id, to_exception COLLATE "C" NULLS FIRST`) {
		if err != nil {
			return err
		}
		c.From, c.To = from.stand(), to.stand()
		d.Counts = append(d.Counts, c)
	}
	return nil
}

// Changes calls each with every change, by kind, file, action and document, at
// most limit of them (0: all), and stops at its first error.
func (d *Difference) Changes(ctx context.Context, limit int, each func(Change) error) error {
	return d.list(ctx, Narrowed{}, nil, limit, each)
}

// list lists what passes n, after the change that has the key.
func (d *Difference) list(ctx context.Context, n Narrowed, key []string, limit int, each func(Change) error) error {
	var most any
	if limit > 0 {
		most = limit
	}
	after := []any{nil, nil, nil, nil}
	for i, k := range key {
		after[i] = k
	}
	var c Change
	var from, to stand
	targets := append(append([]any{&c.Kind, &c.Change, &c.File, &c.Action, &c.Document, &c.Centre}, from.targets()...), to.targets()...)
	for err := range pg.Each(ctx, d.past, "list what changed", targets, `SELECT kind, change, file, action, document, centre, from_phase, from_status, from_exception, from_version,
			to_phase, to_status, to_exception, to_version
		FROM change WHERE ($2 = '' OR kind = $2) AND ($3 = '' OR change = $3)
			AND ($4::text IS NULL OR kind < $4 OR kind = $4 AND (file COLLATE "C", action COLLATE "C", coalesce(document, '') COLLATE "C") > ($5::text, $6::text, $7::text))
		ORDER BY kind DESC, file COLLATE "C", action COLLATE "C", document COLLATE "C" LIMIT $1`, append([]any{most, n.Kind, n.Change}, after...)...) {
		if err != nil {
			return err
		}
		c.From, c.To = from.stand(), to.stand()
		if err := each(c); err != nil {
			return err
		}
	}
	return nil
}

// stand is a Stand as it is scanned: all is absent where it was not there.
type stand struct{ phase, status, exception, version *string }

func (s *stand) targets() []any { return []any{&s.phase, &s.status, &s.exception, &s.version} }

func (s *stand) stand() *Stand {
	if s.phase == nil || s.status == nil {
		return nil
	}
	return &Stand{Phase: *s.phase, Status: *s.status, Exception: s.exception, Version: s.version}
}
