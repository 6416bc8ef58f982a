// Package unzip checks downloaded archives and announces their documents.
//
// An archive yields all its documents or none: every entry is inflated and
// checked before anything is produced, and one refused entry fails the whole.
// Nothing is unpacked to disk: a document is a reference into its archive.
package unzip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/schemas"
)

// Name of the stage.
const Name = "unzip"

// Deps are what the stage works with.
type Deps struct {
	Blobs  blob.Store
	Rules  Rules  // of all that is live
	Shadow *Rules // of shadow runs; nil: the same
	// Damaged tells control that the stored bytes can't be used. Nil: nobody can
	// have them anew, and the work is tried again until they are there.
	Damaged blob.Report
	Log     *slog.Logger
	Now     func() time.Time
}

// Unzipper is the stage.
type Unzipper struct {
	limits archive.Limits
	deps   Deps
}

// New makes an Unzipper of archives within limits.
func New(limits archive.Limits, d Deps) *Unzipper { return &Unzipper{limits: limits, deps: d} }

// Rules say what a document's name may be.
type Rules struct {
	Profile *profile.Profile
	Centres profile.Centres
}

// rules are those of a run.
func (u *Unzipper) rules(run string) Rules {
	if u.deps.Shadow != nil && schemas.IsShadow(run) {
		return *u.deps.Shadow
	}
	return u.deps.Rules
}

// Work checks one archive.
func (u *Unzipper) Work(ctx context.Context, in stage.Input) error {
	d, ok := in.Message.Body.(*schemas.DownloadFinished)
	if !ok || d.Result != schemas.Fetched {
		return nil
	}
	started := u.deps.Now()
	w := &work{u: u, in: in.Message, d: d, started: started}
	if err := in.Emit(ctx, w.running()); err != nil {
		return err
	}
	members, err := u.check(ctx, d.SHA256, in.Progress)
	var refused *archive.RefusedError
	switch {
	case errors.As(err, &refused):
		message := refused.Message
		if refused.Entry != "" {
			message = archive.Quote(refused.Entry) + ": " + message
		}
		return in.Emit(ctx, w.failed(schemas.FailedEnd, refused.Exception, message)...)
	case blob.Unusable(err) && u.deps.Damaged != nil:
		// Nothing is said of the archive: control has its bytes fetched again and
		// repeats what asks for this work, or ends who waits for it.
		_, err = u.deps.Damaged(ctx, d.SHA256, err)
		return stage.Transient(err)
	case err != nil:
		return stage.Transient(err)
	}
	documents, others := 0, ignored{}
	for i := range members {
		switch m := &members[i]; {
		case m.Document:
			documents++
			events, err := w.document(ctx, m)
			if err == nil {
				err = in.Emit(ctx, events...)
			}
			if err != nil {
				return err
			}
		case !m.Directory:
			others.add(m.Name)
		}
	}
	return in.Emit(ctx, w.done(documents, others)...)
}

// ignored are the entries that are neither documents nor folders.
type ignored struct {
	count int
	names string // of the first of them, for people
}

// maxIgnored bounds the names of ignored entries that an event tells, in bytes.
const maxIgnored = 500

func (i *ignored) add(name string) {
	i.count++
	if quoted := archive.Quote(name); len(i.names)+len(quoted)+1 < maxIgnored {
		if i.names != "" {
			i.names += " "
		}
		i.names += quoted
	}
}

// check inflates and checks every entry, and returns them all.
func (u *Unzipper) check(ctx context.Context, sha256 string, progress func()) (members []archive.Member, err error) {
	err = blob.Read(ctx, u.deps.Blobs, sha256, progress, func(b blob.Blob) error {
		a, err := archive.Open(b, b.Size(), u.limits)
		if err != nil {
			return err
		}
		members = a.Members()
		return a.Verify(ctx)
	})
	if err != nil {
		return nil, err
	}
	return members, nil
}

// Fail is the failed end of an archive that is poison.
func (u *Unzipper) Fail(in schemas.Message, cause error) []schemas.Message {
	d, ok := in.Body.(*schemas.DownloadFinished)
	if !ok {
		return nil
	}
	w := &work{u: u, in: in, d: d, started: u.deps.Now()}
	return w.failed(schemas.Quarantined, schemas.Quarantined, cause.Error())
}

// work is one archive under way; its methods make the messages.
type work struct {
	u       *Unzipper
	in      schemas.Message
	d       *schemas.DownloadFinished
	started time.Time
	renewed bool // the centres are those that were known when a name was first to be refused for its own
}

const done = "done"

func (w *work) subject() string { return w.d.Action + "/" + w.d.FileName }

func (w *work) message(topic, key, kind string, body any, ordinal ...string) schemas.Message {
	return schemas.Message{
		ID:    schemas.EventID(Name, w.d.Run, w.in.ID, kind, ordinal...),
		Topic: topic, Key: key, Stage: Name, Subject: w.subject(), Time: w.u.deps.Now(), Traceparent: w.in.Traceparent, Body: body,
	}
}

