package why_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

// listed is a session in which sources are listed twice, so that what they show
// settles and is taken up by plan. It returns the number of the last session.
func (w *world) listed(sources ...string) int64 {
	w.t.Helper()
	w.open(sources...)
	w.run()
	w.read(true)
	w.Clock = w.Clock.Add(time.Minute)
	n := w.open(sources...)
	w.run()
	w.read(true)
	return n
}

// dispatch has plan request what it can.
func (w *world) dispatch() {
	w.t.Helper()
	if err := w.Dispatch(w.t.Context(), w.Clock); err != nil {
		w.t.Fatal(err)
	}
	w.read(true)
}

// job is the newest request of a file; one of it alone is not asked for again.
func (w *world) job(path string) (*schemas.DownloadRequested, schemas.RequestFile) {
	w.t.Helper()
	for i, j := range slices.Backward(w.jobs) {
		for _, f := range j.Files {
			if f.Path == path {
				if len(j.Files) == 1 {
					w.jobs = append(w.jobs[:i:i], w.jobs[i+1:]...)
				}
				return j, f
			}
		}
	}
	w.t.Fatalf("nobody has requested %s", path)
	return nil, schemas.RequestFile{}
}

// outcome answers the request of a file.
func (w *world) outcome(path string, change func(*schemas.DownloadFinished)) *schemas.DownloadFinished {
	w.t.Helper()
	j, f := w.job(path)
	d := plantest.FetchedOf(j, f, fmt.Sprintf("%x", sha256.Sum256([]byte(path+fmt.Sprint(f.Attempt)))))
	if change != nil {
		change(d)
	}
	w.Read(schemas.DownloadFinishedTopic, d)
	w.read(true)
	return d
}

// progress has a file's download tell how far it is.
func (w *world) progress(path string, received int64) {
	w.t.Helper()
	j, f := w.job(path)
	w.say(&schemas.StatusChanged{Scope: schemas.Scope{Run: j.Run, Session: f.Session, Centre: f.Centre, Source: j.Source}, FileRef: f.FileRef, Entity: schemas.EntityDownload, Server: j.Server,
		Attempt: f.Attempt, FileSize: f.Size, Phase: "download", Status: "running", Attributes: schemas.Progress{Received: received, Rate: 8_000_000}.Attributes()})
}

// failed is an outcome without bytes.
func failed(exception, message string) func(*schemas.DownloadFinished) {
	return func(d *schemas.DownloadFinished) {
		d.Result, d.Outcome, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, exception, "", "download", exception, message
	}
}

// unzipped is a good archive with so many documents.
func (w *world) unzipped(d *schemas.DownloadFinished, documents int32) {
	w.t.Helper()
	w.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, documents))
	w.read(true)
}

