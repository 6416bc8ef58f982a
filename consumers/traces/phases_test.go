package traces

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

func seconds(n int) *time.Time {
	t := time.Date(2026, 11, 24, 4, 0, n, 0, time.UTC)
	return &t
}

const outcome = "aa11/done"

// story is what the log says of a file of one document, of which the first attempt
// to fetch it failed.
func story() []schemas.Message {
	file := schemas.FileRef{File: schemas.FileID("add", "H.zip"), FileName: "H.zip", Action: "add"}
	scope := schemas.Scope{Run: schemas.LiveRun, Session: "session-1", Centre: "H", Source: "harwell"}
	var out []schemas.Message
	tell := func(stage string, told int, e schemas.StatusChanged) {
		e.Scope, e.FileRef = scope, file
		out = append(out, schemas.Message{ID: schemas.ID(stage, strconv.Itoa(told), e.Entity, e.Phase), Topic: schemas.StatusChangedTopic, Key: file.File, Stage: stage, Time: *seconds(told), Body: &e})
	}
	doc := func(e schemas.StatusChanged) schemas.StatusChanged {
		e.Entity, e.Attempt, e.Outcome, e.Document, e.Entry = schemas.EntityDocument, 2, outcome, "doc", "d.xml"
		return e
	}
	tell("poll", 1, schemas.StatusChanged{Entity: schemas.EntityFile, Phase: "zip_name", Status: "done"})
	tell("poll", 1, schemas.StatusChanged{Entity: schemas.EntityHosting, Note: "unsettled", ListedAt: seconds(1), Attributes: map[string]string{"state": "present"}})
	tell("poll", 3, schemas.StatusChanged{Entity: schemas.EntityHosting, ListedAt: seconds(1), FileSize: 70, Attributes: map[string]string{"state": "present"}})
	tell("plan", 4, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 1, Phase: "download", Status: "pending", RequestedAt: seconds(4)})
	tell("download", 7, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 1, Phase: "download", Status: "failed", Exception: "timed_out", Message: "no answer", Outcome: "timed_out",
		Server: "files.example.org:22", RequestedAt: seconds(4), StartedAt: seconds(5), FinishedAt: seconds(7)})
	tell("plan", 8, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 2, Phase: "download", Status: "pending", RequestedAt: seconds(8)})
	tell("download", 9, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 2, Phase: "download", Status: "running", RequestedAt: seconds(8), StartedAt: seconds(9)})
	tell("download", 11, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 2, Phase: "zip_md5", Status: "done", Outcome: "aa11",
		Server: "files.example.org:22", RequestedAt: seconds(8), StartedAt: seconds(9), FinishedAt: seconds(11)})
	tell("unzip", 14, doc(schemas.StatusChanged{Phase: "xml_name", Status: "done", StartedAt: seconds(12), FinishedAt: seconds(14)}))
	tell("unzip", 15, schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 2, Phase: "unzip", Status: "done", Outcome: outcome, StartedAt: seconds(12), FinishedAt: seconds(15)})
	tell("validate", 17, doc(schemas.StatusChanged{Phase: "xsd", Status: "done", StartedAt: seconds(16), FinishedAt: seconds(17)}))
	tell("insert", 31, doc(schemas.StatusChanged{Phase: "upload", Status: "done", Rows: 3, StartedAt: seconds(30), FinishedAt: seconds(31)}))
	tell("insert", 44, doc(schemas.StatusChanged{Phase: "overview", Status: "done", Check: 1, StartedAt: seconds(43), FinishedAt: seconds(44), Passed: []schemas.PassedPhase{
		{Phase: "data", StartedAt: seconds(40), FinishedAt: seconds(42)}, {Phase: "context", StartedAt: seconds(42), FinishedAt: seconds(43)}}}))
	return out
}

// spansOf are the spans of a log, by id.
func spansOf(m *memory, log []schemas.Message) map[[8]byte]span {
	out := map[[8]byte]span{}
	for _, msg := range log {
		e, _ := msg.Body.(*schemas.StatusChanged)
		for _, s := range m.spans(msg.ID, read(msg, e)) {
			out[s.id] = s
		}
	}
	return out
}

