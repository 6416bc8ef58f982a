package tracker

import (
	"context"
	"strconv"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
)

// sourceRevision is a source as one event tells it.
type sourceRevision struct {
	source         string
	revision       int64
	state, message string
	definition     string
	declared       bool
	at             time.Time
}

// revision keeps how a source was from then on. An overrun changes nothing of it, and
// programs of before told no definition.
func (f *fold) revision(e *schemas.StatusChanged, now time.Time) {
	definition := e.Attributes["definition"]
	if definition == "" || e.Note == schemas.NoteOverrun {
		return
	}
	r := sourceRevision{source: e.Source, revision: e.Revision, state: e.Attributes["state"], message: e.Message, definition: definition, declared: e.Attributes["declared"] != "false", at: now}
	// The id follows from all of it, so that rows add up in any order, whoever claims
	// a revision.
	f.revisions[key("source_revision", r.source, strconv.FormatInt(r.revision, 10), r.state, r.message, r.definition, strconv.FormatBool(r.declared), r.at.Format(time.RFC3339Nano))] = r
}

// writeRevisions writes them as they were told: no event adds to another's.
func (f *fold) writeRevisions(ctx context.Context, s *store) error {
	if len(f.revisions) == 0 {
		return nil
	}
	rows := pg.Rows{Values: make([][]any, 0, len(f.revisions))}
	for _, id := range ids(f.revisions) {
		r := f.revisions[id]
		rows.Add("id", id, "file_source_id", [16]byte(key("source", r.source)), "revision", r.revision, "state_id", resourceState(r.state),
			"declared", r.declared, "definition", r.definition, "message", orNull(r.message), "created", r.at)
	}
	s.oldRows("source_revision", rows.Values) // told again they are the same, and nobody looks
	return s.upsert(ctx, "source_revision", rows)
}
