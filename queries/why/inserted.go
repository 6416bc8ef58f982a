package why

import (
	"fmt"
	"time"

	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
)

// judged judges a file all of whose documents are judged: where it is on the way
// into the warehouse.
func (f *Facts) judged(a *Answer, x *control.Fetch) {
	a.proveAt(x.EndedAt, "%s of it %s judged (attempt %d, bytes %s)", many(int64(x.Documents), "document"), were(int64(x.Documents)), x.Attempt, short(x.SHA256))
	b := f.Batch
	switch {
	case f.Unload != nil:
		f.unloaded(a)
	case x.Documents > 0 && x.Quarantined == int64(x.Documents):
		f.quarantined(a, string(schemas.XSD), "")
	case x.Documents > 0 && x.Rejected == int64(x.Documents):
		f.documents(a, x)
	case b == nil:
		a.say(WaitsForBatch, "%s waits to be put into a batch.", a.File)
	case b.ReleasedAt == nil:
		f.gathering(a)
		if x.Ordered {
			a.prove("its documents have their positions, as a part of batch %d of %s: what waits are the checks at the batch's end", value(b.Number), b.Domain)
		}
	case f.applied() || f.Tracked.ended(x):
		f.documents(a, x)
	case f.Stopped != "":
		a.say(InsertionStopped, "%s waits, since insertion has stopped for all centres: %s.", a.File, schemas.Cut(f.Stopped, maxText))
		a.Next = "Decide about the record (tributary topics pass-over); insertion goes on from there."
	default:
		a.say(WaitsForInsertion, "%s waits to be inserted: its batch ends at position %d, and the warehouse has applied up to %s.", a.File, value(b.LastPosition), f.upToPosition())
		a.Next = "Nothing, while a member has the role insert."
	}
	if b != nil && b.ReleasedAt != nil {
		a.proveAt(b.ReleasedAt, "batch %d of %s was released", value(b.Number), b.Domain)
	}
	if f.Stopped != "" && a.Verdict == WaitsForBatch {
		a.prove("insertion has stopped meanwhile: %s", schemas.Cut(f.Stopped, maxText))
	}
}

// applied tells whether the warehouse has applied the batch to its end.
func (f *Facts) applied() bool {
	return f.Batch.LastPosition != nil && f.Applied != nil && *f.Applied >= *f.Batch.LastPosition
}

func (f *Facts) upToPosition() string {
	if f.Applied == nil {
		return "none"
	}
	return fmt.Sprint(*f.Applied)
}

// gathering judges what waits for its batch to be complete.
func (f *Facts) gathering(a *Answer) {
	b := f.Batch
	if b.Session == nil {
		a.say(WaitsForBatch, "%s waits in a late batch of %s, which is released at %s or soon after.", a.File, b.Domain, moment(b.OpenedAt.Add(f.Limits.LateLimit)))
		a.proveAt(&b.OpenedAt, "the late batch was opened")
		return
	}
	latest := b.OpenedAt.Add(f.Limits.ReleaseLimit)
	if b.Earlier != nil {
		latest = after(latest, b.EarlierOpened.Add(f.Limits.ReleaseLimit))
	}
	until := "; until " + moment(latest) + " at the latest"
	var why string
	switch {
	case f.Now.After(latest):
		why, until = "whose time is over: the role sequence releases it next", ""
	case b.Earlier != nil:
		why = fmt.Sprintf("which waits for the centre's batch of session %d", *b.Earlier)
	case b.Unfinished > 0:
		why = "which waits for " + atLeast(b.Unfinished, "other file") + " of it"
	case b.Looks > 0:
		why = "which waits until plan has taken up " + atLeast(b.Looks, "file") + " that the session found for the centre"
	case !b.PollsEnded:
		why = "which waits for " + many(b.Polls, "poll") + " of the session, such as that of " + b.Polling
	default:
		why, until = "which nothing keeps: the role sequence releases it next", ""
	}
	a.say(WaitsForBatch, "%s waits for the batch of %s in session %d, %s%s.", a.File, b.Domain, *b.Session, why, until)
	a.proveAt(&b.OpenedAt, "the batch was opened")
	if b.Polls > 0 {
		a.proveAt(b.SessionOpened, "session %d was opened; without an end yet: %s of it", *b.Session, many(b.Polls, "poll"))
	}
	a.Next = "Nothing, while a member has the role sequence."
}

