package restore

import (
	"context"
	"maps"
	"slices"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// decided takes what a person has decided about a document: the last decision counts.
func (s *state) decided(e *schemas.StatusChanged) {
	if schemas.QualityStatus(e.Note) == "" || e.Entry == "" || e.SHA256 == "" {
		return // as the tracker does
	}
	id := schemas.QualityID(schemas.FileID(e.Action, e.FileName), e.Entry, e.SHA256)
	if s.quality[id].Revision < e.Revision {
		s.quality[id] = control.Quality{ID: id, Decision: e.Note, Revision: e.Revision}
	}
}

// quality writes what was decided about documents, so that what is decided next counts.
func (w *writer) quality(ctx context.Context) error {
	var out pg.Rows
	for _, id := range slices.Sorted(maps.Keys(w.s.quality)) {
		q := w.s.quality[id]
		out.Add("id", q.ID, "decision", q.Decision, "revision", q.Revision)
	}
	return w.copyAll(ctx, table{"quality", out})
}
