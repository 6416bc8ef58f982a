package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// sessions writes sessions and how their polls ended. The polls of those that
// are open were lost: the next session lists again.
func (w *writer) sessions(ctx context.Context) error {
	var sessions, polls pg.Rows
	for _, id := range slices.Sorted(maps.Keys(w.s.sessions)) {
		s := w.s.sessions[id]
		ended := w.now
		if s.closed != nil {
			ended = *s.closed
		}
		var end any
		if s.end > 0 {
			end = s.end
		}
		sessions.Add("id", id, "number", s.number, "once", false, "opened_at", s.opened, "polls_ended_at", ended, "end_position", end, "closed_at", s.closed)
	}
	for key, p := range w.s.polls {
		if w.s.sessions[key.session] == nil || w.s.sources[key.source] == nil {
			continue
		}
		polls.Add("id", schemas.ID("poll", p.Session, p.Source), "session", p.Session, "source", p.Source, "server", p.Server, "centre", w.centre(p.Source),
			"state", p.Note, "attempts", p.Attempt, "started_at", p.StartedAt, "ended_at", p.FinishedAt, "exception", p.Exception,
			"message", p.Message)
	}
	w.report.Sessions = len(sessions.Values)
	if err := w.copyAll(ctx, table{"session", sessions}, table{"poll", polls}); err != nil {
		return err
	}
	return w.listings(ctx)
}

// order writes batches and operations.
func (w *writer) order(ctx context.Context) error {
	var batches, domains, operations pg.Rows
	batch := func(id string, session *string, domain string, opened time.Time, number, released, end any, run string, documents int64) {
		batches.Add("id", id, "session", session, "domain", domain, "opened_at", opened, "number", number, "released_at", released, "last_position", end, "run", run, "documents", documents)
	}
	for _, id := range slices.Sorted(maps.Keys(w.s.batches)) {
		b := w.s.batches[id]
		var released, end any // none of one that goes on
		if b.end > 0 {
			released, end = b.at, b.end
		}
		batch(id, pointer(b.session), b.domain, b.at, b.number, released, end, b.run, int64(b.documents))
	}
	for _, id := range slices.Sorted(maps.Keys(w.opened)) {
		o := w.opened[id]
		batch(id, &o.session, o.domain, o.at, nil, nil, nil, schemas.LiveRun, 0)
	}
	for _, name := range slices.Sorted(maps.Keys(w.s.domains)) {
		domains.Add("name", name, "next_number", w.s.domains[name]+1)
	}
	for i, o := range w.s.operations {
		file, archive, blob := o.FileName, o.Archive, ""
		if o.What == schemas.PositionReference {
			archive, blob = "", o.Archive
		}
		operations.Add("id", o.Batch, "run", o.Run, "number", int64(i+1), "what", o.What, "domain", o.Domain, "file", file, "action", o.Action,
			"archive", archive, "name", o.Entry, "blob", blob, "requested_by", "", "reason", "restored from document.ordered", "requested_at", o.at,
			"position", o.Position, "last_position", o.last)
	}
	return w.copyAll(ctx,
		table{"batch", batches},
		table{"domain", domains},
		table{"operation", operations})
}

// before gathers the documents that have positions while their versions go on: what was
// brought is read again, and the rest of it ordered.
func (w *writer) before(versions map[versionKey]*ordered) {
	type key struct {
		versionKey
		document string
	}
	seen := map[key]bool{}
	for _, b := range w.s.batches {
		for v, x := range b.begun {
			if t := w.s.file(v.file).attempts[v.attemptKey]; versions[v] != nil || v.run != schemas.LiveRun || t == nil || !t.finished {
				continue
			}
			for document := range x.documents {
				if k := (key{v, document}); !seen[k] { // parts of it may be in more than one batch, once control was restored before
					seen[k] = true
					w.documents.Add("run", v.run, "file", v.file, "attempt", v.attempt, "download", x.Download, "unzip", x.Unzip, "document", document)
				}
			}
		}
	}
}

// processes writes what fetches files, what it has accepted, and what of that was ordered.
func (w *writer) processes(ctx context.Context) error {
	return w.copyAll(ctx,
		table{"acquisition", w.acquisitions},
		table{"attempt", w.attempts},
		table{"ordered_document", w.documents})
}

// numbers writes what is given next.
func (w *writer) numbers(ctx context.Context) error {
	var session int64
	for _, s := range w.s.sessions {
		session = max(session, s.number)
	}
	steps := []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO control.counter AS c VALUES ('session', $1), ('revision', $2), ('replay', $3) ON CONFLICT (name) DO UPDATE SET value = greatest(c.value, excluded.value)",
			[]any{session, w.s.revision, w.s.number}},
		{"SELECT setval(pg_get_serial_sequence('control.acquisition', 'id'), $1, false)", []any{w.id + 1}},
		{"SELECT setval(pg_get_serial_sequence('control.operation', 'number'), $1, false)", []any{int64(len(w.s.operations)) + 1}},
	}
	for _, step := range steps {
		if _, err := w.tx.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("store what is given next: %w", err)
		}
	}
	return control.SetPosition(ctx, w.tx, w.goesOn())
}

// goesOn is where the order goes on behind what was published.
func (w *writer) goesOn() control.Position {
	next, previous := w.s.head.GoesOn()
	return control.Position{Next: next, Previous: previous}
}
