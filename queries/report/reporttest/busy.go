package reporttest

import (
	"fmt"
	"time"

	"tributary/schemas"
)

// Names of files in the busy story.
const (
	InsertedZip = "H.2026-11-20.01.impc.zip"
	InvalidZip  = "H.2026-11-20.02.impc.zip"
	RetriedZip  = "J.2026-11-20.01.impc.zip"
	RunningZip  = "J.2026-11-20.02.impc.zip"
)

// HostileText is text that must do no harm where it is shown.
const HostileText = "<script>alert(1)</script>\u202eexe.txt"

// Busy is a story of two centres and three sources: harwell delivers, jax is suspended
// since its host key changed, ics has a message that is hostile. Of two sessions one is
// closed and one open. One file is inserted with its batch of 3 documents, one has an
// invalid document, one is tried again after a transfer that was cut, one is fetched.
func Busy() []schemas.StatusChanged {
	at := func(s int) *time.Time { t := Start().Add(time.Duration(s) * time.Second); return &t }
	out := []schemas.StatusChanged{
		{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Attributes: map[string]string{"full_name": "MRC Harwell", "email": "data@example.org", "active": "true"}},
		{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "J"}, Attributes: map[string]string{"full_name": "The Jackson Laboratory", "active": "true"}},
	}
	source := func(name, centre, state string, more map[string]string) {
		a := map[string]string{"protocol": "sftp", "hostname": name + ".example.org:22", "state": state, "base_path": "/out", "accesskey": "file:key",
			"definition": fmt.Sprintf(`{"id":%q,"centre":%q,"url":"sftp://reader@%s.example.org/out","cron":"0 4 * * *"}`, name, centre, name)}
		for k, v := range more {
			a[k] = v
		}
		out = append(out, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: centre, Source: name}, Attributes: a})
	}
	source("harwell", "H", "available", nil)
	source("jax", "J", "suspended", map[string]string{"suspended_at": at(30).Format(time.RFC3339Nano), "suspended_why": "3 polls failed, the last with host_key_mismatch"})
	source("ics", "H", "available", nil)

	scope := func(session, centre, source string) schemas.Scope {
		return schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", session), Centre: centre, Source: source}
	}
	out = append(out,
		schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope("1", "", ""), Number: 1, StartedAt: at(0)},
		schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope("2", "", ""), Number: 2, StartedAt: at(1800)})
	polled := func(session, source string, second int, exception, message string) {
		e := schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope(session, "", source), Phase: "zip_name", Status: "done", StartedAt: at(second), FinishedAt: at(second + 2),
			Note: "complete", Attributes: map[string]string{"listed": "4", "new": "2", "clock": "its clock is right, by what it tells"}}
		if exception != "" {
			e.Status, e.Exception, e.Message, e.Note, e.Attributes = "failed", exception, message, "", nil
		}
		out = append(out, e)
	}
	polled("1", "harwell", 2, "", "")
	polled("1", "jax", 3, "host_key_mismatch", "shows SHA256:q7Vt")
	polled("2", "ics", 1801, "login_failed", HostileText)

	file := func(name, centre, source string, phase, status string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope("1", centre, source), FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"},
			Entity: schemas.EntityDownload, Attempt: 1, Phase: phase, Status: status}
	}
	named := func(name, centre, source string) {
		e := file(name, centre, source, "zip_name", "done")
		e.Entity, e.Attempt, e.FileDate, e.FileInc = schemas.EntityFile, 0, "2026-11-20", 1
		shown := file(name, centre, source, "", "")
		shown.Entity, shown.Attempt, shown.Look, shown.FileSize, shown.ListedAt, shown.Attributes = schemas.EntityHosting, 0, 1, 120, at(2), map[string]string{"state": "present"}
		out = append(out, e, shown)
	}
	for _, f := range []struct{ name, phase, status string }{{InsertedZip, "overview", "done"}, {InvalidZip, "xsd", "failed"}} {
		named(f.name, "H", "harwell")
		fetched := file(f.name, "H", "harwell", "zip_md5", "done")
		fetched.Outcome, fetched.SHA256, fetched.Bytes, fetched.FinishedAt = f.name, "aa11", 120, at(600)
		unzipped := file(f.name, "H", "harwell", "unzip", "done")
		unzipped.Outcome, unzipped.Rows, unzipped.FinishedAt = f.name+"/done", 1, at(601)
		accepted := file(f.name, "H", "harwell", "", "")
		accepted.Accepted = f.name + "/done"
		doc := file(f.name, "H", "harwell", f.phase, f.status)
		doc.Entity, doc.Entry, doc.Outcome, doc.DocCentre = schemas.EntityDocument, "H.2026-11-20.1.specimen.impc.xml", f.name+"/done", "H"
		doc.Document = schemas.DocumentID(doc.File, doc.Entry)
		if f.status == "failed" {
			doc.Exception, doc.ErrorsTotal = "xsd_invalid", 1
			doc.Errors = []schemas.ErrorDetail{{Line: 27, Column: 5, Exception: "xsd_invalid", Message: HostileText}}
		}
		out = append(out, fetched, unzipped, accepted, doc)
	}
	out = append(out, schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: scope("1", "H", ""), Number: 1, Status: "done", Rows: 3, StartedAt: at(602), FinishedAt: at(660)})

	named(RetriedZip, "J", "jax")
	cut := file(RetriedZip, "J", "jax", "download", "failed")
	cut.Outcome, cut.Exception, cut.Message = "truncated", "transfer_truncated", "40 of 120 bytes"
	accepted := file(RetriedZip, "J", "jax", "", "")
	accepted.Accepted = "truncated"
	again := file(RetriedZip, "J", "jax", "download", "pending")
	again.Attempt, again.RequestedAt = 2, at(700)
	named(RunningZip, "J", "jax")
	running, progress := file(RunningZip, "J", "jax", "download", "running"), file(RunningZip, "J", "jax", "download", "running")
	running.StartedAt, running.FileSize, progress.Attributes = at(1790), 120, schemas.Progress{Received: 60, Rate: 5}.Attributes()
	closed := schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope("1", "", ""), Number: 1, Phase: "zip_name", Status: "failed", Note: "polls failed", FinishedAt: at(900)}
	return append(out, cut, accepted, again, running, progress, closed)
}
