package restore

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// raw writes a value as it is.
func (s *scene) raw(topic string, value []byte) {
	s.t.Helper()
	if err := s.client.ProduceSync(s.t.Context(), &kgo.Record{Topic: kafka.TopicName("t", topic), Value: value}).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// drawn takes the positions that wait in control's outbox into a log.
func (s *scene) drawn(log *chain.Log) {
	s.t.Helper()
	rows, err := outbox.Read(s.t.Context(), s.Pool, control.Schema, 0, 1<<20)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range rows {
		for _, r := range row.Records {
			_, body, err := s.Codec.DecodeBody(r.Value)
			if err != nil {
				s.t.Fatal(err)
			}
			if o, ok := body.(*schemas.DocumentOrdered); ok && !log.Take(chain.LinkOf(o, r.Value, 0)) {
				s.t.Errorf("position %d does not come next", o.Position)
			}
		}
	}
}

// Control is restored behind what somebody decided about, and what it orders goes
// on with the chain.
func TestRestoreGoesOnBehindWhatIsDecided(t *testing.T) {
	never := func([]byte) chain.Decision { return chain.Decision{GoesOn: chain.Of([]byte("another"))} }
	lost := func(value []byte) chain.Decision { return chain.Decision{GoesOn: chain.Of(value)} }
	missing := func([]byte) chain.Decision { return chain.Decision{Missing: true} }
	for _, c := range []struct {
		name    string
		what    []string // from position 1 on
		at      int64    // the position of the record that is decided about; 0: it can't be read
		how     func([]byte) chain.Decision
		refused string   // without a decision
		closing []string // that are ordered
	}{
		{"it never was", []string{"document", "document"}, 1, never, "position_taken_twice: the record of position 1 at offset 2", []string{"3 withdrawal of 2 in 5", "4 batch_end of 2 in 5"}},
		{"it never was, and can't be read", []string{"document", "document"}, 0, never, "document.ordered at offset 2: value is not an Avro record", []string{"3 withdrawal of 2 in 5", "4 batch_end of 2 in 5"}},
		{"it is lost, and can't be read", []string{"document", "document"}, 0, lost, "document.ordered at offset 2: value is not an Avro record", []string{"4 withdrawal of 2 in 5", "5 batch_end of 2 in 5"}},
		{"the batch's end is lost", []string{"document", "document", "withdrawal"}, 4, lost, "chain_broken: the record of position 4 at offset 3", []string{"5 batch_end of 2 in 5"}},
		{"something before the batch's end is missing", []string{"document", "document", "withdrawal"}, 9, missing, "document.ordered lacks the positions 4 to 8", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			file, session := s.fetched()
			s.closed(session)
			decisions := map[chain.Digest]chain.Decision{}
			decided := func(d chain.Digest) (chain.Decision, bool) {
				decision, ok := decisions[d]
				return decision, ok
			}
			log := chain.Log{Decided: decided}
			for i, what := range c.what {
				s.chained(&log, s.ordered(file, session, int64(i)+1, what))
			}
			value := []byte("rubbish")
			l := chain.Link{Digest: chain.Of(value)}
			if c.at > 0 {
				o := s.ordered(file, session, c.at, schemas.PositionBatchEnd)
				o.Previous = strings.Repeat("ab", 32)
				record, err := s.Codec.Encode(schemas.Message{ID: "same", Topic: schemas.DocumentOrderedTopic, Key: "H", Stage: "sequence", Time: s.Now(), Body: o})
				if err != nil {
					t.Fatal(err)
				}
				value, l = record.Value, chain.LinkOf(o, record.Value, 0)
			}
			s.raw(schemas.DocumentOrderedTopic, value)
			way := "tributary topics pass-over document.ordered 0 "
			if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), way) {
				t.Fatalf("without a decision: %v", err)
			}
			decisions[l.Digest] = c.how(value)
			s.Decided = decided
			log.Take(l)
			if _, err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(s.outbox(), ", "), strings.Join(c.closing, ", "); got != want {
				t.Errorf("ordered %s, want %s", got, want)
			}
			s.drawn(&log)
			if err := log.Err(); err != nil {
				t.Error(err)
			}
			s.same("what control keeps", "SELECT encode(digest, 'hex') FROM control.position", log.Head().Last.Digest.String())
		})
	}
}

// What nobody can read is left out, as by everybody who reads these topics; what
// only newer programs can read is not.
func TestRestoreLeavesOutWhatNobodyCanRead(t *testing.T) {
	s := newScene(t)
	rubbish := func() {
		for _, topic := range []string{schemas.StatusChangedTopic, schemas.FileDiscoveredTopic, schemas.DownloadFinishedTopic} {
			s.raw(topic, []byte("rubbish"))
		}
	}
	rubbish()
	file, session := s.fetched()
	s.order(file, session, 1, "document", "document")
	rubbish()
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.same("files", "SELECT name FROM control.file", zipName)

	s = newScene(t)
	s.fetched()
	s.raw(schemas.FileDiscoveredTopic, binary.BigEndian.AppendUint32([]byte{0}, 999999))
	_, err := s.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "file.discovered, partition 0, offset 1: unknown schema id") || !strings.Contains(err.Error(), "tributary topics pass-over file.discovered 0 1 --dry-run") {
		t.Errorf("what only newer programs can read: %v", err)
	}
}
