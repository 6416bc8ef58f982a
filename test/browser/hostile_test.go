package browser

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// texts are names and messages that would like to be more than text.
func texts() []string {
	return []string{
		`<img src=x onerror=alert(1)>.zip`,
		`"><script>alert(1)</script>.zip`,
		`'); alert(1); ('{{.}}${alert(1)}.zip`,
		"Bcm.2026\u202epiz.exe\u2066\u200f.zip",
		"two\nlines\x1b[31m\a\u2028\u0085.zip",
		"javascript:alert(1)//.zip",
		strings.Repeat("A", 4096) + ".zip",
		strings.Repeat("ص", 2048) + ".zip",
	}
}

// hostile are events with such texts: names of files, messages and notes, heads of
// answers, what a document is called, why a source rests.
func hostile() []schemas.StatusChanged {
	var all []schemas.StatusChanged
	for i, text := range texts() {
		ref := schemas.FileRef{File: schemas.FileID("add", text), FileName: text, Action: "add"}
		scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: "harwell"}
		failed := schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Phase: "unzip", Status: "failed", Outcome: "aa/bad_crc",
			Exception: "bad_crc", Message: text, Note: text}
		came := failed
		came.Phase, came.Status, came.Outcome, came.Exception, came.SHA256, came.FinishedAt = "zip_md5", "done", "aa", "", "aa", new(reporttest.Start())
		came.Attributes = schemas.Transfer{From: 1, Request: text, Response: text}.Attributes()
		taken := failed
		taken.Phase, taken.Status, taken.Exception, taken.Outcome, taken.Accepted = "", "", "", "", "aa/bad_crc"
		document := failed
		document.Entity, document.Phase, document.Exception = schemas.EntityDocument, "xsd", "xsd_invalid"
		document.Entry, document.Document, document.DocCentre = text, schemas.DocumentID(ref.File, text), "H"
		document.ErrorsTotal, document.Errors = 1, []schemas.ErrorDetail{{Line: 1, Column: 1, Exception: "xsd_enumeration", Message: text}}
		all = append(all, schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", FileDate: "2012-10-02", FileInc: int64(i) + 1},
			came, failed, taken, document, schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityFile, Note: text, Attributes: map[string]string{"by": text, "reason": text}})
	}
	all = append(all, schemas.StatusChanged{Entity: schemas.EntityMember, Message: "told to stop by ann", Attributes: map[string]string{"by": "ann", "member": "m1", "roles": "poll"}})
	return append(all, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: texts()[0]},
		Attributes: map[string]string{"state": "suspended", "hostname": texts()[1], "base_path": texts()[6], "suspended_why": texts()[3]}})
}

// Addresses with such texts are answered with a page, whatever it says; no script of
// theirs runs, and the page keeps its form.
func TestHostileAddresses(t *testing.T) {
	long(t)
	rules, shots := axe(t), screenshots(t)
	at, _ := serve(t, reporttest.Told(t, append(reporttest.Story(), hostile()...)), "127.0.0.1:0")
	b := open(t, at)
	for _, l := range []look{{1440, "light", true}, {390, "dark", true}} {
		b.use(l)
		for _, text := range texts() {
			text = text[:min(len(text), 3000)]
			for _, address := range []string{"/?q=" + url.QueryEscape(text) + "#" + url.PathEscape(text), "/files?q=" + url.QueryEscape(text), "/audit?by=" + url.QueryEscape(text), "/files/add/" + url.PathEscape(text)} {
				b.inspect(address, l, rules, shots)
			}
		}
	}
	t.Log("screenshots are in " + filepath.Clean(shots))
}
