package centrereport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
)

// Read makes the report. It asks the tracker and the warehouse, and changes
// neither. A centre that the tracker doesn't know is ErrNoCentre.
func Read(ctx context.Context, tracker, warehouse pg.Querier, o Options) (*Report, error) {
	d := DefaultLimits()
	for _, l := range []struct{ have, want *int }{{&o.Limits.Files, &d.Files}, {&o.Limits.Documents, &d.Documents}, {&o.Limits.Errors, &d.Errors}, {&o.Limits.Lines, &d.Lines}} {
		if *l.have <= 0 {
			*l.have = *l.want
		}
	}
	r := &reader{tracker: tracker, warehouse: warehouse, o: o, out: &Report{Made: o.Now}}
	if !o.Since.IsZero() {
		r.out.Since = &o.Since
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"the centre", r.centre}, {"the counts", r.counts}, {"the warehouse's counts", r.held}, {"the centre's sources", r.sources}, {"where its files lie", r.hostings},
		{"files with findings", r.withFindings}, {"files with errors", r.problems}, {"documents with errors", r.documents}, {"errors", r.errors},
		{"findings", r.findings}, {"where documents stand", r.complete}, {"pending files", r.pending}, {"loaded files", r.loaded}, {"the phases", r.phases},
	} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("report of %s: read %s: %w", o.Centre, step.what, err)
		}
	}
	r.explain()
	return r.out, nil
}

// reader gathers a report.
type reader struct {
	tracker, warehouse pg.Querier
	o                  Options
	out                *Report

	ids       []string       // of Problems
	at        map[string]int // place in Problems, by id
	byName    map[fileKey]int
	flagged   []fileKey              // files with findings that are wrong
	byID      map[string]documentKey // place of listed documents, by the tracker's id
	positions map[int64]documentKey  // likewise, by position
	beyond    []int64                // positions with findings that are not listed
	lines     int                    // errors listed
}

type fileKey struct{ File, Action string }

type documentKey struct{ file, document int }

// asked is what was done where a store can't answer.
const asked = "ask about the centre"

// query calls each for every row, which has columns by the names of T's fields.
func query[T any](ctx context.Context, q pg.Querier, each func(T), sql string, args ...any) error {
	return pg.Stream(ctx, q, asked, pgx.RowToStructByNameLax[T], func(row T) error {
		each(row)
		return nil
	}, schemas.Numbered(sql), args...)
}

// list returns the rows, which have the fields of T in order.
func list[T any](ctx context.Context, q pg.Querier, sql string, args ...any) ([]T, error) {
	return pg.List(ctx, q, asked, pgx.RowToStructByPos[T], schemas.Numbered(sql), args...)
}

func (r *reader) centre(ctx context.Context) error {
	err := r.tracker.QueryRow(ctx, `SELECT short_name, coalesce(full_name, ''), coalesce(email, '') FROM tracker.centre WHERE lower(short_name) = lower($1)
		ORDER BY short_name <> $1, short_name LIMIT 1`, r.o.Centre).Scan(&r.out.Centre, &r.out.FullName, &r.out.Email)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: list those known with `tributary centres`", ErrNoCentre)
	}
	return err
}

// mine are the centre's files ($1) about which something happened since $2:
// those that it has produced, and those with unreadable names that only its own
// sources show.
const mine = `WITH mine AS (SELECT * FROM tracker.file f WHERE (f.centre = $1 OR f.centre IS NULL AND EXISTS (
		SELECT FROM tracker.file_source_has_zip h JOIN tracker.file_source s ON s.id = h.file_source_id JOIN tracker.centre c ON c.id = s.centre_id
		WHERE h.za_id = f.id AND c.short_name = $1))
	AND ($2::timestamptz IS NULL OR f.last_update >= $2)) `

// moment is a time of the tracker, which knows none for some rows.
const moment = `CASE WHEN isfinite(last_update) THEN last_update ELSE '0001-01-01Z' END`

func (r *reader) counts(ctx context.Context) (err error) {
	if r.out.Files, err = list[report.Count](ctx, r.tracker, mine+`SELECT phase, status, count(*) FROM mine GROUP BY phase_id, phase, status_id, status ORDER BY phase_id, status_id`,
		r.out.Centre, r.out.Since); err != nil {
		return err
	}
	r.out.Documents, err = list[report.Count](ctx, r.tracker, mine+`SELECT d.phase, d.status, count(*) FROM mine JOIN tracker.document d ON d.file_id = mine.id
		GROUP BY d.phase_id, d.phase, d.status_id, d.status ORDER BY d.phase_id, d.status_id`, r.out.Centre, r.out.Since)
	return err
}

