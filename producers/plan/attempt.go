package plan

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// Fetch begins an attempt of a run that fetches a file from a hosting.
func (w *World) Fetch(f *File, run string, from control.Hosting) *control.Acquisition {
	f.Attempts++
	a := &control.Acquisition{Run: run, File: f.ID, Domain: f.Centre, Source: from.Source, Look: from.Look, Size: from.Size,
		State: control.Wanted, NotBefore: w.now, Attempt: f.Attempts}
	t := &control.Attempt{Run: run, File: f.ID, Attempt: a.Attempt, Source: from.Source, Look: from.Look}
	w.Tell(pendingEvent(f, a, t, "announced", from.Server, from.ModTime, nil, w.now))
	f.add(a)
	return a
}

// Reuse begins an attempt of a run with the bytes that an earlier acquisition
// has brought, and with its rank. Which version the file shows is not changed.
func (w *World) Reuse(f *File, run string, was *control.Acquisition) (*control.Acquisition, *control.Attempt) {
	f.Attempts++
	a := &control.Acquisition{Run: run, File: f.ID, Domain: f.Centre, Source: was.Source, Look: was.Look, Size: was.Size,
		State: control.Received, NotBefore: w.now, Attempt: f.Attempts, Download: was.Download, SHA256: was.SHA256}
	ranked(a, was)
	t := &control.Attempt{Run: run, File: f.ID, Attempt: a.Attempt, Source: was.Source, Look: was.Look, Job: uuid.Nil.String(), Download: a.Download, Changed: true}
	if before := w.Attempt(was.Run, f.ID, was.Attempt); before != nil {
		t.Source, t.Look = before.Source, before.Look
	}
	w.attempts[control.AttemptKey{Run: run, File: f.ID, Attempt: t.Attempt}] = t
	f.add(a)
	return a, t
}

// Finished is the outcome of a download whose bytes are taken from the store. It
// is kept with the acquisition, to be repeated when the attempt goes silent.
func (w *World) Finished(f *File, a *control.Acquisition, t *control.Attempt) schemas.Message {
	m := schemas.Message{
		ID:    schemas.EventID(Stage, a.Run, f.ID, schemas.DownloadFinishedTopic, strconv.Itoa(int(t.Attempt))),
		Topic: schemas.DownloadFinishedTopic, Key: f.ID, Stage: Stage, Subject: f.Subject(), Time: w.now,
		Body: &schemas.DownloadFinished{
			Scope: schemas.Scope{Run: a.Run, Centre: a.Domain, Source: t.Source}, FileRef: f.Ref(), Attempt: t.Attempt, Look: t.Look,
			Result: schemas.Fetched, Outcome: a.Download, SHA256: a.SHA256, Size: a.Size, Last: true,
		},
	}
	if rec, err := w.outbox.Codec.Encode(m); err == nil { // an event that cannot be encoded fails the outbox, too
		a.LastEvent, a.LastHeaders = rec.Value, rec.Headers
	}
	return m
}

// Reused tells that an attempt begins with bytes that were brought before. With
// repeats the file goes on showing that attempt, since it has other bytes by now.
func (w *World) Reused(f *File, a *control.Acquisition, t *control.Attempt, repeats int32) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Outcome, body.Note, body.Repeats = string(schemas.ZipMD5), string(schemas.Done), a.Download, "replayed", repeats
	body.Archive, body.SHA256, body.RequestedAt = a.SHA256, a.SHA256, &w.now
	return Status(schemas.EventID(Stage, a.Run, f.ID, "brought", strconv.Itoa(int(t.Attempt))), f.ID, f.Subject(), w.now, body)
}

// Accepted tells that an attempt's documents are those to be awaited.
func (w *World) Accepted(f *File, a *control.Acquisition, t *control.Attempt) schemas.Message {
	return acceptedEvent(f, a, t, a.Download+"/"+a.Unzip, w.now)
}

// Add stores an acquisition that Fetch or Reuse has begun, so that it has an id.
func (w *World) Add(ctx context.Context, tx pgx.Tx, a *control.Acquisition) error {
	if err := control.AddAcquisition(ctx, tx, a); err != nil {
		return err
	}
	if t := w.Attempt(a.Run, a.File, a.Attempt); t != nil {
		t.Acquisition = a.ID
	}
	return nil
}
