package tracker

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
)

// aboutFile adds an event about a file, or what it has: hostings, downloads
// and documents.
func (f *fold) aboutFile(e *schemas.StatusChanged, s seen) error {
	todo := schemas.ActionOrder(e.Action)
	if todo == 0 || e.FileName == "" {
		return fmt.Errorf("an event about a %s names the file %q with the action %q", e.Entity, e.FileName, e.Action)
	}
	// The identity follows from name and action, whatever the event says.
	id := f.id("file", e.Action, e.FileName)
	n := &named{Last: s.Last, Name: e.FileName}
	if e.FileDate != "" {
		n.Date, n.Inc, n.Dated = e.FileDate, e.FileInc, true
	}
	x := &file{seen: s, Name: e.FileName, Todo: todo}
	if e.Entity != schemas.EntityHosting && e.Centre != "" {
		// A hosting may speak of the centre that hosts; the others of the one
		// that produced.
		n.Centre = e.Centre
		f.centre(e.Centre, nil)
	}
	switch e.Entity {
	case schemas.EntityFile:
		x.Own, x.Revision = f.step(e, s.Last), e.Revision
	case schemas.EntityHosting:
		f.hosting(id, e, s)
	case schemas.EntityDownload:
		f.download(id, n, e, s)
	case schemas.EntityDocument:
		f.document(id, e, s)
	case schemas.EntityQuality:
		if err := f.quality(id, e, s.Last); err != nil {
			return err
		}
		x.Last, n.Last = time.Time{}, time.Time{}
	}
	into(f.files, id, x)
	into(f.names, f.id("zip_file", e.FileName), n)
	return nil
}

func (f *fold) hosting(file uuid.UUID, e *schemas.StatusChanged, s seen) {
	if e.Source == "" {
		return
	}
	f.source(e.Source, nil)
	h := &hosting{seen: s, File: file.String(), Source: e.Source}
	if state := e.Attributes["state"]; state != "" {
		h.Look, h.Revision, h.State, h.Size, h.ModTime, h.Listed = e.Look, e.Revision, state, e.FileSize, atOrZero(e.ModTime), atOrZero(e.ListedAt)
		h.Message = e.Attributes["message"]
		if h.Said = schemas.ListedOf(e); h.Said != nil {
			h.SaidLook, h.SaidRevision = e.Look, e.Revision
		}
	}
	if e.Note == unsettled {
		h.Note = e.Note
	} else if e.Note != "" {
		h.Class, h.ClassLook = e.Note, e.Look
	}
	into(f.hostings, f.id("hosting", file.String(), e.Source), h)
}

func hostingID(file uuid.UUID, source string) uuid.UUID { return key("hosting", file.String(), source) }

// attemptOf is the attempt that an event is about, and its id.
func (f *fold) attemptOf(file uuid.UUID, e *schemas.StatusChanged, s seen) (uuid.UUID, *attempt) {
	run := given("run", e.Run)
	if e.Run == "" {
		run = uuid.MustParse(schemas.LiveRun)
	}
	id := f.id("download", file.String(), run.String(), strconv.Itoa(int(e.Attempt)))
	return id, &attempt{seen: s, File: file.String(), Run: run.String(), Number: e.Attempt}
}

func (f *fold) download(file uuid.UUID, n *named, e *schemas.StatusChanged, s seen) {
	id, a := f.attemptOf(file, e, s)
	a.spoken = true
	a.Source, a.Session, a.Look, a.Listed = e.Source, e.Session, e.Look, e.FileSize
	a.Requested, a.Accepted, a.Repeats = atOrZero(e.RequestedAt), e.Accepted, e.Repeats
	if e.Source != "" {
		f.source(e.Source, nil)
		into(f.hostings, f.id("hosting", file.String(), e.Source), &hosting{seen: s, File: file.String(), Source: e.Source})
	}
	a.Progress = progressOf(e, s.Last)
	step := f.step(e, s.Last)
	a.Dropped = step.ended() && (e.Note == notTried || e.Exception == notTried)
	switch {
	case step.Phase == 0: // a judgement only
	case step.ended() && e.Accepted != "":
		a.Final = step
	case e.Note == duplicate && e.Accepted != "" && e.Repeats == 0:
		// Not loaded, since another file shows these bytes: what unzip began is not awaited.
		a.Final = step
		a.Outcomes = map[string]*outcome{e.Outcome: f.outcome(file, n, e, step)}
	default:
		a.Outcomes = map[string]*outcome{e.Outcome: f.outcome(file, n, e, step)}
	}
	into(f.attempts, id, a)
}

func (f *fold) outcome(file uuid.UUID, n *named, e *schemas.StatusChanged, st step) *outcome {
	o := &outcome{Step: st, Started: atOrZero(e.StartedAt), Finished: atOrZero(e.FinishedAt), Bytes: e.Bytes, Rows: e.Rows}
	if st.Phase > schemas.ZipMD5.ID() {
		o.Bytes = 0 // those of the unzip are not those received
		if parts(e.Outcome) < 2 {
			o.Started, o.Finished = time.Time{}, time.Time{} // nor are its times
		}
	}
	if e.Note != "" {
		o.Notes = []string{e.Note}
	}
	if parts(e.Outcome) == 1 && st.Phase <= schemas.ZipMD5.ID() {
		came := schemas.TransferOf(e)
		o.From, o.Request, o.Response = came.From, came.Request, came.Response
	}
	if parts(e.Outcome) == 1 && e.SHA256 != "" && st.Phase <= schemas.ZipMD5.ID() {
		o.SHA256, o.MD5 = e.SHA256, e.MD5
	}
	// Control repeats the hash in its judgements; only who received the bytes
	// says when.
	if o.SHA256 != "" && e.FinishedAt != nil {
		size, received := cmp.Or(e.Bytes, e.FileSize), at(*e.FinishedAt)
		into(f.versions, f.id("version", file.String(), e.SHA256), &version{
			seen: seen{First: received, Last: received}, File: file.String(), SHA256: e.SHA256, MD5: e.MD5, Size: size})
		n.SHA256, n.MD5, n.Size, n.Received = e.SHA256, e.MD5, size, received
	}
	return o
}

func (f *fold) document(file uuid.UUID, e *schemas.StatusChanged, s seen) {
	download, a := f.attemptOf(file, e, s)
	// The attempt may not have been heard of; it is not changed by what its
	// documents do, so only its existence is added.
	a.seen = seen{First: s.First}
	into(f.attempts, download, a)
	if e.DocCentre != "" {
		f.centre(e.DocCentre, nil)
	}
	d := &document{seen: s, File: file.String(), Download: download.String(), Outcome: e.Outcome, Document: e.Document, Entry: e.Entry, Ordinal: e.Ordinal,
		Centre: e.DocCentre, Date: e.DocDate, Inc: e.DocInc, Kind: e.Kind, Size: e.Size, MD5: e.MD5, SHA256: e.SHA256,
		Session: e.Session, Rows: e.Rows, Position: e.Position}
	step := f.step(e, s.Last)
	d.Provenance = provenanceOf(e, step)
	d.place(step, e.Check)
	into(f.documents, f.documentID(download.String(), e.Outcome, e.Entry), d)
}

func (f *fold) documentID(download, outcome, entry string) uuid.UUID {
	return f.id("xml", download, outcome, entry)
}
