package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
)

// SourceRevision is a source as it was from one change to the next.
type SourceRevision struct {
	Source     string    `json:"source"`
	Revision   int64     `json:"revision"`
	At         time.Time `json:"at"`
	State      *string   `json:"state"`
	Declared   bool      `json:"declared"`   // by a configuration; else a person defined it
	Message    *string   `json:"message"`    // who changed it, and why, where a person did
	Definition string    `json:"definition"` // JSON with the keys of the configuration
	Changed    string    `json:"changed"`    // which keys differ from the revision before
}

// revisionSQL reads revisions of a source, in the columns of SourceRevision.
const revisionSQL = `SELECT s.short_name, r.revision, r.created, t.short_name, r.declared, r.message, r.definition, ''
		FROM tracker.source_revision r JOIN tracker.file_source s ON s.id = r.file_source_id LEFT JOIN tracker.resource_state t ON t.id = r.state_id
		WHERE s.short_name = $1 `

// SourceRevisions calls each with how the source was from time to time, the oldest
// first. One that the tracker doesn't know is an UnknownError.
func SourceRevisions(ctx context.Context, q pg.Querier, source string, each func(SourceRevision) error) error {
	before := "{}"
	return orKnown(ctx, q, Filter{Source: source}, each, func(each func(SourceRevision) error) error {
		return stream(ctx, q, "revisions of a source", revisionSQL+"ORDER BY r.revision, r.created", []any{source}, func(r SourceRevision) error {
			r.differ(before)
			before = r.Definition
			return each(r)
		})
	})
}

// SourceRevisionPage is a page of how the source was from time to time, the newest first,
// that goes on after the Next of the page before; empty: from the newest. A source that
// the tracker doesn't know is an UnknownError.
func SourceRevisionPage(ctx context.Context, q pg.Querier, source, after string, limit int) (p Page[SourceRevision], err error) {
	revision, created, err := revisionKey(after)
	if err != nil {
		return p, err
	}
	if err := Known(ctx, q, "", source); err != nil {
		return p, err
	}
	limit = max(1, min(limit, MaxPage))
	rows, err := list[SourceRevision](ctx, q, "revisions of a source", revisionSQL+`AND ($2::bigint IS NULL OR (r.revision, r.created) < ($2, $3::timestamptz))
		ORDER BY r.revision DESC, r.created DESC LIMIT $4`, source, revision, created, limit+1)
	for i := range rows {
		before := "{}"
		if i+1 < len(rows) {
			before = rows[i+1].Definition
		}
		rows[i].differ(before)
	}
	if p.Rows = rows; len(rows) > limit {
		p.Rows = rows[:limit]
		p.Next = fmt.Sprintf("%d@%s", rows[limit-1].Revision, rows[limit-1].At.UTC().Format(time.RFC3339Nano))
	}
	return p, err
}

// revisionKey reads the key of a revision; nil: there is none.
func revisionKey(after string) (revision *int64, created *time.Time, err error) {
	if after == "" {
		return nil, nil, nil
	}
	number, moment, _ := strings.Cut(after, "@")
	n, err := strconv.ParseInt(number, 10, 64)
	at, wrong := time.Parse(time.RFC3339Nano, moment)
	if err != nil || wrong != nil || at.Year() < 1 || at.Year() > 9999 {
		return nil, nil, &FilterError{"after", after[:min(len(after), 60)], "it is not where a page of this list ends: begin with the first one"}
	}
	return &n, &at, nil
}

// differ says in which keys the revision differs from the one before.
func (r *SourceRevision) differ(before string) {
	var err error
	if r.Changed, err = config.Difference(before, r.Definition); err != nil {
		r.Changed = "the definition can't be read"
	}
}

// SourceRevisionHeader names the cells of a revision.
func SourceRevisionHeader() []string {
	return []string{"revision", "at", "state", "by", "changed"}
}

// Cells are the revision as SourceRevisionHeader orders it.
func (r SourceRevision) Cells() []string {
	by := text(r.Message)
	if by == "" && r.Declared {
		by = "the configuration"
	}
	return []string{strconv.FormatInt(r.Revision, 10), moment(&r.At), text(r.State), by, r.Changed}
}
