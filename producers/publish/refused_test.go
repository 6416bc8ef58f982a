package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/producers/refused"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// noise is text that no compression makes smaller.
func noise(n int) string {
	rng := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	rng.Read(b)
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// old writes events as a program did that refused none: all in one row.
func (b *bench) old(schema string, messages ...schemas.Message) {
	b.t.Helper()
	records := make([]schemas.Record, len(messages))
	for i, m := range messages {
		value, err := b.outbox.Codec.EncodeBody(m.Topic, m.Body)
		if err != nil {
			b.t.Fatal(err)
		}
		records[i] = schemas.Record{Topic: m.Topic, Key: m.Key, Value: value, Headers: []schemas.Header{{Key: "ce_id", Value: []byte(m.ID)},
			{Key: "ce_source", Value: []byte("/tributary/" + m.Stage)}, {Key: "ce_time", Value: []byte(m.Time.Format(time.RFC3339Nano))}, {Key: "ce_subject", Value: []byte(m.Subject)}}}
	}
	b.exec("INSERT INTO "+schema+".outbox (events, packed) VALUES ($1, $2)", len(records), schemas.PackRecords(records))
}

// withControl makes the bench's outbox control's, with all topics.
func (b *bench) withControl() {
	b.t.Helper()
	if err := control.Migrate(b.t.Context(), b.pool); err != nil {
		b.t.Fatal(err)
	}
	for _, topic := range []string{schemas.FileDiscoveredTopic, schemas.DownloadRequestedTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic,
		schemas.DocumentExtractedTopic, schemas.DocumentValidatedTopic} {
		enginetest.Topics(b.t, b.client, 3, nil, kafka.TopicName("p", topic))
	}
}

func (b *bench) controlPublisher() *Publisher {
	ends := refused.Ends{Codec: b.outbox.Codec, Now: func() time.Time { return time.Unix(9, 0).UTC() }}
	return b.newPublisher(5, Deps{Schema: control.Schema, Holder: "control", Ends: ends.Control})
}

func (b *bench) count(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// topicLimit sets the largest batch that a topic takes.
func (b *bench) topicLimit(topic string, bytes int) {
	b.t.Helper()
	text := strconv.Itoa(bytes)
	responses, err := kadm.NewClient(b.client).AlterTopicConfigs(b.t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &text}}, kafka.TopicName("p", topic))
	if err != nil || responses[0].Err != nil {
		b.t.Fatal(err, responses)
	}
}

// all reads n events of a topic, and fails if there are more.
func (b *bench) all(topic string, n int) []schemas.Message {
	b.t.Helper()
	ends, err := kadm.NewClient(b.client).ListEndOffsets(b.t.Context(), kafka.TopicName("p", topic))
	if err != nil {
		b.t.Fatal(err)
	}
	total := 0
	ends.Each(func(o kadm.ListedOffset) { total += int(o.Offset) })
	if total != n {
		b.t.Errorf("%s holds %d events, want %d", topic, total, n)
	}
	c := b.connect(kgo.ConsumeTopics(kafka.TopicName("p", topic)))
	var out []schemas.Message
	for len(out) < total {
		b.until("records come", func() bool {
			turn, over := context.WithTimeout(b.t.Context(), 100*time.Millisecond)
			defer over()
			fetches := c.PollFetches(turn)
			fetches.EachRecord(func(r *kgo.Record) {
				m, err := b.outbox.Codec.Decode(kafka.FromKgo(r))
				if err != nil {
					b.t.Fatal(err)
				}
				out = append(out, m)
			})
			return fetches.NumRecords() > 0
		})
	}
	return out
}

func ids(all []schemas.Message) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.ID)
	}
	slices.Sort(out)
	return out
}

const aFile = "11111111-2222-4333-8444-555555555555"

func statusOf(id string, message string) schemas.Message {
	return schemas.Message{ID: id, Topic: schemas.StatusChangedTopic, Key: "key", Stage: "test", Subject: "s", Time: time.Unix(1, 0).UTC(),
		Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun}, Entity: schemas.EntityTask, Message: message}}
}

