package restore

import (
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/topics"
)

// die puts a document into validate's topic of dead letters.
func (s *scene) die(file, entry string) {
	s.t.Helper()
	for _, topic := range topics.DeadLetters() {
		name := topic.FullName("t")
		if _, err := kadm.NewClient(s.client).CreateTopic(s.t.Context(), 1, 1, nil, name); err != nil && topic.DeadLetter == "validate" {
			continue // a second letter
		}
	}
	record, err := s.Codec.Encode(schemas.Message{ID: schemas.ID("test", entry), Topic: schemas.DocumentExtractedTopic, Key: "k", Stage: "unzip", Time: s.Now(), Body: &schemas.DocumentExtracted{
		Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
		DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, entry), Entry: entry, Archive: sha}, Attempt: 1, Download: sha, Unzip: "done"}})
	if err != nil {
		s.t.Fatal(err)
	}
	k := kafka.ToKgo("t", record)
	k.Topic = topics.DeadLetters()[2].FullName("t")
	for key, value := range map[string]string{kafka.HeaderPartition: "0", kafka.HeaderOffset: entry, kafka.HeaderTimestamp: "2024-01-01T00:00:00Z", kafka.HeaderErrorClass: "panic", kafka.HeaderError: "ouch"} {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	if err := s.client.ProduceSync(s.t.Context(), k).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// decide tells what somebody decided about a letter, as plan does.
func (s *scene) decide(what, file, place string, attempt int32) {
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"},
		FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add}, Entity: schemas.EntityDownload, Attempt: attempt, Note: "dead_letter_" + what,
		Attributes: map[string]string{"dead_letter": place, "stage": "validate", "by": "me", "reason": "why " + what, "attempt": "1"}})
}

// What was decided about dead letters is known again: none of these is offered
// anew. The decisions change nothing of the attempts that they name.
func TestDecisionsAboutDeadLettersAreRestored(t *testing.T) {
	s := newScene(t)
	file, session := s.fetched()
	s.order(file, session, 1, "document", "document", "withdrawal", "batch_end")
	for n := range 3 {
		s.die(file, strconv.Itoa(n))
	}
	now := s.Now()
	s.decide("dropped", file, "validate:0:0", 1)
	s.decide("dropped", file, "validate:0:1", 1)
	s.decide("replayed", file, "validate:0:1", 2)
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
		Entity: schemas.EntityDownload, Attempt: 2, Look: 1, FileSize: 9, Phase: string(schemas.ZipMD5), Status: string(schemas.Done), Note: "replayed", Outcome: sha, DocumentRef: schemas.DocumentRef{Archive: sha}, RequestedAt: &now})
	s.decide("dropped", file, "insert:0:2", 1)
	s.decide("dropped", file, "validate:0:99", 1) // nothing lies there
	report, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.same("decisions", `SELECT concat_ws(' ', l.place, l.stage, l.class, a.id IS NOT NULL, l.replay_reason, l.dropped_at IS NOT NULL, l.drop_reason)
		FROM control.dead_letter l LEFT JOIN control.acquisition a ON a.id = l.acquisition AND a.state <> 'ended' ORDER BY place`,
		"insert:0:2 insert crashed f  t why dropped", "validate:0:0 validate panic f  t why dropped", "validate:0:1 validate panic t why replayed f ")
	inserted := deadletter.AtPosition(&schemas.DocumentOrdered{Position: 2, DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, "1")}})
	s.same("the id of what insert gave up", "SELECT id::text FROM control.dead_letter WHERE stage = 'insert'", inserted.Key)
	s.same("acquisitions", acquisitionsSQL, "ended complete 1 1 t", "wanted  0 f")
	s.same("sources of acquisitions", "SELECT DISTINCT source FROM control.acquisition", "h")
	if report.Letters != 3 || report.LettersLost != 1 {
		t.Errorf("reported: %+v", report)
	}
}
