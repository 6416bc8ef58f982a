package restore

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

const (
	itemsSQL   = "SELECT concat_ws(' ', r.number, i.state, i.archive <> '', a.result) FROM control.replay_item i JOIN control.replay r ON r.id = i.run LEFT JOIN control.acquisition a ON a.id = i.acquisition ORDER BY r.number, i.ordinal"
	replaysSQL = "SELECT concat_ws(' ', number, phase, state, changes, changed_by, reason) FROM control.replay ORDER BY number"
	lostSQL    = "SELECT concat_ws(' ', number, lost) FROM control.replay WHERE lost > 0 ORDER BY number"
	currentSQL = "SELECT concat_ws(' ', current_attempt, attempts, acceptances, left(current_sha256, 2)) FROM control.file"
)

// replayed tells of a replay of the scene's file: what it began with, and with
// done that it ended.
func (s *scene) replayed(number int64, from, run, file, archive string, attempt int32, items int64) {
	s.replayEvent(run, number, 1, schemas.ReplayRequested, schemas.Running, items, map[string]string{"from": from, "by": "me", "reason": "why", "since": "2024-01-02T03:04:05Z"})
	now := s.Now()
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: run, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
		Entity: schemas.EntityDownload, Attempt: attempt, Look: 1, FileSize: 9, Phase: string(schemas.ZipMD5), Status: string(schemas.Done), Note: "replayed", Outcome: archive, DocumentRef: schemas.DocumentRef{Archive: archive}, RequestedAt: &now})
}

// orderedAgain tells that a replay's attempt, the file's second, was ordered.
func (s *scene) orderedAgain(run, file, archive string, ordinal int32) {
	now := s.Now()
	for i, what := range []string{"document", "document", "withdrawal", "batch_end"} {
		s.tell(schemas.DocumentOrderedTopic, "sequence", &schemas.DocumentOrdered{
			Scope: schemas.Scope{Run: run, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
			DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, fmt.Sprint(i)), Entry: fmt.Sprint(i), Archive: archive},
			Position:    5 + int64(i), What: what, Batch: schemas.ID("batch", run, "H"), Domain: "H", Number: 6, Late: true, Attempt: 2, Download: archive, Unzip: "done",
			RankOwn: true, RankTime: &now, RankOrdinal: ordinal, RunNumber: 1, Documents: 2})
	}
}

func (s *scene) replayEvent(run string, number, revision int64, note string, status schemas.Status, items int64, more map[string]string) {
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: run}, Entity: schemas.EntityReplay, Status: string(status), Note: note,
		Number: number, Rows: items, Revision: revision, Attributes: more})
}

// told are the events of the log that restore tells.
func (s *scene) told() (out []string) {
	for _, m := range outboxtest.Events(s.t, s.Pool, control.Schema, s.Codec) {
		if e, ok := m.Body.(*schemas.StatusChanged); ok {
			out = append(out, fmt.Sprint(e.Entity, " ", e.Number, e.Attempt, " ", e.Status, " ", e.Note, " ", e.Revision))
		}
	}
	return out
}

