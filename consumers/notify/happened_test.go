package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/schemas"
)

func clock() time.Time { return time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC) }

// event is one of the log.
func event(id string, e schemas.StatusChanged) schemas.Message {
	if e.FileName != "" {
		e.File = schemas.FileID(e.Action, e.FileName)
	}
	return schemas.Message{ID: schemas.ID("event", id), Topic: schemas.StatusChangedTopic, Key: e.Action + e.FileName, Stage: "test", Time: clock(), Body: &e}
}

func ofFile(name, phase, status, exception string, with ...func(*schemas.StatusChanged)) schemas.StatusChanged {
	e := schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}, FileRef: schemas.FileRef{FileName: name, Action: schemas.Add},
		Entity: schemas.EntityDownload, Attempt: 1, Phase: phase, Status: status, Exception: exception, Accepted: "sha"}
	for _, w := range with {
		w(&e)
	}
	return e
}

func document(entry string) func(*schemas.StatusChanged) {
	return func(e *schemas.StatusChanged) { e.Entity, e.Entry, e.Accepted = schemas.EntityDocument, entry, "" }
}

func TestWhatEventsLeadTo(t *testing.T) {
	stages := func(e *schemas.StatusChanged) { e.Accepted = "" }
	suspended := map[string]string{"state": "suspended", "suspended_at": "2026-11-26T20:00:00Z", "suspended_why": "no answer"}
	source := func(note string, attributes map[string]string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}, Entity: schemas.EntitySource, Note: note, Attributes: attributes}
	}
	batch := func(st schemas.Status) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, Entity: schemas.EntityBatch, Status: string(st), Number: 3, Rows: 12}
	}
	tests := map[string]struct {
		event schemas.StatusChanged
		want  string
	}{
		"a fetch that failed for good":       {ofFile("a.zip", "download", "failed", "timeout"), "file_failed: add/a.zip failed in download: timeout"},
		"one that is tried again":            {ofFile("a.zip", "download", "failed", "timeout", func(e *schemas.StatusChanged) { e.Attributes = map[string]string{schemas.TriedAgain: "true"} }), ""},
		"a stage's word that it failed":      {ofFile("a.zip", "download", "failed", "timeout", stages), ""},
		"a name that breaks the convention":  {ofFile("a.zip", "zip_name", "failed", "bad_name", func(e *schemas.StatusChanged) { e.Entity, e.Accepted = schemas.EntityFile, "" }), "file_failed: add/a.zip failed in zip_name: bad_name"},
		"a document that is invalid":         {ofFile("a.zip", "xsd", "failed", "xsd_invalid", document("x.xml")), "file_failed: add/a.zip failed in xsd: xsd_invalid"},
		"a finding":                          {ofFile("a.zip", "data", "failed", "too_old", document("x.xml")), "finding_opened: add/a.zip: too_old in its data"},
		"bytes that came":                    {ofFile("a.zip", "zip_md5", "done", "", stages), "phase_reached: add/a.zip is through download\nphase_reached: add/a.zip is through zip_md5"},
		"bytes that were there before":       {ofFile("a.zip", "zip_md5", "done", ""), ""},
		"a stage's word that it is unzipped": {ofFile("a.zip", "unzip", "done", "", stages), ""},
		"unzipped":                           {ofFile("a.zip", "unzip", "done", ""), "phase_reached: add/a.zip is through unzip"},
		"a transfer that runs":               {ofFile("a.zip", "download", "running", "", stages), ""},
		"a document that is through": {ofFile("a.zip", "overview", "done", "", document("x.xml"), func(e *schemas.StatusChanged) { e.Passed = []schemas.PassedPhase{{Phase: "data"}} }),
			"phase_reached: add/a.zip/x.xml is through data\nphase_reached: add/a.zip/x.xml is through overview"},
		"a replay's":              {ofFile("a.zip", "download", "failed", "timeout", func(e *schemas.StatusChanged) { e.Run = schemas.ID("a replay") }), ""},
		"a batch that is out":     {batch(schemas.Running), ""},
		"a batch that is closed":  {batch(schemas.Done), "batch_closed: Batch 3 of H is closed: 12 documents"},
		"a source that suspended": {source("", suspended), "source_suspended: The source harwell of H is suspended"},
		"an overrun of it":        {source(schemas.NoteOverrun, suspended), ""},
		"a source that changed":   {source("", map[string]string{"state": "available"}), ""},
		"a server's clock":        {source(schemas.NoteClockSkewed, map[string]string{"clock_skew": "1h0m0s"}), "server_clock_skewed: The clock of the server of harwell (H): "},
		"a source that is late":   {source(schemas.NoteLate, nil), "centre_late: The files of H are late (harwell)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := event(name, tt.event)
			var got []string
			for _, n := range happened(m, m.Body.(*schemas.StatusChanged)) {
				got = append(got, n.Kind+": "+n.Title)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What many documents of one attempt say alike is one notice; another attempt, another
// reason and another check are others.
func TestNoticesAreOfWhatTheyAreAbout(t *testing.T) {
	id := func(e schemas.StatusChanged, cause string) string {
		m := event(cause, e)
		return happened(m, m.Body.(*schemas.StatusChanged))[0].ID
	}
	first := ofFile("a.zip", "xsd", "failed", "xsd_invalid", document("1.xml"))
	if id(first, "1") != id(ofFile("a.zip", "xsd", "failed", "xsd_invalid", document("2.xml")), "2") {
		t.Error("the second document of a file that fails alike is told again")
	}
	ids := map[string]bool{id(first, "1"): true}
	for n, other := range []schemas.StatusChanged{
		ofFile("b.zip", "xsd", "failed", "xsd_invalid", document("1.xml")), ofFile("a.zip", "xml_name", "failed", "bad_name", document("1.xml")),
		ofFile("a.zip", "xsd", "failed", "xsd_invalid", document("1.xml"), func(e *schemas.StatusChanged) { e.Attempt = 2 }),
		ofFile("a.zip", "data", "failed", "too_old", document("1.xml")), ofFile("a.zip", "data", "failed", "too_old", document("1.xml"), func(e *schemas.StatusChanged) { e.Check = 2 }),
	} {
		if at := id(other, "1"); ids[at] {
			t.Errorf("%d has the id of another", n)
		} else {
			ids[at] = true
		}
	}
}

func TestRulesLimitWhatIsTold(t *testing.T) {
	all := []config.NotifyRule{
		{When: config.FileFailed, To: []string{"ops", "mice"}, Centres: []string{"h"}, Exceptions: []string{"timeout", "xsd_invalid"}},
		{When: config.FileFailed, To: []string{"ics"}, Sources: []string{"ics"}},
		{When: config.PhaseReached, To: []string{"ops"}, Phase: "upload"},
	}
	failed := ofFile("a.zip", "xsd", "failed", "xsd_invalid", document("1.xml"))
	elsewhere := failed
	elsewhere.Centre, elsewhere.Source = "J", "jax"
	for name, tt := range map[string]struct {
		e    schemas.StatusChanged
		want []string
	}{
		"centre and exception named": {failed, []string{"ops", "mice"}},
		"another centre":             {elsewhere, nil},
		"another exception":          {ofFile("a.zip", "xsd", "failed", "xml_broken", document("1.xml")), nil},
		"the phase":                  {ofFile("a.zip", "upload", "done", "", document("1.xml")), []string{"ops"}},
		"another phase":              {ofFile("a.zip", "xsd", "done", "", document("1.xml")), nil},
		"the source named":           {ofFile("a.zip", "xsd", "failed", "x", func(e *schemas.StatusChanged) { e.Centre, e.Source = "Ics", "ics" }), []string{"ics"}},
	} {
		var got []string
		for _, target := range []string{"ops", "mice", "ics"} {
			if len(of(all, target).wanted(event("1", tt.e))) > 0 {
				got = append(got, target)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s is told to (-want +got):\n%s", name, diff)
		}
	}
}
