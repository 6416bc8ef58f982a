package report

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas/exception"
)

// SourceErrors are the errors of one class that polls of a source and fetches from it
// met since it became available the last time.
type SourceErrors struct {
	Source     string           `json:"source"`
	Class      string           `json:"class"`
	Bit        int              `json:"bit"` // of the mask that the distributed crawler keeps
	Errors     int64            `json:"errors"`
	First      time.Time        `json:"first"`
	Last       time.Time        `json:"last"`
	Exceptions map[string]int64 `json:"exceptions"` // how many, by name

	named []string // as people read them
}

// sourceError is how often a source met one exception.
type sourceError struct {
	Source, Exception string
	Errors            int64
	First, Last       time.Time
}

// SourceErrorList calls each with the errors of every source, or of the one that is
// named, by source and bit. A named one that the tracker doesn't know is an
// UnknownError.
func SourceErrorList(ctx context.Context, q pg.Querier, source string, each func(SourceErrors) error) error {
	return orKnown(ctx, q, Filter{Source: source}, each, func(each func(SourceErrors) error) error {
		var now string
		byClass := map[string]*SourceErrors{}
		flush := func() error {
			for _, c := range exception.Classes() {
				if e := byClass[c.Name]; e != nil {
					if err := each(*e); err != nil {
						return err
					}
				}
			}
			clear(byClass)
			return nil
		}
		var names []string
		for _, c := range exception.Classes() {
			names = append(names, c.Exceptions...)
		}
		err := stream(ctx, q, "errors of sources", sourceErrorsSQL, []any{source, names}, func(e sourceError) error {
			c, counts := exception.ClassOf(e.Exception)
			if !counts {
				return nil
			}
			if e.Source != now {
				if err := flush(); err != nil {
					return err
				}
				now = e.Source
			}
			sum := byClass[c.Name]
			if sum == nil {
				sum = &SourceErrors{Source: e.Source, Class: c.Name, Bit: c.Bit, First: e.First, Last: e.Last, Exceptions: map[string]int64{}}
				byClass[c.Name] = sum
			}
			sum.add(e)
			return nil
		})
		if err != nil {
			return err
		}
		return flush()
	})
}

func (s *SourceErrors) add(e sourceError) {
	s.Errors += e.Errors
	s.Exceptions[e.Exception] = e.Errors
	s.named = append(s.named, e.Exception+" "+strconv.FormatInt(e.Errors, 10))
	if e.First.Before(s.First) {
		s.First = e.First
	}
	if e.Last.After(s.Last) {
		s.Last = e.Last
	}
}

// sourceErrorsSQL begins with the attempts that failed in a way that counts, which are
// few of all, and looks up where each was tried: a source hosts far more. OFFSET 0 keeps
// Postgres from reading that instead.
const sourceErrorsSQL = `WITH x AS (SELECT id, short_name FROM tracker.an_exception WHERE short_name = ANY($2)),
	tried AS MATERIALIZED (
		SELECT h.file_source_id, d.exception_id, d.last_update AS at FROM tracker.zip_download d
			CROSS JOIN LATERAL (SELECT h.file_source_id FROM tracker.file_source_has_zip h WHERE h.id = d.zf_id OFFSET 0) h
		WHERE d.exception_id = ANY(ARRAY(SELECT id FROM x)) AND ($1 = '' OR h.file_source_id = (SELECT id FROM tracker.file_source WHERE short_name = $1)))
	SELECT s.short_name AS source, x.short_name AS exception, count(*) AS errors, min(e.at) AS first, max(e.at) AS last
	FROM tracker.file_source s
	CROSS JOIN LATERAL (SELECT coalesce(max(r.created), '-infinity') AS since FROM (
		SELECT r.created, t.short_name AS state, lag(t.short_name) OVER (ORDER BY r.revision, r.created) AS before
		FROM tracker.source_revision r JOIN tracker.resource_state t ON t.id = r.state_id WHERE r.file_source_id = s.id) r
		WHERE r.state = 'available' AND r.before IS DISTINCT FROM 'available') c
	CROSS JOIN LATERAL (
		SELECT t.exception_id, coalesce(t.finish_time, t.last_update) AS at FROM tracker.poll_task t WHERE t.file_source_id = s.id AND t.exception_id IS NOT NULL
		UNION ALL
		SELECT exception_id, at FROM tried WHERE file_source_id = s.id) e
	JOIN x ON x.id = e.exception_id
	WHERE e.at >= c.since AND ($1 = '' OR s.short_name = $1)
	GROUP BY 1, 2 ORDER BY s.short_name COLLATE "C", x.short_name COLLATE "C"`

// SourceErrorsHeader names the cells of a source's errors.
func SourceErrorsHeader() []string {
	return []string{"source", "class", "bit", "errors", "first", "last", "exceptions"}
}

// Cells are the errors as SourceErrorsHeader orders them.
func (s SourceErrors) Cells() []string {
	return []string{s.Source, s.Class, strconv.Itoa(s.Bit), strconv.FormatInt(s.Errors, 10), moment(&s.First), moment(&s.Last), strings.Join(s.named, ", ")}
}