// held counts what the warehouse holds of the centre, whenever it was loaded.
func (r *reader) held(ctx context.Context) (err error) {
	if r.out.Records, err = list[RecordCount](ctx, r.warehouse, `SELECT record_type, count(*) FROM warehouse.claim WHERE centre = $1 AND is_current GROUP BY 1 ORDER BY 1`, r.out.Centre); err != nil {
		return err
	}
	r.out.Findings, err = list[FindingCount](ctx, r.warehouse, `SELECT test, level, sum(findings)::bigint FROM warehouse.finding_count WHERE centre = $1 GROUP BY 1, 2 HAVING sum(findings) > 0
		ORDER BY array_position(ARRAY['error','warn','info'], level), 1`, r.out.Centre)
	return err
}

func (r *reader) sources(ctx context.Context) error {
	return report.Sources(ctx, r.tracker, func(s report.Source) error {
		if s.Centre != nil && *s.Centre == r.out.Centre {
			r.out.Sources = append(r.out.Sources, s)
		}
		return nil
	})
}

// hostings count the centre's files by the source that shows them.
func (r *reader) hostings(ctx context.Context) (err error) {
	r.out.Hostings, err = list[Hosting](ctx, r.tracker, mine+`SELECT s.short_name, coalesce(c.short_name, ''), c.short_name IS NOT DISTINCT FROM $1 AS own, count(*) FILTER (WHERE h.state = 'present'),
			count(*) FILTER (WHERE mine.source = s.short_name AND mine.version IS NOT NULL), count(*) FILTER (WHERE h.note = 'centre_not_hosted_here')
		FROM mine JOIN tracker.file_source_has_zip h ON h.za_id = mine.id JOIN tracker.file_source s ON s.id = h.file_source_id LEFT JOIN tracker.centre c ON c.id = s.centre_id
		WHERE mine.centre = $1 GROUP BY s.short_name, c.short_name ORDER BY own DESC, s.short_name COLLATE "C"`, r.out.Centre, r.out.Since)
	return err
}

func (r *reader) pending(ctx context.Context) error {
	if err := r.tracker.QueryRow(ctx, mine+`SELECT count(*) FROM mine WHERE NOT ended`, r.out.Centre, nil).Scan(&r.out.PendingLeft); err != nil {
		return err
	}
	var err error
	if r.out.Pending, err = report.PendingOf(ctx, r.tracker, r.out.Centre, r.o.Limits.Files); err != nil {
		return err
	}
	r.out.PendingLeft = max(0, r.out.PendingLeft-int64(len(r.out.Pending)))
	return nil
}

// loaded lists the files all of whose documents went in and were found good.
func (r *reader) loaded(ctx context.Context) error {
	return query(ctx, r.tracker, func(l struct {
		Loaded
		All int64
	}) {
		r.out.Loaded = append(r.out.Loaded, l.Loaded)
		r.out.LoadedLeft = l.All - int64(len(r.out.Loaded))
	}, mine+`SELECT file, action, coalesce(documents_known, 0)::bigint AS documents,
			coalesce((SELECT sum(d.rows_loaded) FROM tracker.document d WHERE d.file_id = mine.id), 0)::bigint AS rows, `+moment+` AS last, count(*) OVER () AS all
		FROM mine WHERE phase_id >= {phase overview} AND status = 'done' ORDER BY last_update DESC, file COLLATE "C", action LIMIT $3`, r.out.Centre, r.out.Since, r.o.Limits.Files)
}

func (r *reader) phases(ctx context.Context) error {
	return query(ctx, r.tracker, func(p struct{ Name, Description string }) {
		r.out.Phases = append(r.out.Phases, Meaning{p.Name, Advice{Meaning: p.Description}})
	}, `SELECT short_name AS name, description FROM tracker.phase ORDER BY id`)
}

// explain gathers the names that the report mentions and what they mean.
func (r *reader) explain() {
	if r.o.Explain == nil {
		return
	}
	seen := map[string]bool{}
	mention := func(name string) {
		if name == "" || seen[name] {
			return
		}
		seen[name] = true
		if a := r.o.Explain(name); a != (Advice{}) {
			r.out.Meanings = append(r.out.Meanings, Meaning{name, a})
		}
	}
	for _, s := range r.out.Sources {
		if s.Exception != nil {
			mention(*s.Exception)
		}
	}
	for _, h := range r.out.Hostings {
		if h.Refused > 0 {
			mention("centre_not_hosted_here")
		}
	}
	for _, f := range r.out.Findings {
		mention(f.Test)
	}
	for _, f := range r.out.Problems {
		mention(f.Exception)
		// What a judgement rests on begins its message.
		if cause, _, ok := strings.Cut(f.Message, ": "); ok {
			mention(cause)
		}
		for _, d := range f.Documents {
			for _, e := range d.Errors {
				mention(e.Name)
			}
		}
	}
	slices.SortFunc(r.out.Meanings, func(a, b Meaning) int { return cmp.Compare(a.Name, b.Name) })
}

// day is a date for people.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
