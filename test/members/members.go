// Package members is a broker, in memory or Apache Kafka, and what the tests of
// its consumers share.
package members

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/wait"
)

// What every bench has: the prefix of its names, a topic to read, one to write
// and one for the ends that others act on.
const (
	Prefix   = "test"
	InTopic  = schemas.FileDiscoveredTopic
	OutTopic = schemas.StatusChangedTopic
	EndTopic = schemas.UnzipFinishedTopic // of the end that others act on
)

// Bench is a broker and what the tests do with it.
type Bench struct {
	T        testing.TB
	Addrs    []string
	Cluster  *kfake.Cluster   // nil on Apache Kafka: see InMemory
	Base     func() []kgo.Opt // of a further client: how it connects, and its group's protocol
	Codec    *schemas.Codec
	Client   *kgo.Client // produces and looks, in no group
	Registry *prometheus.Registry
	Metrics  *member.Metrics
}

// New starts a broker with topics of that many partitions.
func New(t testing.TB, partitions int32) *Bench {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	b := &Bench{T: t, Codec: codec, Registry: reg, Metrics: member.NewMetrics(reg), Base: protocolOf(t)}
	if enginetest.KafkaAddrs() != nil {
		b.Addrs = enginetest.Broker(t)
	} else {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond), kfake.BrokerConfigs(map[string]string{
			"group.consumer.session.timeout.ms": "6000", "group.consumer.heartbeat.interval.ms": "200", // of the protocol consumer, where the broker says
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		b.Addrs, b.Cluster = cluster.ListenAddrs(), cluster
	}
	b.Client = b.NewClient()
	b.Create(partitions, kafka.TopicName(Prefix, InTopic), kafka.TopicName(Prefix, OutTopic), kafka.TopicName(Prefix, EndTopic))
	b.Create(1, kafka.DLQName(Prefix, InTopic, "work"))
	return b
}

// Create makes topics, given by their full names.
func (b *Bench) Create(partitions int32, names ...string) {
	b.T.Helper()
	created, err := kadm.NewClient(b.Client).CreateTopics(context.Background(), partitions, 1, nil, names...)
	if err = errors.Join(err, created.Error()); err != nil {
		b.T.Fatal(err)
	}
}

// InMemory is the broker, for tests that make it fail: Apache Kafka does not
// fail on command.
func (b *Bench) InMemory() *kfake.Cluster {
	b.T.Helper()
	if b.Cluster == nil {
		b.T.Skip("this test makes the broker in memory fail; Apache Kafka's own failures are tested by make test-kafka in test/e2e")
	}
	return b.Cluster
}

// End is the log's end of a partition of a topic given by its full name.
func (b *Bench) End(topic string, partition int32) int64 {
	b.T.Helper()
	ends, err := kadm.NewClient(b.Client).ListEndOffsets(context.Background(), topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		b.T.Fatal(err)
	}
	o, _ := ends.Lookup(topic, partition)
	return o.Offset
}

// Factory connects to the broker as every role does.
func (b *Bench) Factory(extra ...kgo.Opt) kafka.Factory {
	cfg := config.Kafka{SessionTimeout: config.Duration(10 * time.Second)}
	return func(more ...kgo.Opt) (*kgo.Client, error) {
		return kafka.NewClient(cfg, b.Addrs, slog.New(slog.NewTextHandler(io.Discard, nil)), slices.Concat(b.Base(), extra, more)...)
	}
}

// NewClient connects until the test ends.
func (b *Bench) NewClient(opts ...kgo.Opt) *kgo.Client {
	b.T.Helper()
	client, err := b.Factory()(opts...)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(client.Close)
	return client
}

// Message is an input whose id tells its key and its number within the key.
func Message(key string, n int) schemas.Message {
	return schemas.Message{ID: fmt.Sprintf("%s-%d", key, n), Topic: InTopic, Key: key, Stage: "test",
		Time: time.Unix(int64(n), 0).UTC(), Body: &schemas.FileDiscovered{Look: int32(n)}}
}

// Echo is an output of the same id and key.
func Echo(m schemas.Message) schemas.Message {
	return schemas.Message{ID: m.ID, Topic: OutTopic, Key: m.Key, Body: &schemas.StatusChanged{}}
}

// Produce writes messages and waits until they are acknowledged.
func (b *Bench) Produce(msgs ...schemas.Message) {
	b.T.Helper()
	for _, m := range msgs {
		rec, err := b.Codec.Encode(m)
		if err != nil {
			b.T.Fatal(err)
		}
		b.ProduceRaw(kafka.ToKgo(Prefix, rec))
	}
}

// ProduceRaw is Produce of records.
func (b *Bench) ProduceRaw(recs ...*kgo.Record) {
	b.T.Helper()
	if err := b.Client.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
		b.T.Fatal(err)
	}
}

