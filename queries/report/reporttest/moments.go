package reporttest

import (
	"slices"
	"time"

	"tributary/schemas"
)

// Moments is the busy story with a document that data checks found wrong ("finding"), a
// file that was given up ("died", then "accepted"), what was decided about that
// ("dropped", then "retried"), and a replay, number 7, that was "asked" for, of which a file "failed", and
// that was "stopped". It tells a moment just after each of these, as addresses have it.
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
	return events, func(name string) string {
		return Start().Add(time.Duration(at[name])*time.Second + time.Second/2).Format(time.RFC3339Nano)
	}
}