func positionOf(n int64, entry string) schemas.Message {
	return schemas.Message{ID: fmt.Sprint("position-", n), Topic: schemas.DocumentOrderedTopic, Key: "H", Stage: "sequence", Time: time.Unix(n, 0).UTC(),
		Body: &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, FileRef: schemas.FileRef{File: aFile, FileName: "f.zip", Action: "add"},
			DocumentRef: schemas.DocumentRef{Document: "d", Entry: entry}, Position: n, What: schemas.PositionDocument, Batch: "b", Domain: "H", Result: schemas.Valid}}
}

// What a program wrote that refused nothing does not stand in anybody's way: the
// good is published once, the rest is told in fewer words or ends by name.
func TestARowOfAnOlderProgramHoldsUpNothing(t *testing.T) {
	b := newBench(t)
	b.withControl()
	huge := noise(2 << 20)
	look := func(id, name string, look int32) schemas.Message {
		return schemas.Message{ID: id, Topic: schemas.FileDiscoveredTopic, Key: aFile, Stage: "poll", Time: time.Unix(1, 0).UTC(),
			Body: &schemas.FileDiscovered{Scope: schemas.Scope{Run: schemas.LiveRun, Source: "h"}, FileRef: schemas.FileRef{File: aFile, FileName: name, Action: "add"}, Change: "new", Look: look}}
	}
	job := func(id string, names ...string) schemas.Message {
		d := &schemas.DownloadRequested{Scope: schemas.Scope{Run: schemas.LiveRun, Source: "h"}, Job: id, Server: "s:1"}
		for i, n := range names {
			d.Files = append(d.Files, schemas.RequestFile{FileRef: schemas.FileRef{File: aFile, FileName: n, Action: "add"}, Attempt: int32(i + 1), Path: "add/" + n})
		}
		return schemas.Message{ID: id, Topic: schemas.DownloadRequestedTopic, Key: id, Stage: "plan", Time: time.Unix(1, 0).UTC(), Body: d}
	}
	b.exec(`INSERT INTO control.look (source, file, look, domain, centre, size, listed_at, class) VALUES ('h', $1, 7, 'H', 'H', 1, now(), 'announced')`, aFile)
	b.old("control", statusOf("before", "m"), positionOf(1, "a.xml"))
	b.old("control", statusOf("good-1", "m"), statusOf("large", huge), statusOf("good-2", "m"))
	// Names are cut where events are decoded; of keys nothing is.
	keyed := func(m schemas.Message) schemas.Message { m.Key = huge; return m }
	b.old("control", look("look-6", "f.zip", 6), keyed(look("look-7", "f.zip", 7)), look("look-8", huge, 8))
	b.old("control", job("job-1", "f.zip"), keyed(job("job-2", "f.zip")), keyed(job("job-3", "g.zip", "f.zip")), job("job-4", "f.zip"))
	b.old("control", positionOf(2, huge), positionOf(3, "c.xml"))
	b.exec("INSERT INTO control.outbox (events, packed) VALUES (3, 'no such thing')")
	b.old("control", statusOf("behind", "m"), positionOf(4, "d.xml"))
	b.start(b.controlPublisher())
	b.until("the outbox is empty", func() bool { return b.count("SELECT count(*) FROM control.outbox") == 0 })

	var order []int64
	for _, m := range b.all(schemas.DocumentOrderedTopic, 4) {
		o := m.Body.(*schemas.DocumentOrdered)
		order = append(order, o.Position)
		if failed := o.Result == schemas.FailedEnd && o.Exception == schemas.EventTooLarge && o.Phase == string(schemas.Upload); failed != (o.Position == 2) {
			t.Errorf("position %d: %s %s %s", o.Position, o.Result, o.Phase, o.Exception)
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, order); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"job-1", "job-4"}, ids(b.all(schemas.DownloadRequestedTopic, 2))); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"look-6", "look-8"}, ids(b.all(schemas.FileDiscoveredTopic, 2))); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	results := map[string]int{}
	for _, m := range b.all(schemas.DownloadFinishedTopic, 3) {
		results[m.Body.(*schemas.DownloadFinished).Job+" "+m.Body.(*schemas.DownloadFinished).Result]++
	}
	if diff := cmp.Diff(map[string]int{"job-2 quarantined": 1, "job-3 not_tried": 2}, results); diff != "" {
		t.Errorf("ends of jobs (-want +got):\n%s", diff)
	}
	failed := map[string]int{}
	told := map[string]int{}
	for _, m := range b.all(schemas.StatusChangedTopic, 8) {
		s := m.Body.(*schemas.StatusChanged)
		told[m.ID]++
		if s.Status == string(schemas.Failed) {
			failed[s.Entity+" "+s.Phase+" "+s.Exception]++
		}
		if m.ID == "large" && (len(s.Message) > 20_000 || !strings.Contains(s.Message, "2097152 bytes")) {
			t.Errorf("the large one is told with %d bytes", len(s.Message))
		}
	}
	for _, id := range []string{"before", "good-1", "large", "good-2", "behind"} {
		if told[id] != 1 {
			t.Errorf("%s is told %d times", id, told[id])
		}
	}
	if diff := cmp.Diff(map[string]int{"file zip_name event_too_large": 1, "download download quarantined": 1, "document upload event_too_large": 1}, failed); diff != "" {
		t.Errorf("failures told (-want +got):\n%s", diff)
	}
	if n := b.count("SELECT count(*) FROM control.look WHERE look = 7 AND class = 'rejected'"); n != 1 {
		t.Error("the look is waited for")
	}
	letters, err := outbox.Letters(t.Context(), b.pool, "control")
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, l := range letters {
		kept = append(kept, l.Class+" "+l.Became+" "+l.Topic)
	}
	if diff := cmp.Diff([]string{"event_too_large shortened status.changed", "event_too_large failed file.discovered", "event_too_large shortened file.discovered", "event_too_large failed download.requested",
		"event_too_large failed download.requested", "event_too_large failed document.ordered", "undecodable nothing "}, kept); diff != "" {
		t.Errorf("letters (-want +got):\n%s", diff)
	}
}