// judge stores verdicts of documents as sequence does, from the first on: how each ended.
func (w *world) judge(d *schemas.DownloadFinished, results ...string) {
	w.t.Helper()
	var docs []control.Document
	for i, r := range results {
		entry := fmt.Sprintf("%s.2026-01-02.%d.specimen.impc.xml", d.Centre, i+1)
		docs = append(docs, control.Document{Run: d.Run, File: d.File, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done", Document: schemas.DocumentID(d.File, entry), Entry: entry, Kind: "specimen", SHA256: "x", Result: r, Body: []byte{1}})
		s := w.document(d, i, "xsd", schemas.Done)
		if r != schemas.Valid {
			s = w.document(d, i, "xsd", schemas.Failed)
			s.Exception, s.Message = "xsd_invalid", "line too long"
			s.Errors, s.ErrorsTotal = []schemas.ErrorDetail{{Line: 7, Exception: "xsd_invalid", Message: "line too long"}}, 1
			if r == schemas.Quarantined {
				s.Exception, s.Errors, s.ErrorsTotal = schemas.Quarantined, nil, 0
			}
		}
		w.say(s)
	}
	w.Tx(func(tx pgx.Tx) error {
		if err := control.StoreDocuments(w.t.Context(), tx, docs); err != nil {
			return err
		}
		if _, err := control.LockFiles(w.t.Context(), tx, []string{d.File}); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(w.t.Context(), tx, []string{d.File}, w.Clock)
		if err != nil {
			return err
		}
		return control.AfterEnds(w.t.Context(), tx, ended, w.Clock)
	})
}

// document is an event about a document of what was fetched.
func (w *world) document(d *schemas.DownloadFinished, n int, phase string, status schemas.Status) *schemas.StatusChanged {
	entry := fmt.Sprintf("%s.2026-01-02.%d.specimen.impc.xml", d.Centre, n+1)
	return &schemas.StatusChanged{Scope: d.Scope, FileRef: d.FileRef, DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(d.File, entry), Entry: entry, Ordinal: int32(n)}, Entity: schemas.EntityDocument,
		Attempt: d.Attempt, Outcome: d.Outcome + "/done", Phase: phase, Status: string(status)}
}

// fetched carries a file through download and unzip, and has its documents judged.
func (w *world) fetched(path string, results ...string) *schemas.DownloadFinished {
	w.t.Helper()
	d := w.outcome(path, nil)
	w.unzipped(d, int32(len(results)))
	w.judge(d, results...)
	return d
}

// released gives the batches that may be released their numbers and positions, as
// sequence does; it returns the last position given.
func (w *world) released() int64 {
	w.t.Helper()
	l := control.Limits{PollCutoff: w.Clock.Add(-10 * time.Minute), ReleaseLimit: w.Clock.Add(-30 * time.Minute), LateLimit: w.Clock.Add(-time.Minute)}
	last := int64(0)
	for {
		ready, err := control.ReadyBatches(w.t.Context(), w.Pool, l)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(ready) == 0 {
			return last
		}
		w.Tx(func(tx pgx.Tx) error {
			next, b, err := control.TakeBatch(w.t.Context(), tx, ready[0], l)
			if err != nil {
				return err
			}
			docs, err := control.BatchDocuments(w.t.Context(), tx, b.ID, []string{"specimen", "experiment"})
			if err != nil {
				return err
			}
			last = next.Next + int64(len(docs)) // and the batch's end
			if err := control.ReleaseBatch(w.t.Context(), tx, *b, &last, w.Clock); err != nil {
				return err
			}
			return control.SetPosition(w.t.Context(), tx, control.Position{Next: last + 1, Previous: fmt.Sprintf("%064d", last)})
		})
	}
}

// applied says that the warehouse has applied positions up to one.
func (w *world) applied(position int64) {
	w.Exec("UPDATE warehouse.state SET next_position = $1", position+1)
}

// inserted tells that documents of a file are in the warehouse, at the positions
// from one on; each brought so many rows.
func (w *world) inserted(d *schemas.DownloadFinished, results []string, position, rows int64) {
	w.t.Helper()
	for i, r := range results {
		if r != schemas.Valid {
			continue
		}
		for _, phase := range []string{"upload", "overview"} {
			s := w.document(d, i, phase, schemas.Done)
			if phase == "upload" {
				s.Position, s.Rows = position+int64(i), rows
			}
			w.say(s)
		}
	}
}

// checked tells that a later check of the data found something in a document.
func (w *world) checked(d *schemas.DownloadFinished, n int, exception string) {
	w.t.Helper()
	s := w.document(d, n, "data", schemas.Failed)
	s.Check, s.Exception, s.Message, s.ErrorsTotal = 1, exception, "not known", 1
	s.Errors = []schemas.ErrorDetail{{Line: 7, Exception: exception, Message: "not known"}}
	w.say(s)
}

// set sets a source's state, as a person or its polls do.
func (w *world) set(source, state string) {
	why, at := "", (*time.Time)(nil)
	if state == "suspended" {
		why, at = "10 polls in a row failed, the last of them: login_failed: no", &w.Clock
	}
	w.Exec("UPDATE control.source SET state = $2, suspended_why = $3, suspended_at = $4 WHERE id = $1", source, state, why, at)
}

// acquired stores an acquisition of another run, as replays and retries make it, and
// returns its run.
func (w *world) acquired(d *schemas.DownloadFinished, state string) (run string, id int64) {
	w.t.Helper()
	run = uuid.NewString()
	err := w.Pool.QueryRow(w.t.Context(), `INSERT INTO control.acquisition (run, file, domain, source, look, size, state, attempt, download, sha256)
		VALUES ($1, $2, $3, $4, $5, 1, $6, 9, $7, $8) RETURNING id`, run, d.File, d.Centre, d.Source, d.Look, state, d.Outcome, d.SHA256).Scan(&id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run, id
}

// replay stores a replay in a state that chose files, each in a state.
func (w *world) replay(number int64, run, state, held string, item string, acquisition *int64, file string) {
	w.Exec(`INSERT INTO control.replay (id, number, phase, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at, held)
		VALUES ($1, $2, 'xsd', 'ann', 'better', $3, $4, 'ann', $3, $3, $5)`, run, number, w.Clock, state, held)
	w.Exec("INSERT INTO control.replay_item (run, ordinal, file, state, acquisition, message) VALUES ($1, 1, $2, $3, $4, 'its file is under way')", run, file, item, acquisition)
}
