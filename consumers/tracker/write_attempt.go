package tracker

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"tributary/internal/pg"
)

// writeAttempts writes the changed attempts and why they failed.
func (f *fold) writeAttempts(ctx context.Context, s *store, attempts map[uuid.UUID][]attemptRow) error {
	var logs pg.Rows
	changed := map[uuid.UUID]attemptRow{}
	for _, all := range attempts {
		for _, r := range all {
			if !r.changed {
				continue
			}
			changed[r.id] = r
			before := len(logs.Values)
			logRows(&logs, r)
			if !s.target.fresh("zip_download", r.id) {
				s.oldRows("zip_log", logs.Values[before:])
			}
		}
	}
	keys := ids(changed)
	if err := s.write(ctx, "zip_download", keys, func(i int, to *pg.Rows) error {
		r := changed[keys[i]]
		text, err := remembered(r.state)
		if err != nil {
			return err
		}
		downloadRow(to, r, text)
		return nil
	}); err != nil {
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
