package recipes

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/history"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// hostile is a name as those send who hope that it is pasted somewhere.
const hostile = `';--{x:String}<b>&"\.zip`

// clock is a time of the day on which all of it happens, a Monday.
func clock(text string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-02T"+text+"Z")
	if err != nil {
		panic(err) // a test's own words
	}
	return t
}

// story tells events. What is not said again stays as it was.
type story struct {
	t       *testing.T
	codec   *schemas.Codec
	records []*kgo.Record
	scope   schemas.Scope
	file    schemas.FileRef
	size    int64
	resumed int64 // of the bytes that are fetched next, how many attempts before had brought
}

// tell tells an event, the first time at the given time of day.
func (s *story) tell(by, at string, e schemas.StatusChanged) {
	s.t.Helper()
	e.Scope, e.FileRef = s.scope, s.file
	if s.file.FileName == "" {
		e.FileRef = schemas.FileRef{}
	}
	r, err := s.codec.Encode(schemas.Message{ID: schemas.ID("story", strconv.Itoa(len(s.records))), Topic: schemas.StatusChangedTopic, Key: "k", Stage: by, Time: clock(at), Body: &e})
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = append(s.records, kafka.ToKgo("story", r))
}

// again repeats the event told last, as a stage does that died: it has the
// same id, and another time.
func (s *story) again(by, at string, e schemas.StatusChanged) {
	s.t.Helper()
	n := len(s.records)
	s.tell(by, at, e)
	last := s.records[n]
	for i, h := range last.Headers {
		if h.Key == "ce_id" {
			last.Headers[i].Value = []byte(schemas.ID("story", strconv.Itoa(n-1)))
			return
		}
	}
	s.t.Fatal("an event has no ce_id")
}

// of begins to speak of a file at a source.
func (s *story) of(session int, centre, source, action, name string, size int64) {
	s.scope = schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", strconv.Itoa(session)), Centre: centre, Source: source}
	s.file = schemas.FileRef{File: schemas.FileID(action, name), FileName: name, Action: action}
	s.size = size
}

// from goes on at another source.
func (s *story) from(source string) { s.scope.Source = source }

func moment(at string) *time.Time {
	if at == "" {
		return nil
	}
	t := clock(at)
	return &t
}

func (s *story) session(n int64, opened, closed string) {
	s.of(int(n), "", "", "", "", 0)
	s.tell("schedule", opened, schemas.StatusChanged{Entity: schemas.EntitySession, Status: "running", Number: n, StartedAt: moment(opened)})
	if closed != "" {
		s.tell("sequence", closed, schemas.StatusChanged{Entity: schemas.EntitySession, Status: "done", Number: n, StartedAt: moment(opened), FinishedAt: moment(closed)})
	}
}

func (s *story) poll(session int, centre, source, began, ended, exception string, listed, fresh, changed int) {
	s.of(session, centre, source, "", "", 0)
	e := schemas.StatusChanged{Entity: schemas.EntityTask, Attempt: 1, Phase: "zip_name", Status: "done", Exception: exception, StartedAt: moment(began), FinishedAt: moment(ended),
		Attributes: map[string]string{"listed": strconv.Itoa(listed), "new": strconv.Itoa(fresh), "changed": strconv.Itoa(changed), "gone": "0"}}
	if exception != "" {
		e.Status = "failed"
	}
	s.tell("poll", ended, e)
}

func (s *story) named(at, exception string) {
	e := schemas.StatusChanged{Entity: schemas.EntityFile, Phase: "zip_name", Status: "done", Exception: exception, FileSize: s.size, ListedAt: moment(at)}
	if exception != "" {
		e.Status = "failed"
	}
	s.tell("poll", at, e)
}

func (s *story) hosted(at string, look int32) {
	s.tell("poll", at, schemas.StatusChanged{Entity: schemas.EntityHosting, Look: look, FileSize: s.size, ListedAt: moment(at), Revision: 1, Attributes: map[string]string{"state": "present"}})
}

func (s *story) passed(at, listed string, look int32) {
	s.tell("plan", at, schemas.StatusChanged{Entity: schemas.EntityHosting, Look: look, FileSize: s.size, ListedAt: moment(listed), Note: "duplicate", Revision: 1, Attributes: map[string]string{"state": "present"}})
}

func (s *story) download(attempt, look int32) schemas.StatusChanged {
	return schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: attempt, Look: look, FileSize: s.size}
}

func (s *story) announced(at string, attempt, look int32) {
	e := s.download(attempt, look)
	e.Phase, e.Status = "download", "pending"
	s.tell("plan", at, e)
}

func (s *story) requested(at string, attempt, look int32) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.RequestedAt = "download", "pending", moment(at)
	s.tell("plan", at, e)
}

// fetched tells of a transfer: its bytes, or why there are none.
func (s *story) fetched(attempt, look int32, began, ended, outcome, exception string) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.StartedAt = "download", "running", moment(began)
	s.tell("download", began, e)
	e.Phase, e.Status, e.FinishedAt, e.Outcome, e.SHA256, e.Bytes = "zip_md5", "done", moment(ended), outcome, outcome, s.size
	if exception != "" {
		e.Phase, e.Status, e.Outcome, e.Exception, e.SHA256, e.Bytes = "download", "failed", exception, exception, "", 0
	}
	if s.resumed > 0 {
		e.Attributes = schemas.Transfer{From: s.resumed, Received: s.size - s.resumed}.Attributes()
		s.resumed = 0
	}
	s.tell("download", ended, e)
	s.again("download", "15:00:00", e)
}

