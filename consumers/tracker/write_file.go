package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"tributary/internal/pg"
	"tributary/schemas"
)

// writeFiles writes files with their hostings, downloads and documents. The
// file's row is locked first: what a file shows is computed from all it has.
// Where there is none, it is added last, and whoever else has added it meanwhile
// is noticed then.
func (f *fold) writeFiles(ctx context.Context, s *store) error {
	if len(f.files) == 0 {
		return nil
	}
	if err := merge(ctx, s, "zip_action", f.files); err != nil {
		return err
	}
	attempts, err := f.loadAttempts(ctx, s)
	if err != nil {
		return err
	}
	if err := f.writeQualities(ctx, s, attempts); err != nil {
		return err
	}
	if err := f.writeDocuments(ctx, s); err != nil {
		return err
	}
	if err := f.rollUpAttempts(ctx, s, attempts); err != nil {
		return err
	}
	if err := f.writeHostings(ctx, s, attempts); err != nil {
		return err
	}
	if err := writeStates(ctx, s, "zip_version", f.versions, func(to *pg.Rows, id uuid.UUID, v *version, text string) {
		to.Add("id", [16]byte(id), "za_id", [16]byte(uuid.MustParse(v.File)), "sha256", v.SHA256, "content_md5", orNull(v.MD5),
			"size_bytes", orNull(v.Size), "received", v.First, "last_update", v.Last, "merge", text)
	}); err != nil {
		return err
	}
	if err := f.writeAttempts(ctx, s, attempts); err != nil {
		return err
	}
	keys := ids(f.files)
	return s.write(ctx, "zip_action", keys, func(i int, to *pg.Rows) error {
		return fileRow(to, keys[i], f.files[keys[i]], attempts[keys[i]])
	})
}

// fileRow adds the row of a file: the attempt it shows, or its own step.
func fileRow(to *pg.Rows, id uuid.UUID, x *file, attempts []attemptRow) error {
	text, err := remembered(x)
	if err != nil {
		return err
	}
	is := show(x.Own)
	var download any
	if a := latestAttempt(attempts); a != nil {
		is, download = a.shown, [16]byte(a.id)
	}
	n := 0
	for _, a := range attempts {
		if a.counts() {
			n++
		}
	}
	to.Add("id", [16]byte(id), "zip_id", [16]byte(key("zip_file", x.Name)), "todo_id", x.Todo, "phase_id", is.Phase, "status_id", is.Status,
		"exception_id", uuidOrNull(is.Exception), "message", orNull(is.Message), "download_id", download, "attempts", n, "created", x.First,
		"last_update", x.Last, "merge", text)
	return nil
}

// loadAttempts reads every attempt of the files at hand and adds what is new.
func (f *fold) loadAttempts(ctx context.Context, s *store) (map[uuid.UUID][]attemptRow, error) {
	out := map[uuid.UUID][]attemptRow{}
	seen := map[uuid.UUID]bool{}
	if err := f.readAttempts(ctx, s, out, seen); err != nil {
		return nil, err
	}
	for id, a := range f.attempts {
		if !seen[id] {
			file := uuid.MustParse(a.File)
			out[file] = append(out[file], attemptRow{id: id, state: a, changed: true})
		}
	}
	return out, nil
}

// readAttempts reads the attempts that have rows, and notes which they are.
func (f *fold) readAttempts(ctx context.Context, s *store, out map[uuid.UUID][]attemptRow, seen map[uuid.UUID]bool) error {
	files := slices.DeleteFunc(ids(f.files), func(id [16]byte) bool { return s.target.fresh("zip_action", id) })
	if len(files) == 0 {
		return nil
	}
	var id, file [16]byte
	var exception *[16]byte
	var text []byte
	var is shown
	for err := range pg.Each(ctx, s.tx, "read tracker.zip_download", []any{&id, &file, &text, &is.Phase, &is.Status, &exception, &is.Message},
		s.sql(`SELECT id, za_id, merge, phase_id, status_id, exception_id, coalesce(message, '')
		FROM tracker.zip_download WHERE za_id = ANY($1) ORDER BY id`), files) {
		if err != nil {
			return err
		}
		is.Exception = (*uuid.UUID)(exception)
		r := attemptRow{id: id, state: &attempt{}, shown: is}
		if err := json.Unmarshal(text, r.state); err != nil {
			return fmt.Errorf("read tracker.zip_download: column merge of %s: %w", uuid.UUID(id), err)
		}
		s.target.found("zip_download", id)
		r.state.File = uuid.UUID(file).String()
		if added, ok := f.attempts[id]; ok {
			added.add(r.state)
			r.state, r.changed = added, true
			seen[id] = true
		}
		out[file] = append(out[file], r)
	}
	return nil
}

