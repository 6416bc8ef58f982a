package report

import (
	"context"
	"strconv"
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

// SourceRevisions calls each with how the source was from time to time, the oldest
// first. One that the tracker doesn't know is an UnknownError.
func SourceRevisions(ctx context.Context, q pg.Querier, source string, each func(SourceRevision) error) error {
	before := "{}"
	return orKnown(ctx, q, Filter{Source: source}, each, func(each func(SourceRevision) error) error {
		return stream(ctx, q, "revisions of a source", `SELECT s.short_name, r.revision, r.created, t.short_name, r.declared, r.message, r.definition, ''
			FROM tracker.source_revision r JOIN tracker.file_source s ON s.id = r.file_source_id LEFT JOIN tracker.resource_state t ON t.id = r.state_id
			WHERE s.short_name = $1 ORDER BY r.revision, r.created`, []any{source}, func(r SourceRevision) error {
			var err error
			if r.Changed, err = config.Difference(before, r.Definition); err != nil {
				r.Changed = "the definition can't be read"
			}
			before = r.Definition
			return each(r)
		})
	})
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