// Read returns the first n records of a topic given by its full name.
func (b *Bench) Read(topic string, n int) []*kgo.Record {
	b.T.Helper()
	client := b.NewClient(kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		f := client.PollFetches(ctx)
		if ctx.Err() != nil {
			b.T.Fatalf("%s: %d of %d records came", topic, len(out), n)
		}
		out = append(out, f.Records()...)
	}
	return out
}

// Outputs waits until inputs of n keys have their outputs, each at least once: a
// member that loses a partition before it could commit leaves its last records
// to the next one.
func (b *Bench) Outputs(n int) {
	b.T.Helper()
	client := b.NewClient(kgo.ConsumeTopics(kafka.TopicName(Prefix, OutTopic)))
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	keys := map[string]int{}
	for len(keys) < n {
		f := client.PollFetches(ctx)
		if ctx.Err() != nil {
			b.T.Fatalf("of %d keys these have outputs: %v", n, keys)
		}
		f.EachRecord(func(r *kgo.Record) { keys[string(r.Key)]++ })
	}
}

// Eventually waits until a condition holds.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(wait.Patience())
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

// Committed returns what a group has committed of a partition of the input, if
// it has.
func (b *Bench) Committed(group string, partition int32) (o kadm.OffsetResponse, ok bool) {
	b.T.Helper()
	offsets, err := kadm.NewClient(b.Client).FetchOffsets(context.Background(), group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return o, false
	}
	if err != nil {
		b.T.Fatal(err)
	}
	return offsets.Lookup(kafka.TopicName(Prefix, InTopic), partition)
}

// Metric returns the sum of a counter or gauge over all its labels.
func (b *Bench) Metric(name string) (sum float64) {
	b.T.Helper()
	families, err := b.Registry.Gather()
	if err != nil {
		b.T.Fatal(err)
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

// Labelled returns the value of a counter or gauge, or the count of a
// histogram, with the given label; -1 if there is none.
func (b *Bench) Labelled(name, label, value string) float64 {
	b.T.Helper()
	families, err := b.Registry.Gather()
	if err != nil {
		b.T.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return -1
}

// Anew deletes a topic and makes another one of its name.
func (b *Bench) Anew(partitions int32, name string) {
	b.T.Helper()
	deleted, err := kadm.NewClient(b.Client).DeleteTopics(context.Background(), name)
	if err = errors.Join(err, deleted.Error()); err != nil {
		b.T.Fatal(err)
	}
	b.Create(partitions, name)
	b.Client.PurgeTopicsFromClient(name)
}

// ProduceKeys produces the messages from up to before to of as many keys.
func (b *Bench) ProduceKeys(keys, from, to int) {
	for n := from; n < to; n++ {
		for k := range keys {
			b.Produce(Message(fmt.Sprint("key", k), n))
		}
	}
}

// Fill produces n records of a thousand keys.
func (b *Bench) Fill(n int) {
	records := make([]*kgo.Record, n)
	for i := range records {
		rec, err := b.Codec.Encode(Message(fmt.Sprint("key", i%1000), i))
		if err != nil {
			b.T.Fatal(err)
		}
		records[i] = kafka.ToKgo(Prefix, rec)
	}
	b.ProduceRaw(records...)
}