// A replay from data comes back with the centres of which a check was ordered, as
// every position of that is of its run. It goes on if these are all; of others it
// is known how many they are, and that they are never requested.
func TestReplaysFromDataAreRestored(t *testing.T) {
	s := newScene(t)
	whole, part := schemas.ID("run", "1"), schemas.ID("run", "2")
	asked := map[string]string{"from": schemas.FromData, "by": "me", "reason": "checks"}
	s.replayEvent(whole, 1, 1, schemas.ReplayRequested, schemas.Running, 2, asked)
	s.replayEvent(part, 2, 1, schemas.ReplayRequested, schemas.Running, 3, asked)
	position := int64(0)
	for i, c := range []struct{ run, domain string }{{whole, "H"}, {whole, "J"}, {part, "H"}} {
		for _, what := range []string{schemas.PositionCheck, schemas.PositionBatchEnd} {
			position++
			s.tell(schemas.DocumentOrderedTopic, "sequence", &schemas.DocumentOrdered{Scope: schemas.Scope{Run: c.run, Centre: c.domain}, Position: position, What: what,
				Batch: schemas.ID("operation", fmt.Sprint(i)), Domain: c.domain, Number: int64(i + 1)})
		}
	}
	report, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.same("replays", replaysSQL, "1 data running 0 me checks", "2 data stopped 1 control restore checks")
	s.same("items", "SELECT concat_ws(' ', r.number, i.ordinal, i.state, i.domain, o.domain, o.run = r.id, o.last_position) FROM control.replay_item i JOIN control.replay r ON r.id = i.run JOIN control.operation o ON o.id = i.operation ORDER BY r.number, i.ordinal",
		"1 1 requested H H t 2", "1 2 requested J J t 4", "2 1 requested H H t 6")
	s.same("lost", lostSQL, "2 2")
	if diff := cmp.Diff([]OpenReplay{{1, "running", 0, 0}, {2, "stopped", 0, 2}}, report.Open); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// Replays come back with what is known of their items. One of which all is known
// goes on; what was under way in it waits to be requested again, and is told not
// to be awaited any more. One of which something is missing is stopped.
func TestReplaysAreRestored(t *testing.T) {
	runs := []string{schemas.ID("run", "1"), schemas.ID("run", "2"), schemas.ID("run", "3")}
	for _, c := range []struct {
		name    string
		tell    func(s *scene, file string)
		replays []string
		items   []string
		current string
		told    []string
		open    []OpenReplay
	}{
		{"done", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, sha, 2, 1)
			s.orderedAgain(runs[0], file, sha, 1)
			s.replayEvent(runs[0], 1, 2, "done", schemas.Done, 0, map[string]string{"by": "me"})
		}, []string{"1 unzip done 1 me why"}, []string{"1 requested t complete"}, "2 2 1 01", nil, nil},
		{"under way, all known", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, sha, 2, 1)
		}, []string{"1 unzip running 0 me why"}, []string{"1 waiting t"}, "1 2 1 01", []string{"download 0 2 cancelled not_tried 0"}, []OpenReplay{{1, "running", 1, 0}}},
		{"verdicts are needed first", func(s *scene, file string) {
			s.replayed(1, schemas.FromXSD, runs[0], file, sha, 2, 1)
		}, []string{"1 xsd stopped 1 control restore why"}, []string{"1 waiting t"}, "1 2 1 01", []string{"download 0 2 cancelled not_tried 0", "replay 1 0 pending stopped 2"}, []OpenReplay{{1, "stopped", 1, 0}}},
		{"some are not known", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, sha, 2, 3)
		}, []string{"1 unzip stopped 1 control restore why"}, []string{"1 waiting t"}, "1 2 1 01", []string{"download 0 2 cancelled not_tried 0", "replay 1 0 pending stopped 2"}, []OpenReplay{{1, "stopped", 1, 2}}},
		{"somebody has stopped it", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, sha, 2, 3)
			s.replayEvent(runs[0], 1, 2, "stopped", schemas.Pending, 0, map[string]string{"by": "you"})
		}, []string{"1 unzip stopped 1 you why"}, []string{"1 waiting t"}, "1 2 1 01", []string{"download 0 2 cancelled not_tried 0"}, []OpenReplay{{1, "stopped", 1, 2}}},
		{"of an older version", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, "ff"+sha[2:], 2, 1)
			s.orderedAgain(runs[0], file, "ff"+sha[2:], 0)
		}, []string{"1 unzip running 0 me why"}, []string{"1 requested t complete"}, "1 2 1 01", nil, []OpenReplay{{1, "running", 0, 0}}},
		{"of three, two have the file", func(s *scene, file string) {
			s.replayed(1, schemas.FromUnzip, runs[0], file, sha, 2, 1)
			s.orderedAgain(runs[0], file, sha, 1)
			s.replayed(2, schemas.FromUnzip, runs[1], file, sha, 3, 1)
			s.replayEvent(runs[2], 3, 1, schemas.ReplayRequested, schemas.Running, 2, map[string]string{"from": schemas.FromData, "by": "me", "reason": "checks"})
		}, []string{"1 unzip running 0 me why", "2 unzip running 0 me why", "3 data stopped 1 control restore checks"}, []string{"1 requested t complete", "2 waiting t"}, "2 3 1 01",
			[]string{"download 0 3 cancelled not_tried 0", "replay 3 0 pending stopped 2"}, []OpenReplay{{1, "running", 0, 0}, {2, "running", 1, 0}, {3, "stopped", 0, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			file, session := s.fetched()
			s.order(file, session, 1, "document", "document", "withdrawal", "batch_end")
			c.tell(s, file)
			report, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.same("replays", replaysSQL, c.replays...)
			s.same("items", itemsSQL, c.items...)
			s.same("what the file shows", currentSQL, c.current)
			s.same("counter", "SELECT (value >= (SELECT max(number) FROM control.replay))::text FROM control.counter WHERE name = 'replay'", "true")
			s.same("since", "SELECT DISTINCT (since AT TIME ZONE 'UTC' = '2024-01-02 03:04:05')::text FROM control.replay WHERE since IS NOT NULL", "true")
			if diff := cmp.Diff(c.told, s.told()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.open, report.Open); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}
