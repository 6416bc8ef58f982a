package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
)

const (
	prefix  = "test"
	inTopic = schemas.FileDiscoveredTopic
	outT    = schemas.StatusChangedTopic
	endT    = schemas.UnzipFinishedTopic // of the end that others act on
	patient = 5 * time.Minute            // how long a test waits for what must happen
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a broker and what the tests do with it.
type bench struct {
	t       testing.TB
	addrs   []string
	cluster *kfake.Cluster   // nil on Apache Kafka: see inMemory
	base    func() []kgo.Opt // of a further client: how it connects, and its group's protocol
	codec   *schemas.Codec
	client  *kgo.Client // produces and looks, in no group
	reg     *prometheus.Registry
	metrics *Metrics
}

func newBench(t testing.TB, partitions int32) *bench {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	b := &bench{t: t, codec: codec, reg: reg, metrics: NewMetrics(reg), base: protocolOf(t)}
	if enginetest.KafkaAddrs() != nil {
		b.addrs = enginetest.Broker(t)
	} else {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond), kfake.BrokerConfigs(map[string]string{
			"group.consumer.session.timeout.ms": "2000", "group.consumer.heartbeat.interval.ms": "200", // of the protocol consumer, where the broker says
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		b.addrs, b.cluster = cluster.ListenAddrs(), cluster
	}
	b.client = b.newClient()
	b.create(partitions, kafka.TopicName(prefix, inTopic), kafka.TopicName(prefix, outT), kafka.TopicName(prefix, endT))
	b.create(1, kafka.DLQName(prefix, inTopic, "work"))
	return b
}

// create makes topics, given by their full names.
func (b *bench) create(partitions int32, names ...string) {
	b.t.Helper()
	created, err := kadm.NewClient(b.client).CreateTopics(context.Background(), partitions, 1, nil, names...)
	if err = errors.Join(err, created.Error()); err != nil {
		b.t.Fatal(err)
	}
}

// inMemory is the broker, for tests that make it fail: Apache Kafka does not
// fail on command.
func (b *bench) inMemory() *kfake.Cluster {
	b.t.Helper()
	if b.cluster == nil {
		b.t.Skip("this test makes the broker in memory fail; Apache Kafka's own failures are tested by make test-kafka in test/e2e")
	}
	return b.cluster
}

// end is the log's end of a partition of a topic given by its full name.
func (b *bench) end(topic string, partition int32) int64 {
	b.t.Helper()
	ends, err := kadm.NewClient(b.client).ListEndOffsets(context.Background(), topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		b.t.Fatal(err)
	}
	o, _ := ends.Lookup(topic, partition)
	return o.Offset
}

// factory connects to the broker as every role does.
func (b *bench) factory(extra ...kgo.Opt) kafka.Factory {
	cfg := config.Kafka{SessionTimeout: config.Duration(10 * time.Second)}
	return func(more ...kgo.Opt) (*kgo.Client, error) {
		return kafka.NewClient(cfg, b.addrs, slog.New(slog.NewTextHandler(io.Discard, nil)), slices.Concat(b.base(), extra, more)...)
	}
}

func (b *bench) newClient(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	client, err := b.factory()(opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(client.Close)
	return client
}

// message is an input whose id tells its key and its number within the key.
func message(key string, n int) schemas.Message {
	return schemas.Message{ID: fmt.Sprintf("%s-%d", key, n), Topic: inTopic, Key: key, Stage: "test",
		Time: time.Unix(int64(n), 0).UTC(), Body: &schemas.FileDiscovered{Look: int32(n)}}
}

// echo is an output of the same id and key.
func echo(m schemas.Message) schemas.Message {
	return schemas.Message{ID: m.ID, Topic: outT, Key: m.Key, Body: &schemas.StatusChanged{}}
}

func (b *bench) produce(msgs ...schemas.Message) {
	b.t.Helper()
	for _, m := range msgs {
		rec, err := b.codec.Encode(m)
		if err != nil {
			b.t.Fatal(err)
		}
		b.produceRaw(kafka.ToKgo(prefix, rec))
	}
}

func (b *bench) produceRaw(recs ...*kgo.Record) {
	b.t.Helper()
	if err := b.client.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// read returns the first n records of a topic given by its full name.
func (b *bench) read(topic string, n int) []*kgo.Record {
	b.t.Helper()
	client := b.newClient(kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		f := client.PollFetches(ctx)
		if ctx.Err() != nil {
			b.t.Fatalf("%s: %d of %d records came", topic, len(out), n)
		}
		out = append(out, f.Records()...)
	}
	return out
}

// outputs waits until inputs of n keys have their outputs, each at least once: a
// member that loses a partition before it could commit leaves its last records
// to the next one.
func (b *bench) outputs(n int) {
	b.t.Helper()
	client := b.newClient(kgo.ConsumeTopics(kafka.TopicName(prefix, outT)))
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	keys := map[string]int{}
	for len(keys) < n {
		f := client.PollFetches(ctx)
		if ctx.Err() != nil {
			b.t.Fatalf("of %d keys these have outputs: %v", n, keys)
		}
		f.EachRecord(func(r *kgo.Record) { keys[string(r.Key)]++ })
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patient)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// committed returns the group's offset and mark of a partition; -1 if there is
// none.
func (b *bench) committed(group string, partition int32) (int64, mark) {
	b.t.Helper()
	offsets, err := kadm.NewClient(b.client).FetchOffsets(context.Background(), group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return -1, mark{}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	o, ok := offsets.Lookup(kafka.TopicName(prefix, inTopic), partition)
	if !ok {
		return -1, mark{}
	}
	return o.At, parseMark(&o.Metadata)
}

// metric returns the sum of a counter or gauge over all its labels.
func (b *bench) metric(name string) (sum float64) {
	b.t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// line is a member's way to the broker, which can be cut for good: for the
// group the member is dead then, and nothing that it does arrives.
type line struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// opts connect through the line, with a session that a death ends soon.
func (l *line) opts() []kgo.Opt {
	return []kgo.Opt{kgo.Dialer(l.dial), kgo.SessionTimeout(600 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond)}
}

func (l *line) dial(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || !l.dead {
		l.conns = append(l.conns, conn)
		return conn, err
	}
	conn.Close()
	return nil, errors.New("the line is cut")
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.conns {
		if c != nil {
			c.Close()
		}
	}
}

// header returns a record's header.
func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// funcs is a Stage of functions.
type funcs struct {
	work func(context.Context, Input) error
	fail func(schemas.Message, error) []schemas.Message
}

func (f funcs) Work(ctx context.Context, in Input) error { return f.work(ctx, in) }

func (f funcs) Fail(in schemas.Message, cause error) []schemas.Message {
	if f.fail == nil {
		return nil
	}
	return f.fail(in, cause)
}

// start runs a Runner until the returned function is called, or the test ends.
func (b *bench) start(s Stage, change func(*Config), opts ...kgo.Opt) (stop func()) {
	b.t.Helper()
	cfg := Config{Name: "work", Prefix: prefix, Topic: inTopic, Backoff: time.Millisecond, BackoffMax: 10 * time.Millisecond,
		CommitInterval: 10 * time.Millisecond, Grace: 5 * time.Second}
	if change != nil {
		change(&cfg)
	}
	r := NewRunner(cfg, b.factory(opts...), b.codec, s, testLogger(b.t), b.metrics)
	return running(b.t, r.Run)
}

// running runs until the returned function is called, or the test ends.
func running(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// testLogger logs into the test's output.
func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
