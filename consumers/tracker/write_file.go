package tracker

import (
	"cmp"
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
func (f *fold) writeFiles(ctx context.Context, s *store) error {
	if len(f.files) == 0 {
		return nil
	}
	if err := f.lockFiles(ctx, s); err != nil {
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
	rows := pg.Rows{Values: make([][]any, 0, len(f.files))}
	for _, id := range ids(f.files) {
		if err := fileRow(&rows, id, f.files[id], attempts[id]); err != nil {
			return err
		}
	}
	return s.upsert(ctx, "zip_action", rows)
}

// lockFiles makes the rows of files where there are none, locks all, and adds
// what they remember.
func (f *fold) lockFiles(ctx context.Context, s *store) error {
	keys := ids(f.files)
	names := make([][16]byte, len(keys))
	todo := make([]int16, len(keys))
	for i, id := range keys {
		names[i] = key("zip_file", f.files[id].Name)
		todo[i] = int16(f.files[id].Todo)
	}
	if err := s.target.reserve(ctx, s, schemas.Numbered(`INSERT INTO tracker.zip_action (id, zip_id, todo_id, phase_id, status_id, attempts, created, last_update, merge)
		SELECT id, zip, todo, {phase zip_name}, {status pending}, 0, 'infinity', '-infinity', '{}' FROM unnest($1::uuid[], $2::uuid[], $3::smallint[]) AS n(id, zip, todo)
		ON CONFLICT DO NOTHING`), keys, names, todo); err != nil {
		return fmt.Errorf("make rows of tracker.zip_action: %w", err)
	}
	return merge(ctx, s, "zip_action", f.files)
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

// writeAttempts writes the changed attempts and why they failed.
func (f *fold) writeAttempts(ctx context.Context, s *store, attempts map[uuid.UUID][]attemptRow) error {
	var rows, logs pg.Rows
	for _, all := range attempts {
		for _, r := range all {
			if !r.changed {
				continue
			}
			text, err := remembered(r.state)
			if err != nil {
				return err
			}
			downloadRow(&rows, r, text)
			before := len(logs.Values)
			logRows(&logs, r)
			if !s.target.fresh("zip_download", r.id) {
				s.oldRows("zip_log", logs.Values[before:])
			}
		}
	}
	byID := func(a, b []any) int {
		x, y := a[0].([16]byte), b[0].([16]byte) //nolint:forcetypeassert // downloadRow and logRows begin with the id
		return slices.Compare(x[:], y[:])
	}
	slices.SortFunc(rows.Values, byID)
	slices.SortFunc(logs.Values, byID)
	if err := s.upsert(ctx, "zip_download", rows); err != nil {
		return err
	}
	return s.upsert(ctx, "zip_log", logs)
}

func downloadRow(to *pg.Rows, r attemptRow, text string) {
	a, is := r.state, r.shown
	first, got, unzipped := a.accepted(0, 1), a.accepted(1, 1), a.accepted(2, 2)
	progressed := a.running()
	var hosting, documents, received, soFar, rate any
	if !progressed.At.IsZero() {
		soFar, rate = progressed.Bytes, progressed.Rate
	}
	if a.Source != "" {
		hosting = [16]byte(hostingID(uuid.MustParse(a.File), a.Source))
	}
	open := r.children.Open
	if n, ok := a.documents(); ok {
		documents = n
		open += max(n-r.children.Known, 0)
	}
	if a.Final.Phase != 0 {
		open = 0 // nothing waits for them
	}
	if got.SHA256 != "" {
		received = timeOrNull(got.Finished)
	}
	to.Add("id", [16]byte(r.id), "za_id", [16]byte(uuid.MustParse(a.File)), "zf_id", hosting, "run", [16]byte(uuid.MustParse(a.Run)),
		"attempt", a.Number, "repeats", orNull(a.Repeats), "session_id", idOrNull("session", a.Session), "phase_id", is.Phase,
		"status_id", is.Status, "exception_id", uuidOrNull(is.Exception), "message", orNull(is.Message), "note", orNull(a.notes()),
		"accepted", orNull(a.Accepted), "version", orNull(got.SHA256), "content_md5", orNull(got.MD5), "size_bytes", orNull(a.Listed),
		"look", orNull(a.Look), "downloaded_size_bytes", cmp.Or(got.Bytes, first.Bytes), "request", timeOrNull(a.Requested),
		"started", timeOrNull(first.Started), "received", received, "unzipped", timeOrNull(unzipped.Finished), "documents", documents,
		"documents_known", r.children.Known, "documents_open", open, "documents_failed", r.children.Failed,
		"unzip_version", orNull(unzipped.Step.Version), "progress_bytes", soFar, "progress_rate", rate,
		"progress_at", timeOrNull(progressed.At), "resumed_from", orNull(got.From), "request_head", orNull(got.Request), "response_head", orNull(got.Response), "created", a.First, "last_update", latest(a.First, a.Last), "merge", text)
}

// logRows adds the failures and cancellations of an attempt, whether accepted
// or not. What has ended stays so, so no row has to go.
func logRows(to *pg.Rows, r attemptRow) {
	row := func(outcome string, judged bool, x step) {
		by := "stage"
		if judged {
			by = "control"
		}
		to.Add("id", [16]byte(key("zip_log", r.id.String(), outcome, by)), "zip_id", [16]byte(r.id),
			"exception_id", [16]byte(key("exception", cmp.Or(x.Exception, unnamed))), "message", orNull(x.Message), "phase_id", x.Phase,
			"status_id", x.Status, "outcome", outcome, "judged", judged, "last_update", x.At)
	}
	for key, o := range r.state.Outcomes {
		if o.Step.ended() {
			row(key, false, o.Step)
		}
	}
	if r.state.Final.ended() {
		row("", true, r.state.Final)
	}
}
