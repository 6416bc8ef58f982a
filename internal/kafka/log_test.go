package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/test/wait"
)

// topicLog is a topic of one partition, and who reads it.
type topicLog struct {
	t      *testing.T
	client *kgo.Client
	reader kafka.Reader
	// meanwhile, if set, is called with each chunk that was read.
	meanwhile func()
}

func newLog(t *testing.T, addrs []string, configs map[string]*string) *topicLog {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	l := &topicLog{t: t, reader: kafka.Reader{Connect: kafka.NewFactory(config.Kafka{}, addrs, quiet), Silence: wait.Patience()}}
	l.connect()
	enginetest.Topics(t, l.client, 1, configs, "t")
	return l
}

// connect gives it a client that has seen no topic yet.
func (l *topicLog) connect() {
	l.t.Helper()
	client, err := l.reader.Connect()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.Close)
	l.client = client
}

// write writes records in a batch, each its own key and value.
func (l *topicLog) write(keys ...string) {
	l.t.Helper()
	var records []*kgo.Record
	for _, k := range keys {
		records = append(records, &kgo.Record{Topic: "t", Key: []byte(k), Value: []byte(k)})
	}
	if err := l.client.ProduceSync(l.t.Context(), records...).FirstErr(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *topicLog) bounds() kafka.Span {
	l.t.Helper()
	spans, err := l.reader.Bounds(l.t.Context(), "t")
	if err != nil || len(spans) != 1 {
		l.t.Fatalf("bounds = %v, %v", spans, err)
	}
	return spans[0]
}

// read reads a span to its end, and returns the records and the first offset
// that has nothing.
func (l *topicLog) read(s kafka.Span) (got []string, deleted int64, err error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), wait.Patience())
	defer cancel()
	next, deleted := s.From, -1
	err = l.reader.Read(ctx, []kafka.Span{s}, func(c kafka.Chunk) error {
		if c.From != next {
			l.t.Errorf("a chunk begins at %d, the one before ended at %d", c.From, next)
		}
		next = c.To
		if next > s.To {
			return fmt.Errorf("it has run on to %d, past its end at %d", next, s.To)
		}
		if deleted < 0 {
			deleted = c.Deleted
		}
		for _, r := range c.Records {
			got = append(got, fmt.Sprintf("%d %s", r.Offset, r.Key))
		}
		if l.meanwhile != nil {
			l.meanwhile()
		}
		return nil
	})
	if err == nil && next != max(s.From, s.To) {
		l.t.Errorf("it ended at %d instead of %d", next, s.To)
	}
	return got, deleted, err
}

// A log ends where it ends, whatever stands there. On Apache Kafka, too.
func TestALogThatEndsInAMarker(t *testing.T) {
	addrs := enginetest.Broker(t)
	l := newLog(t, addrs, nil)
	if got, _, err := l.read(l.bounds()); len(got) > 0 || err != nil {
		t.Fatalf("an empty log: %v, %v", got, err)
	}
	l.write("a", "b")
	enginetest.Transact(t, addrs, &kgo.Record{Topic: "t", Key: []byte("c"), Value: []byte("c")}) // 2, and its marker at 3
	for name, test := range map[string]struct {
		from, to int64
		want     []string
	}{
		"all":              {0, 4, []string{"0 a", "1 b", "2 c"}},
		"up to a record":   {1, 3, []string{"1 b", "2 c"}},
		"nothing but that": {3, 4, nil},
		"nothing":          {4, 4, nil},
	} {
		got, deleted, err := l.read(kafka.Span{Topic: "t", From: test.from, To: test.to})
		if err != nil || deleted >= 0 || !cmp.Equal(got, test.want) {
			t.Fatalf("%s: %v, deleted %d, %v; want %v", name, got, deleted, err, test.want)
		}
	}
}