// rollUpAttempts computes what the changed attempts show.
func (f *fold) rollUpAttempts(ctx context.Context, s *store, attempts map[uuid.UUID][]attemptRow) error {
	var keys [][16]byte
	var outcomes []string
	fresh := map[string]string{} // new attempts and their outcomes
	for id, a := range f.attempts {
		if parts(a.Accepted) != 2 {
			continue
		}
		if s.target.fresh("zip_download", id) {
			fresh[id.String()] = a.Accepted
			continue
		}
		keys, outcomes = append(keys, id), append(outcomes, a.Accepted)
	}
	sums, err := sumDocuments(ctx, s, keys, outcomes)
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		maps.Copy(sums, f.sumNew(fresh))
	}
	for _, rows := range attempts {
		for i := range rows {
			if r := &rows[i]; r.changed {
				n, known := r.state.documents()
				r.children = sums[r.id]
				r.shown = rollUp(r.state.own(), n, known, r.children)
			}
		}
	}
	return nil
}

// sumDocuments sums up the documents of the given outcomes of attempts.
func sumDocuments(ctx context.Context, s *store, keys [][16]byte, outcomes []string) (map[uuid.UUID]children, error) {
	out := map[uuid.UUID]children{}
	if len(keys) == 0 {
		return out, nil
	}
	var id [16]byte
	var exception *[16]byte
	var least int
	var c children
	for err := range pg.Each(ctx, s.tx, "sum up documents", []any{&id, &c.Known, &c.Failed, &c.Open, &least, &c.FirstFailed.Phase, &exception, &c.FirstFailed.Message}, s.sql(schemas.Numbered(`
		WITH sum AS (
			SELECT x.zip_id, count(*) AS known, count(*) FILTER (WHERE x.status_id = {status failed}) AS failed,
				count(*) FILTER (WHERE x.phase_id < {phase qc} AND (x.status_id < {status done} OR (x.status_id = {status done} AND x.phase_id < {phase overview}))) AS open,
				min(CASE WHEN x.phase_id = {phase qc} AND x.status_id <> {status done} THEN {phase overview} * 10 + {status done} ELSE x.phase_id * 10 + x.status_id END) AS least,
				(array_agg(x.id ORDER BY x.phase_id, x.fname COLLATE "C", x.id) FILTER (WHERE x.status_id = {status failed}))[1] AS first
			FROM unnest($1::uuid[], $2::text[]) AS a(id, outcome)
			JOIN tracker.xml_file AS x ON x.zip_id = a.id AND x.outcome = a.outcome
			GROUP BY x.zip_id)
		SELECT s.zip_id, s.known, s.failed, s.open, s.least, coalesce(x.phase_id, 0), x.exception_id, coalesce(x.message, '')
		FROM sum AS s LEFT JOIN tracker.xml_file AS x ON x.id = s.first`)), keys, outcomes) {
		if err != nil {
			return nil, err
		}
		c.LeastPhase, c.LeastStatus = least/10, least%10
		c.FirstFailed.Status, c.FirstFailed.Exception = failed, (*uuid.UUID)(exception)
		out[id] = c
	}
	return out, nil
}

// writeHostings writes the hostings spoken of, each with its retries.
func (f *fold) writeHostings(ctx context.Context, s *store, attempts map[uuid.UUID][]attemptRow) error {
	tried := map[uuid.UUID]int{}
	for file, rows := range attempts {
		for _, r := range rows {
			if r.state.Source == "" {
				continue
			}
			id := hostingID(file, r.state.Source)
			if r.counts() {
				tried[id]++
			}
			if r.changed && r.state.spoken {
				into(f.hostings, id, &hosting{File: file.String(), Source: r.state.Source})
			}
		}
	}
	return writeStates(ctx, s, "file_source_has_zip", f.hostings, func(to *pg.Rows, id uuid.UUID, h *hosting, text string) {
		to.Add("id", [16]byte(id), "za_id", [16]byte(uuid.MustParse(h.File)), "file_source_id", [16]byte(key("source", h.Source)),
			"num_retries", max(tried[id]-1, 0), "look", h.Look, "state", orNull(h.State), "size_bytes", orNull(h.Size),
			"mod_time", timeOrNull(h.ModTime), "listed_at", timeOrNull(h.Listed), "note", orNull(h.note()), "message", orNull(h.Message), "attributes", mapOrNull(h.attributes()),
			"created", h.First, "last_update", h.Last, "merge", text)
	})
}