// unzipped tells of an archive that had so many documents, or why it had none.
func (s *story) unzipped(attempt, look int32, began, ended, download, exception string, documents int64) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.StartedAt, e.Outcome = "unzip", "running", moment(began), download
	s.tell("unzip", began, e)
	e.Status, e.FinishedAt, e.Outcome, e.Rows = "done", moment(ended), download+"/done", documents
	if exception != "" {
		e.Status, e.Exception, e.Outcome, e.Rows = "failed", exception, download+"/"+exception, 0
	}
	s.tell("unzip", ended, e)
}

func (s *story) accepted(at string, attempt, look int32, download string, documents int64) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.Outcome, e.Accepted, e.SHA256, e.Rows = "unzip", "done", download+"/done", download+"/done", download, documents
	s.tell("plan", at, e)
}

func (s *story) judged(at string, attempt, look int32, phase, status, exception, note, outcome string) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.Exception, e.Note, e.Outcome, e.Accepted = phase, status, exception, note, outcome, outcome
	s.tell("plan", at, e)
	s.again("plan", "15:00:01", e)
}

// document tells of one document's step, with its size and rows.
func (s *story) document(by, entry string, attempt int32, download, phase, status, began, ended string, size, rows int64, exceptions ...string) {
	e := schemas.StatusChanged{Entity: schemas.EntityDocument, Attempt: attempt, Outcome: download + "/done", Phase: phase, Status: status,
		StartedAt: moment(began), FinishedAt: moment(ended), Bytes: size, Rows: rows, ErrorsTotal: int32(len(exceptions))}
	e.DocumentRef = schemas.DocumentRef{Document: schemas.DocumentID(s.file.File, entry), Entry: entry}
	for i, x := range exceptions {
		e.Exception = exceptions[0]
		e.Errors = append(e.Errors, schemas.ErrorDetail{Line: int32(i + 1), Exception: x, Message: "what is wrong"})
	}
	s.tell(by, ended, e)
}

// taken tells what a replay takes over of a document.
func (s *story) taken(entry string, attempt int32, download, phase, status, at, exception string) {
	e := schemas.StatusChanged{Entity: schemas.EntityDocument, Attempt: attempt, Outcome: download + "/done", Phase: phase, Status: status, Exception: exception, Note: "replayed"}
	e.DocumentRef = schemas.DocumentRef{Document: schemas.DocumentID(s.file.File, entry), Entry: entry}
	s.tell("plan", at, e)
}

// replayed tells that a replay begins with what was brought before; of an
// earlier version, the file goes on showing another attempt.
func (s *story) replayed(at string, attempt, look int32, download string, repeats int32) {
	e := s.download(attempt, look)
	e.Phase, e.Status, e.Note, e.Outcome, e.SHA256, e.RequestedAt, e.Repeats = "zip_md5", "done", "replayed", download, download, moment(at), repeats
	s.tell("plan", at, e)
}

// checked tells that the data of a document was checked at the end of a batch.
func (s *story) checked(entry string, attempt, check int32, download, began, ended, at string, exceptions ...string) {
	e := schemas.StatusChanged{Entity: schemas.EntityDocument, Attempt: attempt, Check: check, Outcome: download + "/done", Phase: "overview", Status: "done",
		StartedAt: moment(began), FinishedAt: moment(ended)}
	e.DocumentRef = schemas.DocumentRef{Document: schemas.DocumentID(s.file.File, entry), Entry: entry}
	e.Passed = []schemas.PassedPhase{{Phase: "data", StartedAt: moment(began), FinishedAt: moment(ended)}, {Phase: "context", StartedAt: moment(began), FinishedAt: moment(ended)}}
	for i, x := range exceptions {
		e.Phase, e.Status, e.Exception, e.Passed = "data", "failed", exceptions[0], nil
		e.Errors = append(e.Errors, schemas.ErrorDetail{Line: int32(i + 1), Exception: x})
	}
	s.tell("insert", at, e)
}

// stored puts the story into a history of its own, by the code that the role
// history runs: in an order of its own, in two partitions, and with records
// that are no events among them.
func (s *story) stored() (driver.Conn, string) {
	t := s.t
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	h := history.New(config.History{}, history.Deps{Open: open, Database: database, Codec: s.codec, Log: slog.New(slog.DiscardHandler)})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		s.records = append(s.records, &kgo.Record{Value: []byte("no event: " + hostile)})
	}
	rng.Shuffle(len(s.records), func(i, j int) { s.records[i], s.records[j] = s.records[j], s.records[i] })
	ranges := []sink.Range{{Topic: schemas.StatusChangedTopic, Partition: 0}, {Topic: schemas.StatusChangedTopic, Partition: 1}}
	for i, r := range s.records {
		p := &ranges[i%2]
		r.Partition, r.Offset = int32(i%2), p.To
		p.Records, p.To = append(p.Records, r), p.To+1
	}
	if _, err := h.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as a sink that died before it knew
		if err := h.Apply(t.Context(), ranges); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{h, conn} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return conn, fmt.Sprint(len(s.records))
}