// documents judges a file by what became of its documents.
func (f *Facts) documents(a *Answer, x *control.Fetch) {
	if t := f.Tracked; t != nil && t.ended(x) {
		f.fileEnded(a)
		return
	}
	switch {
	case x.Quarantined > 0:
		f.quarantined(a, string(schemas.XSD), "")
		return
	case x.Rejected > 0:
		a.say(Rejected, "%d of %s of %s %s refused before insertion.", x.Rejected, many(int64(x.Documents), "document"), a.File, were(x.Rejected))
		a.Next = "Have the producer correct the errors, each with line and column: tributary show " + quoted(f.Name)
		return
	}
	a.say(Loaded, "%s is in the warehouse with %s; the tracker has not told of all yet.", a.File, many(int64(x.Documents), "document"))
	a.prove("the warehouse has applied up to position %s", f.upToPosition())
}

// remembered judges a file by the tracker alone.
func (f *Facts) remembered(a *Answer) {
	if f.Tracked == nil {
		a.say(Loaded, "%s shows the bytes that it brought first, and the tracker does not know it.", a.File)
		return
	}
	f.fileEnded(a)
	if f.File == nil {
		a.prove("control does not know the file: it was restored from topics that no longer told of it")
	}
}

// fileEnded judges a file that has ended, by what the tracker tells of it.
func (f *Facts) fileEnded(a *Answer) {
	t := f.Tracked
	refused := t.Failed - t.Found
	done := t.Documents - refused - t.Open
	switch {
	case t.Quarantined > 0:
		f.quarantined(a, t.Phase, t.Message)
	case refused > 0:
		others := ""
		if done > 0 {
			others = fmt.Sprintf("; the warehouse has %d of them", done)
		}
		a.say(Rejected, "%d of %s of %s %s refused%s.", refused, many(t.Documents, "document"), a.File, were(refused), others)
		a.Next = "Have the producer correct the errors, each with line and column: tributary show " + quoted(f.Name)
	case t.Found > 0:
		a.say(LoadedWithFindings, "%s is in the warehouse: %s with %s%s; %d of them %s findings.", a.File, many(t.Documents, "document"), many(t.Rows, "row"), t.positions(), t.Found, have(t.Found))
		a.Next = "Have the producer submit what is missing, or correct it; checks judge it again by themselves. All findings: tributary show " + quoted(f.Name)
	case t.Status == string(schemas.Failed):
		a.say(Failed, "%s failed in %s with %s.", a.File, t.Phase, because(t.Exception, t.Message))
		a.Next = remedy(t.Exception)
	case t.Status == string(schemas.Cancelled):
		a.say(Cancelled, "%s was given up: %s.", a.File, because(t.Exception, t.Message))
		a.Next = remedy(t.Exception)
	case !t.Ended:
		a.say(Announced, "%s stands at %s, %s.", a.File, t.Phase, t.Status)
	default:
		a.say(Loaded, "%s is in the warehouse: %s with %s%s.", a.File, many(t.Documents, "document"), many(t.Rows, "row"), t.positions())
	}
	a.proveAt(&t.Last, "the tracker has it at %s, %s", t.Phase, t.Status)
	if t.Documents > 0 && done > 0 {
		run := "the live run"
		if t.Run != schemas.LiveRun {
			run = "run " + t.Run
		}
		a.prove("%s %s loaded by %s, attempt %d: %s%s", many(done, "document"), were(done), run, t.Attempt, many(t.Rows, "row"), t.positions())
	}
	for _, d := range t.Failures {
		line := ""
		if d.Line != nil {
			line = fmt.Sprintf(" line %d:", *d.Line)
		}
		a.prove("document %s, in %s:%s %s", schemas.Cut(d.Document, maxName), d.Phase, line, because(d.Exception, d.Message))
	}
	if more := t.Failed - int64(len(t.Failures)); len(t.Failures) > 0 && more > 0 {
		a.prove("and %s more", many(more, "document"))
	}
}

