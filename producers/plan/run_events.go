package plan

import (
	"fmt"
	"strconv"
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

// replayedNote is the note of attempts that begin with what was brought before.
const replayedNote = "replayed"

// runEvent tells what became of a replay as a whole: who did what, and why.
func runEvent(r *control.ReplayRun, what, reason string, items int64) schemas.Message {
	state := map[string]schemas.Status{control.ReplayRunning: schemas.Running, control.ReplayStopped: schemas.Pending, control.ReplayDone: schemas.Done}[r.State]
	more := map[string]string{"from": r.Phase, "by": r.ChangedBy, "reason": reason}
	if what == schemas.ReplayRequested {
		more["items"] = strconv.FormatInt(items, 10)
		for key, value := range map[string]string{"where": r.Predicate, "offsets": r.Offsets, "since": moment(r.Since), "until": moment(r.Until),
			"shadow": r.Shadow, "promotes": r.Promotes, "versions": string(r.Versions)} {
			if value != "" {
				more[key] = value
			}
		}
		if r.Rate > 0 {
			more["rate"] = strconv.FormatFloat(r.Rate, 'g', -1, 64)
		}
	}
	return status(schemas.EventID(stageName, r.ID, "replay", what, strconv.Itoa(int(r.Changes))), r.ID, "replay "+strconv.FormatInt(r.Number, 10), r.ChangedAt, &schemas.StatusChanged{
		Scope: schemas.Scope{Run: r.ID}, Entity: schemas.EntityReplay, Status: string(state), Note: what, Number: r.Number, Rows: items,
		Revision: int64(r.Changes) + 1, Attributes: more,
	})
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// broughtMessage is the outcome of a download whose bytes are taken from the
// store.
func broughtMessage(f *fileWorld, a *control.Acquisition, t *control.Attempt, now time.Time) schemas.Message {
	return schemas.Message{
		ID:    schemas.EventID(stageName, a.Run, f.ID, schemas.DownloadFinishedTopic, strconv.Itoa(int(t.Attempt))),
		Topic: schemas.DownloadFinishedTopic, Key: f.ID, Stage: stageName, Subject: f.subject(), Time: now,
		Body: &schemas.DownloadFinished{
			Scope: schemas.Scope{Run: a.Run, Centre: a.Domain, Source: t.Source}, FileRef: f.ref(), Attempt: t.Attempt, Look: t.Look,
			Result: schemas.Fetched, Outcome: a.Download, SHA256: a.SHA256, Size: a.Size, Last: true,
		},
	}
}

// broughtEvent tells the same to the log. With repeats the file goes on showing
// that attempt, since it has other bytes by now.
func broughtEvent(f *fileWorld, a *control.Acquisition, t *control.Attempt, repeats int32, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Outcome, body.Note, body.Repeats = string(schemas.ZipMD5), string(schemas.Done), a.Download, replayedNote, repeats
	body.Archive, body.SHA256, body.RequestedAt = a.SHA256, a.SHA256, &now
	return status(schemas.EventID(stageName, a.Run, f.ID, "brought", strconv.Itoa(int(t.Attempt))), f.ID, f.subject(), now, body)
}

func documentID(kind string, v *schemas.DocumentValidated) string {
	return schemas.EventID(stageName, v.Run, v.Document, kind, strconv.Itoa(int(v.Attempt)))
}

// extractedMessage announces a document again.
func extractedMessage(f *fileWorld, v *schemas.DocumentValidated, exception, message string, now time.Time) schemas.Message {
	return schemas.Message{
		ID: documentID(schemas.DocumentExtractedTopic, v), Topic: schemas.DocumentExtractedTopic, Key: v.Document, Stage: stageName,
		Subject: f.subject() + "/" + v.Entry, Time: now,
		Body: &schemas.DocumentExtracted{Scope: v.Scope, FileRef: v.FileRef, DocumentRef: v.DocumentRef, DocumentName: v.DocumentName,
			Attempt: v.Attempt, Download: v.Download, Unzip: v.Unzip, Exception: exception, Message: message, UnzipVersion: v.UnzipVersion},
	}
}

// document is what is told of a document of an attempt.
func (f *fileWorld) document(a *control.Acquisition, v *schemas.DocumentValidated) *schemas.StatusChanged {
	return &schemas.StatusChanged{Scope: v.Scope, FileRef: f.ref(), DocumentRef: v.DocumentRef, DocumentName: v.DocumentName, Entity: schemas.EntityDocument,
		Attempt: a.Attempt, Outcome: a.Download + "/" + a.Unzip, Note: replayedNote}
}

// namedEvent tells how a document's name was judged.
func namedEvent(f *fileWorld, a *control.Acquisition, v *schemas.DocumentValidated, exception, message string, now time.Time) schemas.Message {
	body := f.document(a, v)
	body.Phase, body.Status, body.VersionOf = string(schemas.XMLName), string(schemas.Done), v.UnzipVersion
	if exception != "" {
		body.Status, body.Exception, body.Message = string(schemas.Failed), exception, message
		body.Errors, body.ErrorsTotal = []schemas.ErrorDetail{{Exception: exception, Message: message}}, 1
	}
	return status(documentID("named", v), f.ID, f.subject()+"/"+v.Entry, now, body)
}

// judgedEvent tells the verdict that a document has from before, and by what it
// was judged then.
func judgedEvent(f *fileWorld, a *control.Acquisition, v *schemas.DocumentValidated, judged *control.Acquisition, now time.Time) schemas.Message {
	body := f.document(a, v)
	body.Phase, body.Status = string(schemas.XSD), string(schemas.Done)
	if v.Result != schemas.Valid {
		body.Phase, body.Status, body.Exception, body.ErrorsTotal = v.Phase, string(schemas.Failed), v.Exception, v.ErrorsTotal
		body.Message = fmt.Sprintf("judged so in attempt %d, which has every error", judged.Attempt)
	}
	if body.Phase == string(schemas.XMLName) {
		body.VersionOf = v.UnzipVersion
	} else {
		body.VersionOf, body.Passed = v.XSDVersion, []schemas.PassedPhase{{Phase: string(schemas.XMLName), VersionOf: v.UnzipVersion}}
	}
	return status(documentID("judged", v), f.ID, f.subject()+"/"+v.Entry, now, body)
}
