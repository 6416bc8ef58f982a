package replay

import (
	"fmt"
	"strconv"
	"time"

	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// replayedNote is the note of documents that are announced or judged again.
const replayedNote = "replayed"

// replayEvent tells what became of a replay as a whole: who did what, and why.
func replayEvent(r *control.ReplayRun, what, reason string, items int64) schemas.Message {
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
	return plan.Status(schemas.EventID(plan.Stage, r.ID, "replay", what, strconv.Itoa(int(r.Changes))), r.ID, "replay "+strconv.FormatInt(r.Number, 10), r.ChangedAt, &schemas.StatusChanged{
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

func documentID(kind string, v *schemas.DocumentValidated) string {
	return schemas.EventID(plan.Stage, v.Run, v.Document, kind, strconv.Itoa(int(v.Attempt)))
}

// extractedMessage announces a document again.
func extractedMessage(f *plan.File, v *schemas.DocumentValidated, exception, message string, now time.Time) schemas.Message {
	return schemas.Message{
		ID: documentID(schemas.DocumentExtractedTopic, v), Topic: schemas.DocumentExtractedTopic, Key: v.Document, Stage: plan.Stage,
		Subject: f.Subject() + "/" + v.Entry, Time: now,
		Body: &schemas.DocumentExtracted{Scope: v.Scope, FileRef: v.FileRef, DocumentRef: v.DocumentRef, DocumentName: v.DocumentName,
			Attempt: v.Attempt, Download: v.Download, Unzip: v.Unzip, Exception: exception, Message: message, UnzipVersion: v.UnzipVersion},
	}
}

// documentStatus is what is told of a document of an attempt.
func documentStatus(f *plan.File, a *control.Acquisition, v *schemas.DocumentValidated) *schemas.StatusChanged {
	return &schemas.StatusChanged{Scope: v.Scope, FileRef: f.Ref(), DocumentRef: v.DocumentRef, DocumentName: v.DocumentName, Entity: schemas.EntityDocument,
		Attempt: a.Attempt, Outcome: a.Download + "/" + a.Unzip, Note: replayedNote}
}

// namedEvent tells how a document's name was judged.
func namedEvent(f *plan.File, a *control.Acquisition, v *schemas.DocumentValidated, exception, message string, now time.Time) schemas.Message {
	body := documentStatus(f, a, v)
	body.Phase, body.Status, body.VersionOf = string(schemas.XMLName), string(schemas.Done), v.UnzipVersion
	if exception != "" {
		body.Status, body.Exception, body.Message = string(schemas.Failed), exception, message
		body.Errors, body.ErrorsTotal = []schemas.ErrorDetail{{Exception: exception, Message: message}}, 1
	}
	return plan.Status(documentID("named", v), f.ID, f.Subject()+"/"+v.Entry, now, body)
}

// judgedEvent tells the verdict that a document has from before, and by what it
// was judged then.
func judgedEvent(f *plan.File, a *control.Acquisition, v *schemas.DocumentValidated, judged *control.Acquisition, now time.Time) schemas.Message {
	body := documentStatus(f, a, v)
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
	return plan.Status(documentID("judged", v), f.ID, f.Subject()+"/"+v.Entry, now, body)
}
