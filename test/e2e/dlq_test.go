package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// letterRow is what is compared of a row of tributary dlq list.
type letterRow struct {
	ID, Stage, Exception, Error, State string
	Action, File, Document             string
	Deaths                             int
	Replayed, Dropped                  *struct{ By, Reason string }
	NewAttempt                         int `json:"new_attempt"`
}

// findingCountRow is how many findings of a kind there are.
type findingCountRow struct {
	Centre, Subject, Test string
	RecordType            string `json:"record_type"`
	Findings              int
}

const findingCountSQL = "SELECT centre, record_type, subject, test, findings FROM warehouse.finding_count"

// extractedRow is what is read of an event of document.extracted.
type extractedRow struct {
	Body struct {
		Archive, Entry, Action string
		FileName               string `json:"file_name"`
		Offset, Packed         int64
	}
}

// The place of a document in its archive is told wrongly before it is validated,
// and garbage gets into the topics: both are dead letters with their causes, and
// all the rest is inserted. A replay, which unzips the archive anew, completes the
// document, once, and the warehouse is that of an undisturbed run.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	shape := corpus.Small
	if os.Getenv("TRIBUTARY_DLQ") != "" {
		shape = corpus.Demo
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true, Extra: lively + "validate:\n  backoff_max: 50ms\n"})
	s.once()
	var undisturbed state
	var documents int64
	var findings []findingCountRow
	s.engines(func(engine.Endpoints) {
		undisturbed = s.see()
		documents, findings = s.records()["tributary.document.extracted.v1"], sql[findingCountRow](s, "warehouse", findingCountSQL)
	})
	s.forget()

	var rot extractedRow
	s.engines(func(at engine.Endpoints) {
		p := s.start("run", "schedule", "poll", "plan", "publish", "download", "unzip")
		eventually(t, wait.Patience(), func() string {
			if !p.said(`"msg":"running"`) {
				return "the roles are still starting"
			}
			if n := s.records()["tributary.document.extracted.v1"]; n < documents {
				return fmt.Sprintf("%d documents of %d are announced", n, documents)
			}
			return ""
		})
		p.stop()
		rot = s.loadable(undisturbed)
		misplace(t, at.Kafka, rot)
		garble(t, at.Kafka)
	})
	s.once()

	var id string
	s.engines(func(engine.Endpoints) {
		open := list[letterRow](s, "dlq", "list", "--where", "state=open")
		if len(open) != 1 || open[0].Stage != "validate" || open[0].Exception != "failed" || !strings.Contains(open[0].Error, "does not fit its archive") ||
			open[0].File != rot.Body.FileName || open[0].Document != rot.Body.Entry {
			t.Fatalf("open dead letters are %+v, want one of %s in %s", open, rot.Body.Entry, rot.Body.FileName)
		}
		id = open[0].ID
		garbage := list[letterRow](s, "dlq", "list", "--where", "state=unreadable", "--limit", "0")
		stages := map[string]int{}
		for _, l := range garbage {
			if l.Exception == "undecodable" {
				stages[l.Stage]++
			}
		}
		if diff := gocmp.Diff(map[string]int{"download": 2, "unzip": 2, "validate": 2}, stages); diff != "" {
			t.Fatalf("unreadable dead letters by stage (-want +got):\n%s", diff)
		}
		story := s.ask("dlq", "show", id)
		for _, want := range []string{rot.Body.Entry, "does not fit its archive", "ce_id", "tributary_error_class: failed", "archive: \"" + rot.Body.Archive} {
			if !strings.Contains(story, want) {
				t.Errorf("the story lacks %q:\n%s", want, story)
			}
		}
		if got := s.see(); len(got.Order) != len(undisturbed.Order)-1 || got.Hash == undisturbed.Hash {
			t.Errorf("%d documents were ordered to be loaded, want one less than %d", len(got.Order), len(undisturbed.Order))
		}
		mend := s.spoil(rot)
		s.refused(id, "stored bytes are damaged")
		s.refused(garbage[0].ID, "cannot be read")
		if out := s.ask("dlq", "drop", "--where", "state=unreadable", "--reason", "line noise"); !strings.Contains(out, "6 dead letters") {
			t.Errorf("dropped:\n%s", out)
		}
		mend()
		if out := s.ask("dlq", "retry", "--where", "file="+rot.Body.FileName, "--dry-run"); !strings.Contains(out, "1 dead letters of 1 files") {
			t.Errorf("the dry run says:\n%s", out)
		}
		s.ask("dlq", "retry", id, "--reason", "it was told wrongly")
	})
	s.once()

	s.engines(func(engine.Endpoints) {
		shown := list[letterRow](s, "dlq", "list")
		if len(shown) != 1 || shown[0].State != "completed" || shown[0].NewAttempt < 2 || shown[0].Replayed == nil || shown[0].Replayed.Reason != "it was told wrongly" {
			t.Errorf("dead letters are %+v, want one that was completed", shown)
		}
		if all := list[letterRow](s, "dlq", "list", "--all"); len(all) != 7 {
			t.Errorf("%d dead letters with those that were dropped, want 7", len(all))
		}
		s.refused(id, "retried already")
		got := s.see()
		if got.Hash != undisturbed.Hash {
			t.Errorf("warehouse hash %s after the replay, %s undisturbed", got.Hash, undisturbed.Hash)
		}
		s.compare(got, false)
		s.order()
		differ(t, "findings", findings, sql[findingCountRow](s, "warehouse", findingCountSQL))
	})
}

