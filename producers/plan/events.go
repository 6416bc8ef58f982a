package plan

import (
	"strconv"
	"time"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// Status is an event of status.changed about a decision.
func Status(id, key, subject string, now time.Time, body *schemas.StatusChanged) schemas.Message {
	return schemas.Message{ID: id, Topic: schemas.StatusChangedTopic, Key: key, Stage: Stage, Subject: subject, Time: now, Body: body}
}

// Ref is how events name the file.
func (f *File) Ref() schemas.FileRef {
	return schemas.FileRef{File: f.ID, FileName: f.Name, Action: f.Action}
}

// Subject is how people name the file.
func (f *File) Subject() string { return f.Action + "/" + f.Name }

// passedEvent tells that a look is not fetched, since another hosting's is.
func passedEvent(f *File, k *control.Look, note string, now time.Time) schemas.Message {
	return Status(schemas.EventID(Stage, schemas.LiveRun, k.Source+"/"+f.ID, "passed", strconv.Itoa(int(k.Look))), f.ID, f.Subject(), now, &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: pg.Value(k.Session), Centre: f.Centre, Source: k.Source},
		FileRef: f.Ref(), Entity: schemas.EntityHosting, Look: k.Look, FileSize: k.Size, ListedAt: &k.ListedAt, Note: note, Revision: 1,
		Attributes: map[string]string{"state": "present"},
	})
}

func (f *File) download(a *control.Acquisition, t *control.Attempt) *schemas.StatusChanged {
	return &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: a.Run, Session: pg.Value(a.Session), Centre: f.Centre, Source: t.Source},
		FileRef: f.Ref(), Entity: schemas.EntityDownload, Attempt: t.Attempt, Look: t.Look, FileSize: a.Size,
	}
}

// attemptEvent tells control's judgement of an attempt that failed, or was not
// tried.
func attemptEvent(f *File, a *control.Acquisition, t *control.Attempt, phase string, st schemas.Status, exception, message, note, outcome string, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Exception, body.Message, body.Note = phase, string(st), exception, message, note
	body.Outcome, body.Accepted = outcome, outcome
	if body.Phase == "" {
		body.Phase = string(schemas.Download)
	}
	return Status(schemas.EventID(Stage, a.Run, f.ID, "judged", strconv.Itoa(int(t.Attempt)), outcome), f.ID, f.Subject(), now, body)
}

// triedAgain says of a failed attempt that another one follows.
func triedAgain(m schemas.Message) schemas.Message {
	if e, ok := m.Body.(*schemas.StatusChanged); ok {
		e.Attributes = map[string]string{schemas.TriedAgain: "true"}
	}
	return m
}

// acceptedEvent tells that an archive's documents are those to be awaited.
func acceptedEvent(f *File, a *control.Acquisition, t *control.Attempt, outcome string, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status = string(schemas.Unzip), string(schemas.Done)
	body.Outcome, body.Accepted, body.Archive, body.SHA256, body.Rows = outcome, outcome, a.SHA256, a.SHA256, int64(a.Documents)
	return Status(schemas.EventID(Stage, a.Run, f.ID, "accepted", strconv.Itoa(int(t.Attempt)), outcome), f.ID, f.Subject(), now, body)
}

// duplicateEvent tells that an attempt brought the bytes that the file shows.
func duplicateEvent(f *File, a *control.Acquisition, t *control.Attempt, outcome string, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Note = string(schemas.ZipMD5), string(schemas.Done), "duplicate"
	body.Outcome, body.Accepted, body.Repeats, body.Archive, body.SHA256 = outcome, outcome, f.CurrentAttempt, a.SHA256, a.SHA256
	return Status(schemas.EventID(Stage, a.Run, f.ID, "duplicate", strconv.Itoa(int(t.Attempt)), outcome), f.ID, f.Subject(), now, body)
}

// SameBytes begins what is said of a file that is not loaded, before its origin.
const SameBytes = "not loaded, as the profile has it: it holds the same bytes as "

// originEvent tells that an attempt brought the bytes that another file shows.
func originEvent(f *File, a *control.Acquisition, t *control.Attempt, outcome, origin string, now time.Time) schemas.Message {
	m := duplicateEvent(f, a, t, outcome, now)
	if body, ok := m.Body.(*schemas.StatusChanged); ok {
		body.Repeats, body.Message, body.Attributes = 0, a.Message, map[string]string{schemas.Origin: origin}
	}
	return m
}

// pendingEvent tells that an attempt waits: announced after a failed one, or
// requested in a job.
func pendingEvent(f *File, a *control.Acquisition, t *control.Attempt, kind, server string, mtime, requested *time.Time, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Server, body.ModTime, body.RequestedAt = string(schemas.Download), string(schemas.Pending), server, mtime, requested
	if a.Heals != "" {
		body.Exception, body.Message = blob.DamagedName, "the stored bytes "+a.Heals+" are damaged or gone, and are fetched again"
	}
	return Status(schemas.EventID(Stage, a.Run, f.ID, kind, strconv.Itoa(int(t.Attempt))), f.ID, f.Subject(), now, body)
}