// drawn are spans as lines: what they stand below, when they began and ended.
func drawn(all map[[8]byte]span) []string {
	var out []string
	for _, s := range all {
		line := all[s.parent].name + " > " + s.name + " " + s.start.Format("05") + "-" + s.end.Format("05")
		if s.failed != "" {
			line += " " + s.failed + ": " + s.message
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func storyDrawn() []string {
	return []string{
		" > file 01-03",
		"file > download 05-07 timed_out: no answer",
		"file > download 09-11",
		"file > download wait 04-05",
		"file > download wait 08-09",
		"file > plan 03-04",
		"file > unzip 12-15",
		"file > unzip wait 11-12",
		"unzip > xml_name 12-14",
		"xml_name > context 42-43",
		"xml_name > data 40-42",
		"xml_name > data wait 31-40",
		"xml_name > order 17-30",
		"xml_name > overview 43-44",
		"xml_name > upload 30-31",
		"xml_name > xsd 16-17",
		"xml_name > xsd wait 14-16",
	}
}

// A file's events become spans of one trace, the phases and the waits between.
func TestPhases(t *testing.T) {
	spans := spansOf(newMemory(0), story())
	if diff := cmp.Diff(storyDrawn(), drawn(spans)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range spans {
		if s.trace != schemas.TraceID(schemas.LiveRun, "session-1", schemas.FileID("add", "H.zip")) {
			t.Errorf("the span %s is of another trace", s.name)
		}
	}
}

// Events that come again, or in another order, make the same spans.
func TestPhasesInAnyOrder(t *testing.T) {
	log := story()
	slices.Reverse(log[7:]) // what one role tells may come before what another told
	spans := spansOf(newMemory(0), append(log, story()...))
	if diff := cmp.Diff(storyDrawn(), drawn(spans)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A replay is a trace of its own, whose root is the first that is told of it.
func TestReplayHasItsTrace(t *testing.T) {
	run := schemas.ID("a replay")
	e := schemas.StatusChanged{Scope: schemas.Scope{Run: run, Session: "session-1"}, FileRef: schemas.FileRef{File: "file", FileName: "H.zip"}, Entity: schemas.EntityDocument,
		DocumentRef: schemas.DocumentRef{Document: "doc"}, Outcome: outcome, Phase: "xsd", Status: "done", Passed: []schemas.PassedPhase{{Phase: "xml_name"}}}
	judged := schemas.Message{ID: "judged", Stage: "plan", Time: *seconds(1), Body: &e}
	loaded := e
	loaded.Phase, loaded.Passed, loaded.StartedAt, loaded.FinishedAt = "upload", nil, seconds(5), seconds(6)
	spans := spansOf(newMemory(0), []schemas.Message{judged, {ID: "upload", Stage: "insert", Time: *seconds(6), Body: &loaded}})
	want := []string{" > file 01-01", "file > xml_name 01-01", "xml_name > order 01-05", "xml_name > upload 05-06", "xml_name > xsd 01-01"}
	if diff := cmp.Diff(want, drawn(spans)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range spans {
		if s.trace != schemas.TraceID(run, "", "file") || s.trace == schemas.TraceID(schemas.LiveRun, "session-1", "file") {
			t.Errorf("the span %s is of another trace than the replay's", s.name)
		}
	}
}

// What is not processed has a trace where it ended for a reason, and else none.
func TestWhatIsNotProcessed(t *testing.T) {
	for name, c := range map[string]struct {
		event schemas.StatusChanged
		want  []string
	}{
		"a name that breaks the convention": {schemas.StatusChanged{Entity: schemas.EntityFile, Phase: "zip_name", Status: "failed", Exception: "bad_name", Message: "no date"}, []string{" > file 09-09 bad_name: no date"}},
		"a failure without a name":          {schemas.StatusChanged{Entity: schemas.EntityFile, Phase: "zip_name", Status: "failed"}, []string{" > file 09-09 _OTHER: "}},
		"a duplicate":                       {schemas.StatusChanged{Entity: schemas.EntityHosting, Note: "duplicate", Attributes: map[string]string{"state": "present"}}, nil},
		"a file that is gone":               {schemas.StatusChanged{Entity: schemas.EntityHosting, Attributes: map[string]string{"state": "gone"}}, nil},
		"an announcement":                   {schemas.StatusChanged{Entity: schemas.EntityAnnouncement, Phase: "zip_name", Status: "failed"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.event.Run, c.event.File = schemas.LiveRun, "file"
			got := drawn(spansOf(newMemory(0), []schemas.Message{{ID: "e", Time: *seconds(9), Body: &c.event}}))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