// outcomeOf is an event of whose key nothing can be cut.
func outcomeOf(n int, key string) schemas.Message {
	return schemas.Message{ID: fmt.Sprint("id-", n), Topic: schemas.UnzipFinishedTopic, Key: key, Stage: "test", Time: time.Unix(1, 0).UTC(),
		Body: &schemas.UnzipFinished{Outcome: "fine", Message: "m"}}
}

// Any mix of events that a broker takes, refuses, or that are too large for any,
// over keys, through publishers of which some die before they could note what they
// have sent: each good one is published, once unless its publisher died, in its
// key's order; each refused one is kept, once.
func TestAnyMixIsPublished(t *testing.T) {
	b := newBench(t)
	enginetest.Topics(t, b.client, 2, nil, kafka.TopicName("p", schemas.UnzipFinishedTopic))
	b.topicLimit(schemas.UnzipFinishedTopic, 30_000)
	refusedByBroker, tooLarge := noise(40_000), noise(schemas.MaxEvent+1)
	c := b.connect(kgo.ConsumeTopics(kafka.TopicName("p", schemas.UnzipFinishedTopic)))
	next := 0
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b.exec("DELETE FROM s.outbox_letter")
		key, bad, before := map[string]string{}, 0, next
		for range 1 + rng.IntN(6) {
			var row []schemas.Message
			for range 1 + rng.IntN(40) {
				next++
				m := outcomeOf(next, fmt.Sprint("key-", rng.IntN(5)))
				switch rng.IntN(20) {
				case 0:
					m.Key, bad = refusedByBroker, bad+1
				case 1:
					m.Key, bad = tooLarge, bad+1
				case 2:
					m.Body.(*schemas.UnzipFinished).Message = tooLarge // it can be cut
					fallthrough
				default:
					key[m.ID] = m.Key
				}
				row = append(row, m)
			}
			b.old("s", row...)
		}
		deaths := 0
		p := b.publisher("one", 1+rng.IntN(60))
		epoch, err := p.lease.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for b.left() > 0 {
			if rng.IntN(4) > 0 {
				if _, err := p.batch(t.Context(), epoch); err != nil {
					t.Fatal(err)
				}
				continue
			}
			rows, err := p.read(t.Context())
			if err == nil {
				err = p.send(t.Context(), p.gather(rows))
			}
			if err != nil {
				t.Fatal(err)
			}
			p = b.publisher("one", 1+rng.IntN(60)) // it died
			deaths++
		}
		if err := p.lease.Release(t.Context(), epoch); err != nil {
			t.Fatal(err)
		}
		seen, last := map[string]int{}, map[string]int{}
		b.until("all have come", func() bool {
			turn, over := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer over()
			c.PollFetches(turn).EachRecord(func(r *kgo.Record) {
				m, err := b.outbox.Codec.Decode(kafka.FromKgo(r))
				if err != nil {
					t.Fatal(err)
				}
				n, _ := strconv.Atoi(strings.TrimPrefix(m.ID, "id-"))
				if n <= before {
					return // a repeat of the seed before
				}
				if seen[m.ID]++; seen[m.ID] == 1 && n < last[m.Key] {
					t.Errorf("seed %d: %s: %d comes after %d", seed, m.Key, n, last[m.Key])
				}
				last[m.Key] = max(last[m.Key], n)
			})
			return len(seen) >= len(key)
		})
		for id, n := range seen {
			if key[id] == "" || n > 1 && deaths == 0 {
				t.Errorf("seed %d: %s came %d times, with %d deaths", seed, id, n, deaths)
			}
		}
		if n := b.count("SELECT count(*) FROM s.outbox_letter WHERE refused = 1 AND became <> 'shortened'"); n != bad {
			t.Errorf("seed %d: %d of %d refused events are kept", seed, n, bad)
		}
	}
}

