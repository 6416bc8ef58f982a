package reporttest

import (
	"slices"
	"time"

	"tributary/schemas"
)

// Moments is the busy story with a document that data checks found wrong ("finding"), a
// file that was given up ("died", then "accepted"), what was decided about that
// ("dropped", then "retried"), a replay, number 7, that was "asked" for, of which a file "failed", and
// that was "stopped", a batch whose end told of oddities ("odd"), and a shadow run, number
// 8: "begun", "half" through with a file of two documents, and "judged". It tells a moment just after each of these, as addresses have it.
func Moments() (events []schemas.StatusChanged, after func(name string) string) {
	events = Busy()
	at := map[string]int{"finding": slices.IndexFunc(events, func(e schemas.StatusChanged) bool { return e.Exception == "xsd_invalid" })}
	found := &events[at["finding"]]
	found.Phase, found.Exception, found.Errors = string(schemas.Data), "specimen_unknown", nil
	tell := func(name string, e schemas.StatusChanged) {
		at[name], events = len(events), append(events, e)
	}
	attempt := func(run string, n int32, phase, exception string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: schemas.Scope{Run: run, Centre: "J", Source: "jax"}, FileRef: schemas.FileRef{File: schemas.FileID("add", RunningZip), FileName: RunningZip, Action: "add"},
			Entity: schemas.EntityDownload, Attempt: n, Phase: phase, Status: string(schemas.Failed), Exception: exception, Outcome: exception}
	}
	died := attempt(schemas.LiveRun, 1, string(schemas.Download), "quarantined")
	tell("died", died)
	died.Phase, died.Status, died.Exception, died.Outcome, died.Accepted = "", "", "", "", "quarantined"
	tell("accepted", died)
	tell("dropped", schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun}, FileRef: died.FileRef, Entity: schemas.EntityFile, Note: "dead_letter_dropped",
		Attributes: map[string]string{"dead_letter": "download:0:3", "stage": "download", "by": "dan", "reason": "no use"}})
	tell("retried", schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun}, FileRef: died.FileRef, Entity: schemas.EntityFile, Note: "dead_letter_retried",
		Attributes: map[string]string{"dead_letter": "download:0:3", "stage": "download", "by": "ann", "reason": HostileText}})
	run := schemas.ID("run", "moments")
	replay := schemas.StatusChanged{Scope: schemas.Scope{Run: run}, Entity: schemas.EntityReplay, Status: string(schemas.Running), Note: schemas.ReplayRequested, Number: 7, Rows: 3, Revision: 1,
		Attributes: map[string]string{"from": schemas.FromXSD, "by": "ben", "reason": HostileText, "where": "centre = 'J'", "items": "3"}}
	tell("asked", replay)
	tell("failed", attempt(run, 2, string(schemas.Download), "transfer_truncated"))
	replay.Status, replay.Note, replay.Revision, replay.Attributes = string(schemas.Pending), "stopped", 2, map[string]string{"by": "cid", "reason": "later"}
	tell("stopped", replay)
	tell("odd", schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, Entity: schemas.EntityBatch, Status: string(schemas.Done), Number: 2, Position: 9, Rows: 1,
		Attributes: map[string]string{schemas.Findings: "6", "warn" + schemas.FindingsOf + "date_odd": "2", "warn" + schemas.FindingsOf + HostileText: "3", "info" + schemas.FindingsOf + "already_present": "1"}})
	const shadow = "00000000-0000-8000-8000-000000000008"
	replay.Run, replay.Number, replay.Status, replay.Note, replay.Rows, replay.Revision = shadow, 8, string(schemas.Running), schemas.ReplayRequested, 2, 1
	replay.Attributes = map[string]string{"from": schemas.FromXSD, "by": "ben", "shadow": "tighter", "items": "2"}
	tell("begun", replay)
	accepted := attempt(shadow, 3, string(schemas.Unzip), "")
	accepted.Status, accepted.Outcome, accepted.Accepted, accepted.SHA256, accepted.Rows = string(schemas.Done), "aa/done", "aa/done", "aa", 2
	tell("accepted by the shadow", accepted)
	verdict := func(entry, status, exception string) schemas.StatusChanged {
		e := attempt(shadow, 3, string(schemas.XSD), exception)
		e.Entity, e.Status, e.Outcome, e.Entry = schemas.EntityDocument, status, "aa/done", entry
		e.Document = schemas.DocumentID(e.File, entry)
		return e
	}
	tell("half", verdict("1.xml", string(schemas.Done), ""))
	tell("judged", verdict("2.xml", string(schemas.Failed), "xsd_invalid"))
	return events, func(name string) string {
		return Start().Add(time.Duration(at[name])*time.Second + time.Second/2).Format(time.RFC3339Nano)
	}
}