// quarantined judges what was set aside as a dead letter.
func (f *Facts) quarantined(a *Answer, phase, message string) {
	stage := map[string]string{string(schemas.Download): "download", string(schemas.Unzip): "unzip", string(schemas.XSD): "validate", string(schemas.Upload): "insert"}[phase]
	by := ""
	if stage != "" {
		by = " by " + stage
	}
	said := ""
	if message != "" {
		said = ": " + schemas.Cut(message, maxText)
	}
	a.say(Quarantined, "%s was set aside%s, since work on it crashed or outran its time again and again%s.", a.File, by, said)
	a.prove("tributary dlq list --where file=%s lists its dead letters", quoted(f.Name))
	a.Next = "Once the cause is removed: tributary dlq retry --where file=" + quoted(f.Name)
}

// unloaded judges what somebody had taken out.
func (f *Facts) unloaded(a *Answer) {
	o := f.Unload
	switch {
	case o.Position == 0:
		a.say(Unloaded, "%s is to be taken out of the warehouse, as %s asked: it waits for its place in the order.", a.File, o.RequestedBy)
	case f.Applied == nil || *f.Applied < o.Position:
		a.say(Unloaded, "%s is to be taken out of the warehouse, as %s asked, at position %d; the warehouse has applied up to %s.", a.File, o.RequestedBy, o.Position, f.upToPosition())
	default:
		a.say(Unloaded, "%s was taken out of the warehouse at position %d, as %s asked.", a.File, o.Position, o.RequestedBy)
	}
	a.proveAt(&o.RequestedAt, "%s asked for it: %s", o.RequestedBy, schemas.Cut(o.Reason, maxText))
	a.prove("these bytes (%s) stay out, whatever comes later; other bytes under the same name are loaded", short(o.Archive))
}

// Tracked is what the tracker tells of a file, of the attempt that it shows.
type Tracked struct {
	Phase, Status      string
	Exception, Message string
	Run                string
	Attempt            int32
	SHA256             string
	Documents          int64 // that are told, those below included
	Expected           int64 // that it holds
	Open, Failed       int64
	Found              int64 // of those that failed, the loaded ones in which checks of the data found something
	Quarantined        int64
	Rows               int64
	First, Final       *int64 // positions
	Ended              bool
	Last               time.Time        // when something was told of it last
	Failures           []Failure        // the first of them
	Transfer           *report.Transfer // of the attempt that it shows, if that runs and takes long
}

// Failure is a document that was refused.
type Failure struct {
	Document, Phase, Exception, Message string
	Line                                *int32
}

// ended tells whether the tracker has all that became of an acquisition.
func (t *Tracked) ended(x *control.Fetch) bool {
	return t != nil && t.Ended && t.Attempt == x.Attempt && t.Run == x.Run && t.Documents >= t.Expected
}

// positions are those of its documents in the order of insertion.
func (t *Tracked) positions() string {
	switch {
	case t.First == nil || t.Final == nil:
		return ""
	case *t.First == *t.Final:
		return fmt.Sprintf(", at position %d", *t.First)
	}
	return fmt.Sprintf(", at positions %d to %d", *t.First, *t.Final)
}

// Hosted is what the tracker tells of a file at a source.
type Hosted struct {
	State, Note, Message string
	Changed              time.Time
}

// CompleteListing is a listing that came to its end.
type CompleteListing struct {
	At              time.Time
	Session         int64
	Listed, Ignored string // counts; empty: not known
}