func (w *work) status(phase schemas.Phase, st schemas.Status, outcome string) *schemas.StatusChanged {
	s := &schemas.StatusChanged{
		Scope: w.d.Scope, FileRef: w.d.FileRef, Entity: schemas.EntityDownload, Server: w.d.Server, Attempt: w.d.Attempt, Look: w.d.Look,
		Outcome: w.d.Outcome, Phase: string(phase), Status: string(st), StartedAt: &w.started,
	}
	s.Archive = w.d.SHA256
	if outcome != "" {
		now := w.u.deps.Now()
		s.Outcome, s.FinishedAt = w.d.Outcome+"/"+outcome, &now
		s.VersionOf = w.version()
	}
	return s
}

// version is of what judges archives and names.
func (w *work) version() string { return w.u.rules(w.d.Run).Profile.Versions().Unzip }

func (w *work) running() schemas.Message {
	return w.message(schemas.StatusChangedTopic, w.d.File, "running", w.status(schemas.Unzip, schemas.Running, ""))
}

func (w *work) finished(result, outcome string) *schemas.UnzipFinished {
	return &schemas.UnzipFinished{Scope: w.d.Scope, FileRef: w.d.FileRef, Attempt: w.d.Attempt, Download: w.d.Outcome, Result: result, Outcome: outcome, SHA256: w.d.SHA256}
}

func (w *work) failed(result, exception, message string) []schemas.Message {
	end := w.finished(result, exception)
	end.Exception, end.Message = exception, message
	s := w.status(schemas.Unzip, schemas.Failed, exception)
	s.Exception, s.Message = exception, message
	return []schemas.Message{
		w.message(schemas.UnzipFinishedTopic, w.d.File, schemas.UnzipFinishedTopic, end, exception),
		w.message(schemas.StatusChangedTopic, w.d.File, "status", s, exception),
	}
}

func (w *work) done(documents int, others ignored) []schemas.Message {
	end := w.finished(schemas.Unzipped, done)
	end.Documents, end.Ignored = int32(documents), int32(others.count)
	s := w.status(schemas.Unzip, schemas.Done, done)
	s.Rows = int64(documents)
	if others.count > 0 {
		s.Attributes = map[string]string{"ignored_entries": strconv.Itoa(others.count), "ignored_names": others.names}
	}
	return []schemas.Message{
		w.message(schemas.UnzipFinishedTopic, w.d.File, schemas.UnzipFinishedTopic, end, done),
		w.message(schemas.StatusChangedTopic, w.d.File, "status", s, done),
	}
}

// parse reads a document's name. None is refused for its centre by centres that may
// be out of date: while these can't be read anew, the work is tried again.
func (w *work) parse(ctx context.Context, entry string) (profile.DocumentName, *profile.NameError, error) {
	rules := w.u.rules(w.d.Run)
	name, bad := rules.Profile.ParseDocument(entry, rules.Centres)
	if bad == nil || !bad.UnknownCentre() || w.renewed {
		return name, bad, nil
	}
	if err := rules.Centres.Renew(ctx); err != nil {
		return name, bad, stage.Transient(fmt.Errorf("%s can't be judged: %w", archive.Quote(entry), err))
	}
	w.renewed = true
	name, bad = rules.Profile.ParseDocument(entry, rules.Centres)
	return name, bad, nil
}

// document announces a document and tells how its name was judged.
func (w *work) document(ctx context.Context, m *archive.Member) ([]schemas.Message, error) {
	ref := document.Ref(w.d.File, w.d.SHA256, *m)
	ref.Entry = strings.ToValidUTF8(ref.Entry, "\uFFFD")
	out := &schemas.DocumentExtracted{
		Scope: w.d.Scope, FileRef: w.d.FileRef, DocumentRef: ref, Attempt: w.d.Attempt, Download: w.d.Outcome, Unzip: done,
		UnzipVersion: w.version(),
	}
	s := w.status(schemas.XMLName, schemas.Done, done)
	s.Entity, s.DocumentRef = schemas.EntityDocument, ref
	name, bad, err := w.parse(ctx, ref.Entry)
	if err != nil {
		return nil, err
	}
	if bad != nil {
		out.Exception, out.Message = bad.Exception, bad.Message
		s.Status, s.Exception, s.Message = string(schemas.Failed), bad.Exception, bad.Message
		s.Errors, s.ErrorsTotal = []schemas.ErrorDetail{{Exception: bad.Exception, Message: bad.Message}}, 1
	} else {
		out.DocumentName = schemas.DocumentName{Kind: name.Kind, DocCentre: name.Centre, DocDate: name.Date.Format(time.DateOnly), DocInc: name.Increment}
		s.DocumentName = out.DocumentName
	}
	entry := w.message(schemas.DocumentExtractedTopic, ref.Document, schemas.DocumentExtractedTopic, out, m.Name)
	entry.Subject += "/" + ref.Entry
	st := w.message(schemas.StatusChangedTopic, w.d.File, "document_status", s, m.Name)
	st.Subject = entry.Subject
	return []schemas.Message{entry, st}, nil
}