// A document that has killed whoever loaded it is given up by insert, and the
// rest is inserted. It is listed with the dead letters, and replayed like them.
func TestWhatInsertGivesUpIsReplayed(t *testing.T) {
	t.Parallel()
	if os.Getenv("TRIBUTARY_DLQ") == "" {
		t.Skip("waits half a minute for a pause: make test-dlq runs it")
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: lively})
	s.releaseWhole() // so that the first position is the same document each time
	s.once()
	undisturbed := s.expect(true)
	s.forget()

	s.engines(func(at engine.Endpoints) {
		p := s.start("run", "schedule", "poll", "plan", "publish", "download", "unzip", "validate", "sequence")
		eventually(t, wait.Patience(), func() string {
			if !p.said(`"msg":"running"`) {
				return "the roles are still starting"
			}
			if s.records()["tributary.document.ordered.v1"] == 0 {
				return "nothing is ordered"
			}
			return ""
		})
		p.stop()
		// As ten deaths of insert at the first position would leave it.
		s.warehouse(at, func(pool *pgxpool.Pool) {
			if _, err := pool.Exec(t.Context(), "INSERT INTO warehouse.try (position, tries) VALUES (1, 10)"); err != nil {
				t.Fatal(err)
			}
		})
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		open := list[letterRow](s, "dlq", "list", "--group", "insert")
		if len(open) != 1 || open[0].ID != "insert:0:1" || open[0].State != "open" {
			t.Fatalf("dead letters of insert are %+v, want one of position 1", open)
		}
		if s.hash() == undisturbed.Hash {
			t.Error("the document that was given up changes nothing: the test shows nothing")
		}
		s.ask("dlq", "retry", "--where", "stage=insert", "--reason", "it was the member")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.refused("insert:0:1", "retried already")
		got := s.see()
		if got.Hash != undisturbed.Hash {
			t.Errorf("warehouse hash %s after the replay, %s undisturbed", got.Hash, undisturbed.Hash)
		}
		s.compare(got, false)
		s.order()
	})
}

// refused retries a dead letter and expects that it is refused, and why.
func (s *system) refused(id, why string) {
	s.t.Helper()
	p := s.start("dlq", "retry", id)
	if code := p.code(wait.Patience()); code != 1 || !strings.Contains(p.output(), why) {
		s.t.Errorf("retrying %s ends with %d, want it to be refused since %q:\n%s", id, code, why, p.tail())
	}
}

// loadable finds a document that an undisturbed run loads.
func (s *system) loadable(undisturbed state) extractedRow {
	s.t.Helper()
	for _, e := range list[extractedRow](s, "topics", "tail", "document.extracted", "--from", "start") {
		loads := slices.ContainsFunc(undisturbed.Order, func(p corpus.Position) bool {
			return p.Loads && p.Action == e.Body.Action && p.File == e.Body.FileName && p.Document == e.Body.Entry
		})
		if loads && e.Body.Action == "add" && e.Body.Packed > 100 {
			return e
		}
	}
	s.t.Fatal("no document is one that an undisturbed run loads")
	return extractedRow{}
}

// spoil changes a byte of a document where its archive is stored, and returns
// what mends it.
func (s *system) spoil(e extractedRow) (mend func()) {
	s.t.Helper()
	path := filepath.Join(s.data(), "blobs", e.Body.Archive[:2], e.Body.Archive)
	whole, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.Chmod(path, 0o644); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	bad := slices.Clone(whole)
	bad[e.Body.Offset+e.Body.Packed/2] ^= 0x40
	write(bad)
	return func() { write(whole) }
}

// misplace writes the records of the document's partition anew, with a wrong
// checksum in the reference to it.
func misplace(t *testing.T, bootstrap []string, e extractedRow) {
	t.Helper()
	const topic = "tributary.document.extracted.v1"
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(append(kafka.Bootstrap(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	client.AddConsumeTopics(topic)
	records, wrong := map[int32][]*kgo.Record{}, int32(-1)
	for len(left) > 0 {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			m, err := codec.Decode(kafka.FromKgo(r))
			if err != nil {
				t.Fatal(err)
			}
			if d := m.Body.(*schemas.DocumentExtracted); d.Archive == e.Body.Archive && d.Entry == e.Body.Entry && d.Action == e.Body.Action {
				d.CRC32++
				wrong = r.Partition
				again, err := codec.Encode(m)
				if err != nil {
					t.Fatal(err)
				}
				r.Value = again.Value
			}
			records[r.Partition] = append(records[r.Partition], &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers})
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	if wrong < 0 {
		t.Fatalf("%s is not announced", e.Body.Entry)
	}
	upTo := kadm.Offsets{}
	upTo.AddOffset(topic, wrong, int64(len(records[wrong])), -1)
	if _, err := admin.DeleteRecords(t.Context(), upTo); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), records[wrong]...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// garble writes records that are no events to every topic of work: noise, and
// an event cut off. Stages give them up; who keeps state passes them over.
func garble(t *testing.T, bootstrap []string) {
	t.Helper()
	client, err := kgo.NewClient(kafka.Bootstrap(bootstrap)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, topic := range []string{"file.discovered", "download.requested", "download.finished", "unzip.finished", "document.extracted", "document.validated"} {
		cut := binary.BigEndian.AppendUint32([]byte{0}, uint32(1001+i)) // the pinned id of the topic's schema
		for _, value := range [][]byte{[]byte("line noise"), append(cut, 2, 'a')} {
			r := &kgo.Record{Topic: "tributary." + topic + ".v1", Key: []byte("nothing"), Value: value}
			if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
