package restore

import (
	"fmt"
	"strings"
	"testing"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// chained tells of positions of which each names the one before, and takes them
// into log.
func (s *scene) chained(log *chain.Log, positions ...*schemas.DocumentOrdered) {
	s.t.Helper()
	for _, o := range positions {
		if o.Previous == "" {
			if o.Previous = chain.Start; log.Head().Known {
				o.Previous = log.Head().Last.Digest.String()
			}
		}
		record, err := s.Codec.Encode(schemas.Message{ID: "same", Topic: schemas.DocumentOrderedTopic, Key: "H", Stage: "sequence", Time: s.Now(), Body: o})
		if err == nil {
			err = s.client.ProduceSync(s.t.Context(), kafka.ToKgo("t", record)).FirstErr()
		}
		if err != nil {
			s.t.Fatal(err)
		}
		log.Take(chain.LinkOf(o, record.Value, 0))
	}
}

func (s *scene) ordered(file, session string, position int64, what string) *schemas.DocumentOrdered {
	now := s.Now()
	return &schemas.DocumentOrdered{
		Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
		DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, fmt.Sprint(what, position)), Entry: what, Archive: sha},
		Position:    position, What: what, Batch: schemas.ID("batch", session, "H"), Domain: "H", Number: 5, Attempt: 1, Download: sha, Unzip: "done",
		RankOwn: true, RankTime: &now, RankOrdinal: 1, Documents: 2}
}

// closed tells that a session was closed: what is left of its batches is closed, too.
func (s *scene) closed(session string) {
	now := s.Now()
	s.tell(schemas.StatusChangedTopic, "sequence", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: session}, Entity: schemas.EntitySession, Number: 7, StartedAt: &now, FinishedAt: &now, Status: string(schemas.Done)})
}

// What a restored control orders names the last record that was published; and
// control goes on behind that.
func TestARestoredControlGoesOnWithTheChain(t *testing.T) {
	for _, begin := range []string{chain.Start, "", "nothing published"} {
		t.Run("begin "+begin, func(t *testing.T) {
			s := newScene(t)
			file, session := s.fetched()
			s.closed(session)
			var log chain.Log
			switch begin {
			case chain.Start:
				s.chained(&log, s.ordered(file, session, 1, schemas.PositionDocument), s.ordered(file, session, 2, schemas.PositionDocument))
			case "": // older programs have drawn it
				s.order(file, session, 1, schemas.PositionDocument)
				if err := s.Restorer.order(t.Context(), &log, func(schemas.Message, *schemas.DocumentOrdered, chain.Outcome) {}); err != nil {
					t.Fatal(err)
				}
			}
			before := log.Head().Last.Position
			if _, err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows, err := outbox.Read(t.Context(), s.Pool, control.Schema, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				for _, r := range row.Records {
					if _, body, err := s.Codec.DecodeBody(r.Value); err != nil {
						t.Fatal(err)
					} else if o, ok := body.(*schemas.DocumentOrdered); ok {
						log.Take(chain.LinkOf(o, r.Value, 0))
					}
				}
			}
			if err := log.Err(); err != nil {
				t.Error(err)
			}
			head := log.Head()
			if closed := head.Last.Position > before; closed != (before > 0) || closed && head.Begin == 0 {
				t.Errorf("the chain from %d ends with %d, before with %d", head.Begin, head.Last.Position, before)
			}
			want := ""
			if head.Known {
				want = head.Last.Digest.String()
			}
			s.same("what control keeps", "SELECT coalesce(encode(digest, 'hex'), '') FROM control.position", want)
		})
	}
}

func TestRestoreRefusesABrokenChain(t *testing.T) {
	s := newScene(t)
	file, session := s.fetched()
	var log chain.Log
	genuine := s.ordered(file, session, 1, schemas.PositionDocument)
	s.chained(&log, genuine, s.ordered(file, session, 2, schemas.PositionDocument))
	forged := *genuine
	forged.Result = schemas.FailedEnd
	s.chained(&log, &forged)
	_, err := s.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "position_taken_twice: the record of position 1 at offset 2") {
		t.Errorf("restore: %v", err)
	}
	s.same("how many files there are", "SELECT count(*)::text FROM control.file", "0")
}