// A span may end where compaction has left nothing.
func TestASpanThatEndsInAGap(t *testing.T) {
	cluster := enginetest.Cluster(t)
	policy := "compact"
	l := newLog(t, cluster.ListenAddrs(), map[string]*string{"cleanup.policy": &policy})
	l.write("a", "b", "x") // the batch keeps its last offset, 2
	l.write("x", "c")
	l.write("b", "c")
	l.write("d")
	cluster.Compact()
	want := []string{"0 a", "3 x", "5 b", "6 c", "7 d"}
	for from := int64(0); from <= 8; from++ {
		for to := from; to <= 8; to++ {
			var expected []string
			gap := int64(-1)
			for at := from; at < to; at++ {
				i := slices.IndexFunc(want, func(s string) bool { return s[:1] == fmt.Sprint(at) })
				if i >= 0 {
					expected = append(expected, want[i])
				} else if gap < 0 {
					gap = at
				}
			}
			got, deleted, err := l.read(kafka.Span{Topic: "t", From: from, To: to})
			if err != nil || !cmp.Equal(got, expected) || deleted != gap {
				t.Errorf("from %d to %d: %v, deleted %d, %v; want %v, %d", from, to, got, deleted, err, expected, gap)
			}
		}
	}
}

// emptyEnd makes a broker answer every fetch from an offset on with a batch that
// compaction has emptied, up to another: at a log's end Apache Kafka keeps such
// batches for what it knows of their producers.
func emptyEnd(cluster *kfake.Cluster, from, to int64) {
	b := kmsg.RecordBatch{FirstOffset: from, Length: 49, Magic: 2, LastOffsetDelta: int32(to - from - 1), ProducerID: 1} //nolint:gosec // small
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch := req.(*kmsg.FetchRequest)
		resp := fetch.ResponseKind().(*kmsg.FetchResponse)
		for _, asked := range fetch.Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
			for _, p := range asked.Partitions {
				if p.FetchOffset < from {
					return nil, nil, false
				}
				partition := kmsg.NewFetchResponseTopicPartition()
				partition.Partition, partition.HighWatermark, partition.LastStableOffset = p.Partition, to, to
				if p.FetchOffset < to {
					partition.RecordBatches = raw
				}
				topic.Partitions = append(topic.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
}

func TestALogThatEndsInAnEmptiedBatch(t *testing.T) {
	cluster := enginetest.Cluster(t)
	l := newLog(t, cluster.ListenAddrs(), nil)
	l.write("a", "b", "c", "d")
	emptyEnd(cluster, 4, 9)
	got, deleted, err := l.read(kafka.Span{Topic: "t", From: 1, To: 9})
	if want := []string{"1 b", "2 c", "3 d"}; err != nil || deleted != 4 || !cmp.Equal(got, want) {
		t.Errorf("%v, deleted %d, %v; want %v", got, deleted, err, want)
	}
}

// What a broker has deleted is said, or passed over.
func TestALogWhoseBeginningIsDeleted(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	l.write("a", "b", "c", "d")
	if _, err := kadm.NewClient(l.client).DeleteRecords(t.Context(), kadm.Offsets{"t": {0: {Topic: "t", At: 3}}}); err != nil {
		t.Fatal(err)
	}
	for _, to := range []int64{2, 3, 4} {
		l.reader.SkipDeleted = false
		if got, _, err := l.read(kafka.Span{Topic: "t", From: 1, To: to}); !errors.Is(err, kafka.ErrDeleted) {
			t.Errorf("to %d: %v, %v; want that it was deleted", to, got, err)
		}
		l.reader.SkipDeleted = true
		var want []string
		if to == 4 {
			want = []string{"3 d"}
		}
		if got, deleted, err := l.read(kafka.Span{Topic: "t", From: 1, To: to}); err != nil || deleted != 1 || !cmp.Equal(got, want) {
			t.Errorf("to %d, passing over: %v, deleted %d, %v; want %v", to, got, deleted, err, want)
		}
	}
}

// A broker that says it has more than it gives is not waited for for ever.
func TestABrokerThatGivesNothing(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	l.write("a")
	l.reader.Silence = 300 * time.Millisecond
	if got, _, err := l.read(kafka.Span{Topic: "t", From: 0, To: 5}); !errors.Is(err, kafka.ErrSilent) {
		t.Errorf("%v, %v; want that the broker is silent", got, err)
	}
}

// Read ends when it is told to, and with what take says.
func TestAReadingThatIsStopped(t *testing.T) {
	l := newLog(t, enginetest.Broker(t), nil)
	l.write("a")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	span := []kafka.Span{{Topic: "t", From: 0, To: 2}}
	if err := l.reader.Read(ctx, span, func(kafka.Chunk) error { return nil }); !errors.Is(err, why) {
		t.Errorf("stopped: %v", err)
	}
	if err := l.reader.Read(t.Context(), span, func(kafka.Chunk) error { return why }); !errors.Is(err, why) {
		t.Errorf("taking failed: %v", err)
	}
}