// A topic that takes nothing holds up no other, however many events wait for it;
// and on the one order no later position goes before an earlier one.
func TestAHeldTopicHoldsUpNoOther(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.MessageTooLarge} {
		t.Run(code.Message, func(t *testing.T) {
			b := newBench(t)
			b.needMemory()
			gate := b.gate(schemas.DocumentOrderedTopic, code)
			p := b.publisher("one", 5)
			n := int64(0)
			for range 8 {
				var row []schemas.Message
				for range 4 {
					n++
					row = append(row, positionOf(n, "x.xml"), statusOf(fmt.Sprint("id-", n), "m"))
				}
				b.old("s", row...)
			}
			b.start(p)
			b.until("what goes to the other topic is out", func() bool { return b.left() == 32 })
			if got := ids(b.all(schemas.StatusChangedTopic, 32)); len(got) != 32 {
				t.Errorf("%d events of the other topic", len(got))
			}
			b.append(3)
			b.until("what comes later is out, too", func() bool { return b.left() == 32 })
			if n := b.count("SELECT count(*) FROM s.outbox_letter"); n != 0 {
				t.Errorf("%d positions were set aside", n)
			}
			gate.Store(false)
			b.until("the outbox is empty", func() bool { return b.left() == 0 })
			var order []int64
			for _, m := range b.all(schemas.DocumentOrderedTopic, 32) {
				order = append(order, m.Body.(*schemas.DocumentOrdered).Position)
			}
			if !slices.IsSorted(order) {
				t.Errorf("the order is %v", order)
			}
			b.all(schemas.StatusChangedTopic, 35)
		})
	}
}

