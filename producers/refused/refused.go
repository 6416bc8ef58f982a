// Package refused says how what waits for an event ends when that event can't be
// published: because it is too large, or because the broker refuses it for good.
// Each gets the end by name that the stage which would have read the event gives
// to what it sets aside, so that nobody waits for ever.
package refused

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

const stage = "publish"

// Ends makes failed ends.
type Ends struct {
	Codec *schemas.Codec
	Now   func() time.Time
}

// Control is what is told instead of an event of control's outbox, and what
// control's tables say of it from now on. It is an outbox.Ends.
func (e Ends) Control(ctx context.Context, tx pgx.Tx, m schemas.Message, cause error) ([]schemas.Message, error) {
	short, err := e.Codec.Shorter(m)
	if err != nil {
		return nil, err
	}
	if d, ok := short.Body.(*schemas.FileDiscovered); ok && d.Change != "gone" {
		if err := control.RejectLook(ctx, tx, d.Source, d.File, d.Look); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(e.of(short, cause), nameless), nil
}

// nameless tells whether an end is of no file that can be: no reader would know
// what to do with it.
func nameless(m schemas.Message) bool {
	var file string
	switch b := m.Body.(type) {
	case *schemas.StatusChanged:
		file = b.File
	case *schemas.DownloadFinished:
		file = b.File
	case *schemas.UnzipFinished:
		file = b.File
	case *schemas.DocumentValidated:
		file = b.File
	}
	return len(file) != 36 || uuid.Validate(file) != nil
}

// Warehouse is what is told instead of an event of the warehouse's outbox, which
// only tells the log: nobody waits for it.
func (e Ends) Warehouse(context.Context, pgx.Tx, schemas.Message, error) ([]schemas.Message, error) {
	return nil, nil
}

// of makes the ends of an event, whose texts were cut before.
func (e Ends) of(m schemas.Message, cause error) []schemas.Message {
	end := &ending{cause: m, now: e.Now(), message: cause.Error()}
	switch b := m.Body.(type) {
	case *schemas.FileDiscovered:
		return end.discovered(b)
	case *schemas.DownloadRequested:
		return end.requested(b)
	case *schemas.DownloadFinished:
		return end.downloaded(b)
	case *schemas.UnzipFinished:
		b.Result, b.Outcome, b.Exception, b.Message = schemas.Quarantined, schemas.Quarantined, schemas.Quarantined, end.message
		return []schemas.Message{m}
	case *schemas.DocumentExtracted:
		return end.extracted(b)
	case *schemas.DocumentValidated:
		b.Result, b.Outcome, b.Phase, b.Exception = schemas.Quarantined, schemas.Quarantined, string(schemas.XSD), schemas.Quarantined
		return []schemas.Message{m}
	case *schemas.DocumentOrdered:
		return end.ordered(b)
	}
	return nil
}

// ending is what is told of one event.
type ending struct {
	cause   schemas.Message
	now     time.Time
	message string
}

func (e *ending) event(run, topic, key string, body any, ordinal ...string) schemas.Message {
	return schemas.Message{ID: schemas.EventID(stage, run, e.cause.ID, topic, ordinal...), Topic: topic, Key: key, Stage: stage,
		Subject: e.cause.Subject, Time: e.now, Traceparent: e.cause.Traceparent, Body: body}
}

func (e *ending) status(body *schemas.StatusChanged, phase schemas.Phase, exception string, ordinal ...string) schemas.Message {
	body.Phase, body.Status, body.Exception, body.Message, body.FinishedAt = string(phase), string(schemas.Failed), exception, e.message, &e.now
	return e.event(body.Run, schemas.StatusChangedTopic, body.File, body, ordinal...)
}

// discovered ends a look that can't be announced: its file has failed.
func (e *ending) discovered(d *schemas.FileDiscovered) []schemas.Message {
	if d.Change == "gone" {
		return nil
	}
	return []schemas.Message{e.status(&schemas.StatusChanged{Scope: d.Scope, FileRef: d.FileRef, Entity: schemas.EntityFile,
		FileSize: d.Size, ListedAt: d.ListedAt}, schemas.ZipName, schemas.EventTooLarge)}
}

// requested ends the files of a job: each of several is requested again alone.
func (e *ending) requested(job *schemas.DownloadRequested) []schemas.Message {
	var out []schemas.Message
	for i, f := range job.Files {
		scope := schemas.Scope{Run: job.Run, Session: f.Session, Centre: f.Centre, Source: job.Source}
		attempt := strconv.Itoa(int(f.Attempt))
		end := &schemas.DownloadFinished{Scope: scope, FileRef: f.FileRef, Job: job.Job, Server: job.Server, Attempt: f.Attempt, Look: f.Look,
			Result: schemas.NotTried, Outcome: schemas.Quarantined, Exception: schemas.Quarantined, Message: e.message,
			RequestedAt: f.RequestedAt, StartedAt: &e.now, FinishedAt: &e.now, Last: i == len(job.Files)-1}
		if len(job.Files) == 1 {
			end.Result, end.Phase = schemas.Quarantined, string(schemas.Download)
			out = append(out, e.status(&schemas.StatusChanged{Scope: scope, FileRef: f.FileRef, Entity: schemas.EntityDownload, Server: job.Server,
				Attempt: f.Attempt, Look: f.Look, FileSize: f.Size, Outcome: schemas.Quarantined}, schemas.Download, schemas.Quarantined, f.File, attempt))
		}
		out = append(out, e.event(job.Run, schemas.DownloadFinishedTopic, f.File, end, f.File, attempt))
	}
	return out
}

// downloaded ends an archive that unzip is not told of.
func (e *ending) downloaded(d *schemas.DownloadFinished) []schemas.Message {
	if d.Result != schemas.Fetched {
		d.Result, d.Outcome, d.Exception, d.Message = schemas.Quarantined, schemas.Quarantined, schemas.Quarantined, e.message
		return []schemas.Message{e.event(d.Run, schemas.DownloadFinishedTopic, d.File, d)}
	}
	st := &schemas.StatusChanged{Scope: d.Scope, FileRef: d.FileRef, Entity: schemas.EntityDownload, Server: d.Server, Attempt: d.Attempt, Look: d.Look,
		Outcome: d.Outcome + "/" + schemas.Quarantined}
	st.Archive = d.SHA256
	return []schemas.Message{
		e.status(st, schemas.Unzip, schemas.Quarantined),
		e.event(d.Run, schemas.UnzipFinishedTopic, d.File, &schemas.UnzipFinished{Scope: d.Scope, FileRef: d.FileRef, Attempt: d.Attempt, Download: d.Outcome,
			Result: schemas.Quarantined, Outcome: schemas.Quarantined, SHA256: d.SHA256, Exception: schemas.Quarantined, Message: e.message}),
	}
}

// extracted ends a document that validate is not told of.
func (e *ending) extracted(d *schemas.DocumentExtracted) []schemas.Message {
	return []schemas.Message{
		e.status(&schemas.StatusChanged{Scope: d.Scope, FileRef: d.FileRef, DocumentRef: d.Named(), DocumentName: d.DocumentName, Entity: schemas.EntityDocument,
			Attempt: d.Attempt, Outcome: d.Download + "/" + d.Unzip, Bytes: d.Size}, schemas.XSD, schemas.Quarantined),
		e.event(d.Run, schemas.DocumentValidatedTopic, d.Document, &schemas.DocumentValidated{Scope: d.Scope, FileRef: d.FileRef, DocumentRef: d.DocumentRef,
			DocumentName: d.DocumentName, Attempt: d.Attempt, Download: d.Download, Unzip: d.Unzip, Result: schemas.Quarantined, Outcome: schemas.Quarantined,
			Phase: string(schemas.XSD), Exception: schemas.Quarantined, ErrorsTotal: 1, UnzipVersion: d.UnzipVersion}),
	}
}

// ordered tells how a document fared whose position was replaced by a failed
// one. What had failed before was told of by who judged it.
func (e *ending) ordered(o *schemas.DocumentOrdered) []schemas.Message {
	if o.What != schemas.PositionDocument || o.Result != schemas.Valid {
		return nil
	}
	return []schemas.Message{e.status(&schemas.StatusChanged{Scope: o.Scope, FileRef: o.FileRef, DocumentRef: o.Named(), DocumentName: o.DocumentName,
		Entity: schemas.EntityDocument, Attempt: o.Attempt, Outcome: o.Download + "/" + o.Unzip, FileDate: o.FileDate, FileInc: o.FileInc,
		Position: o.Position, StartedAt: &e.now}, schemas.Upload, schemas.EventTooLarge)}
}
