package reporttest

import (
	"strconv"
	"strings"
	"time"

	"tributary/schemas"
)

// HostileZip, HostileXML, HostileSource and HostileMessage are names and a message that
// mean harm: markup, quotes, turned text, a path, and much of it.
const (
	HostileZip     = "<script>alert(1)</script>\u202egnp.\"'&?#%2f..zip"
	HostileXML     = "a/../<img src=x onerror=alert(1)>\u2066?#%.xml"
	HostileSource  = "\"><svg onload=alert(1)>"
	HostileMessage = "</p><script>alert(2)</script>{{.}}\u202e" + "javascript:alert(3)"
)

// Hostile is the story with a file, a document, a source and messages that mean harm
// besides, and with many more files than a page shows.
func Hostile() []schemas.StatusChanged {
	scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: HostileSource}
	ref := schemas.FileRef{File: schemas.FileID("edit", HostileZip), FileName: HostileZip, Action: "edit"}
	got := func(phase, status, outcome string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Phase: phase, Status: status, Outcome: outcome}
	}
	came := got("zip_md5", "done", "ee")
	came.SHA256, came.FinishedAt = "ee", new(Start().Add(time.Minute))
	came.Attributes = map[string]string{"request_head": HostileMessage, "response_head": strings.Repeat("<b>", 5000), "resumed_from": "-1", "received": "<b>"}
	unzipped := got("unzip", "done", "ee/done")
	unzipped.Rows = 1
	accepted := got("", "", "")
	accepted.Accepted = "ee/done"
	document := got("xsd", "failed", "ee/done")
	document.Entity, document.Entry, document.Document = schemas.EntityDocument, HostileXML, schemas.DocumentID(ref.File, HostileXML)
	document.Exception, document.ErrorsTotal = "xsd_invalid", 3
	document.Errors = []schemas.ErrorDetail{{Line: 1, Column: 1, Exception: "xsd_invalid", Message: HostileMessage}, {Line: 2, Column: 1, Exception: "<b>", Message: strings.Repeat("long ", 800)}}
	listed := got("", "", "")
	listed.Entity, listed.Attempt, listed.Look, listed.Attributes = schemas.EntityHosting, 0, 1, map[string]string{"state": "present", "listed." + HostileMessage: HostileMessage}
	out := append(Story(), listed, got("download", "running", ""), came, unzipped, accepted, document)
	for i := range 70 {
		name := "H.2013-01-01." + strconv.Itoa(i) + ".impc.zip"
		out = append(out, schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}, FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"},
			Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2013-01-01", FileInc: int64(i)})
	}
	return out
}