// What is acknowledged is not sent again because the database was away just then.
func TestADatabaseThatFailsThenRepeatsNothing(t *testing.T) {
	b := newBench(t)
	p := b.publisher("one", 50)
	epoch, err := p.lease.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.append(10)
	b.exec(`CREATE FUNCTION s.no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
		CREATE TRIGGER no BEFORE DELETE ON s.outbox FOR EACH ROW EXECUTE FUNCTION s.no()`)
	for range 3 {
		if _, err := p.batch(t.Context(), epoch); err == nil {
			t.Fatal("nothing failed")
		}
	}
	b.exec("DROP TRIGGER no ON s.outbox")
	if err := p.lease.Release(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	b.start(p)
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	b.all(schemas.StatusChangedTopic, 10)
}

// A letter is retried once, and kept open if it is refused again.
func TestALetterIsRetried(t *testing.T) {
	b := newBench(t)
	enginetest.Topics(t, b.client, 2, nil, kafka.TopicName("p", schemas.UnzipFinishedTopic))
	b.topicLimit(schemas.UnzipFinishedTopic, 10_000)
	b.old("s", outcomeOf(1, noise(20_000)))
	b.start(b.publisher("one", 50))
	open := func() bool {
		return b.count("SELECT count(*) FROM s.outbox_letter WHERE decision = ''") == 1 && b.left() == 0
	}
	b.until("there is a letter", open)
	retry := func() error {
		return outbox.DecideLetter(t.Context(), b.pool, "s", 1, outbox.LetterRetried, "me", "because")
	}
	if err := retry(); err != nil {
		t.Fatal(err)
	}
	b.until("it is refused again", func() bool { return open() && b.count("SELECT refused FROM s.outbox_letter") == 2 })
	b.topicLimit(schemas.UnzipFinishedTopic, 1_000_000)
	if err := retry(); err != nil {
		t.Fatal(err)
	}
	if err := retry(); !errors.Is(err, outbox.ErrLetterDecided) {
		t.Errorf("retried twice: %v", err)
	}
	b.until("it is published", func() bool { return b.left() == 0 })
	b.all(schemas.UnzipFinishedTopic, 1)
}

// An event that is too large is refused in the transaction that writes it.
func TestATooLargeEventIsNotWritten(t *testing.T) {
	b := newBench(t)
	m := schemas.Message{ID: "x", Topic: schemas.DownloadFinishedTopic, Key: noise(schemas.MaxEvent), Stage: "test", Subject: "add/f.zip", Time: time.Unix(1, 0), Body: &schemas.DownloadFinished{}}
	err := pg.InTx(t.Context(), b.pool, func(tx pgx.Tx) error { return b.outbox.Append(t.Context(), tx, m) })
	var large *schemas.TooLargeError
	if !errors.As(err, &large) || large.Topic != m.Topic || large.ID != "x" || large.Size <= schemas.MaxEvent || !strings.Contains(err.Error(), "event_too_large") {
		t.Errorf("append: %v", err)
	}
	if n := b.left(); n != 0 {
		t.Errorf("%d events were written", n)
	}
	// A position gets a failed one in its place, in the same transaction.
	if err := pg.InTx(t.Context(), b.pool, func(tx pgx.Tx) error {
		return b.outbox.Append(t.Context(), tx, positionOf(1, "a"), positionOf(2, noise(2<<20)), positionOf(3, "c"))
	}); err != nil {
		t.Fatal(err)
	}
	if n := b.left(); n != 3 {
		t.Errorf("%d events were written, want 3", n)
	}
}

// gate makes the broker refuse a topic while it is true.
func (b *bench) gate(topic string, code *kerr.Error) *gate {
	g := &gate{}
	g.Store(true)
	name := kafka.TopicName("p", topic)
	id := b.cluster.TopicInfo(name).TopicID
	b.cluster.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		req := kreq.(*kmsg.ProduceRequest)
		if !g.Load() || !slices.ContainsFunc(req.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == name || t.TopicID == id }) {
			return nil, nil, false
		}
		return refusal(req, name, id, code), nil, true
	})
	return g
}

// gate is whether a topic is refused.
type gate struct{ atomic.Bool }

// refusal refuses one topic's batches. The others of the request are told to come
// again: the broker would have to write them.
func refusal(req *kmsg.ProduceRequest, name string, id [16]byte, code *kerr.Error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic, answer.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, kerr.NotEnoughReplicas.Code
			if t.Topic == name || t.TopicID == id {
				part.ErrorCode = code.Code
			}
			answer.Partitions = append(answer.Partitions, part)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}
