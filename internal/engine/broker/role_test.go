package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	saslscram "github.com/twmb/franz-go/pkg/sasl/scram"

	"tributary/test/wait"
)

// user is a client of the TCP door.
func user(t testing.TB, b *Broker, name, password string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, b.TCP(), append([]kgo.Opt{kgo.SASL(saslscram.Auth{User: name, Pass: password}.AsSha256Mechanism()),
		kgo.RequestRetries(0), kgo.ProducerBatchCompression(kgo.NoCompression())}, opts...)...)
}

func withTCP(t testing.TB) *Broker {
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"})
	createTopic(t, b.Addrs()[0], "kept", nil)
	createTopic(t, b.Addrs()[0], announced, nil)
	produce(t, b.Addrs()[0], "kept", "a", "b", "c")
	return b
}

func TestTheReaderReads(t *testing.T) {
	b := withTCP(t)
	group := user(t, b, Reader, "reads", kgo.ConsumerGroup("console-consumer-1"), kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	got := ""
	for len(got) < 3 {
		fetches := group.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got += string(r.Value) })
	}
	if got != "abc" {
		t.Errorf("it reads %q", got)
	}
	if err := group.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever may not do a thing is told so in the protocol's words, and nothing is
// done.
func TestUsersAreRefused(t *testing.T) {
	b := withTCP(t)
	configs := []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("1")}}
	record := func(topic string) *kgo.Record { return &kgo.Record{Topic: topic, Value: []byte("x")} }
	for name, try := range map[string]func(c *kgo.Client, a *kadm.Client) error{
		"create a topic": func(_ *kgo.Client, a *kadm.Client) error {
			_, err := a.CreateTopic(t.Context(), 1, 1, nil, "new")
			return err
		},
		"delete a topic": func(_ *kgo.Client, a *kadm.Client) error {
			_, err := a.DeleteTopic(t.Context(), "kept")
			return err
		},
		"alter a topic": func(_ *kgo.Client, a *kadm.Client) error {
			out, err := a.AlterTopicConfigs(t.Context(), configs, "kept")
			if err == nil {
				err = out[0].Err
			}
			return err
		},
		"add partitions": func(_ *kgo.Client, a *kadm.Client) error {
			out, err := a.CreatePartitions(t.Context(), 1, "kept")
			return errors.Join(err, out.Error())
		},
		"delete records": func(_ *kgo.Client, a *kadm.Client) error {
			var to kadm.Offsets
			to.AddOffset("kept", 0, 3, -1)
			out, err := a.DeleteRecords(t.Context(), to)
			return errors.Join(err, out.Error())
		},
		"write": func(c *kgo.Client, _ *kadm.Client) error {
			return c.ProduceSync(t.Context(), record("kept")).FirstErr()
		},
	} {
		for who, password := range map[string]string{Reader: "reads", Announcer: "announces", Operator: "operates"} {
			c := user(t, b, who, password, kgo.DisableIdempotentWrite())
			err := try(c, kadm.NewClient(c))
			c.Close() // so many may be connected at once
			if !errors.Is(err, kerr.TopicAuthorizationFailed) {
				t.Errorf("%s: %s: error is %v", who, name, err)
			}
		}
	}
	if s, e := end(t, b.Addrs()[0], "kept"); s != 0 || e != 3 {
		t.Errorf("the log reaches from %d to %d", s, e)
	}
	topics, err := kadm.NewClient(client(t, b.Addrs()[0])).ListTopics(t.Context())
	if err != nil || len(topics) != 2 {
		t.Errorf("the topics are %v, %v", topics.Names(), err)
	}
}

// The reader can't move the pipeline's offsets or take its partitions, and the
// announcer reads nothing.
func TestUsersKeepOutOfThePipeline(t *testing.T) {
	b := withTCP(t)
	c := user(t, b, Reader, "reads")
	var to kadm.Offsets
	to.AddOffset("kept", 0, 3, -1)
	out, err := kadm.NewClient(c).CommitOffsets(t.Context(), "tributary.download", to)
	if err = errors.Join(err, out.Error()); !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Errorf("commit: error is %v", err)
	}
	joined, err := join(t.Context(), c, "tributary.download", "", time.Second)
	if err != nil || joined.ErrorCode != kerr.GroupAuthorizationFailed.Code {
		t.Errorf("join: %v, %v", joined, err)
	}
	if info := b.cluster.GroupInfo("tributary.download"); info != nil {
		t.Errorf("the group has come to be: %+v", info)
	}
	a := user(t, b, Announcer, "announces", kgo.ConsumeTopics("kept"), kgo.KeepRetryableFetchErrors())
	if err := a.PollFetches(t.Context()).Err(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("fetch: error is %v", err)
	}
}

func TestTheAnnouncerAnnounces(t *testing.T) {
	b := withTCP(t)
	if err := user(t, b, Announcer, "announces").ProduceSync(t.Context(), &kgo.Record{Topic: announced, Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	// What can't be read would stop whoever reads the topic.
	squeezed := user(t, b, Announcer, "announces", kgo.ProducerBatchCompression(kgo.GzipCompression()))
	err := squeezed.ProduceSync(t.Context(), &kgo.Record{Topic: announced, Value: bytes.Repeat([]byte("x"), 10_000)}).FirstErr()
	if !errors.Is(err, kerr.UnsupportedCompressionType) {
		t.Errorf("compressed: error is %v", err)
	}
	if _, e := end(t, b.Addrs()[0], announced); e != 1 {
		t.Errorf("%d records are announced, want 1", e)
	}
}

func TestBatchesAreReadToTheirLastRecord(t *testing.T) {
	record := kmsg.Record{Value: []byte("v"), Headers: []kmsg.Header{{Key: "k", Value: []byte("h")}}}
	record.Length = int32(len(record.AppendTo(nil)) - 1)
	good := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, NumRecords: 1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: record.AppendTo(nil)}
	for name, tt := range map[string]struct {
		change func(*kmsg.RecordBatch)
		want   *kerr.Error
	}{
		"good":                {func(*kmsg.RecordBatch) {}, nil},
		"a record too few":    {func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 2, 1 }, kerr.InvalidRecord},
		"no record":           {func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 0, -1 }, kerr.InvalidRecord},
		"fewer than none":     {func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = -5, -6 }, kerr.InvalidRecord},
		"a count beyond all":  {func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 1<<31-1, 1<<31-2 }, kerr.InvalidRecord},
		"more than is said":   {func(b *kmsg.RecordBatch) { b.Records = append(b.Records, 0) }, kerr.InvalidRecord},
		"of a transaction":    {func(b *kmsg.RecordBatch) { b.Attributes = 0x10 }, kerr.InvalidRecord},
		"of control":          {func(b *kmsg.RecordBatch) { b.Attributes = 0x20 }, kerr.InvalidRecord},
		"compressed":          {func(b *kmsg.RecordBatch) { b.Attributes = 1 }, kerr.UnsupportedCompressionType},
		"a wrong checksum":    {func(b *kmsg.RecordBatch) { b.MaxTimestamp++ }, kerr.CorruptMessage},
		"of an older format":  {func(b *kmsg.RecordBatch) { b.Magic = 1 }, kerr.CorruptMessage},
		"records that are no": {func(b *kmsg.RecordBatch) { b.Records = []byte{0x7f, 1} }, kerr.InvalidRecord},
	} {
		b := good
		b.Records = bytes.Clone(good.Records)
		tt.change(&b)
		b.Length = int32(49 + len(b.Records))
		raw := b.AppendTo(nil)
		sum := good
		if name != "a wrong checksum" {
			sum = b
		}
		binary.BigEndian.PutUint32(raw[17:], checksum(sum.AppendTo(nil)[21:]))
		if got := checkRecords(raw); !errors.Is(errOf(got), errOf(tt.want)) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func errOf(e *kerr.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestLogins(t *testing.T) {
	b := withTCP(t)
	for _, tt := range []struct {
		user, password string
		works          bool
	}{{Reader, "reads", true}, {Reader, "announces", false}, {"admin", "admin", false}, {"owner", "reads", false}, {Reader, "", false}} {
		err := user(t, b, tt.user, tt.password).Ping(t.Context())
		if (err == nil) != tt.works {
			t.Errorf("%s with %q: %v", tt.user, tt.password, err)
		}
	}
	if err := client(t, b.TCP(), kgo.RequestRetries(0)).Ping(t.Context()); err == nil {
		t.Error("a client that does not log in is answered")
	}
}

// Before a login only what a login needs is answered, and only small.
func TestStrangersAskForNothing(t *testing.T) {
	b := withTCP(t)
	format := kmsg.NewRequestFormatter()
	huge := binary.BigEndian.AppendUint32(nil, 1<<20)
	for name, data := range map[string][]byte{
		"metadata": format.AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 1),
		"a frame":  append(huge, make([]byte, 100)...),
		"http":     []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c, err := net.Dial("tcp", b.TCP())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(data); err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(c); len(answer) > 0 { // it may end with a reset
			t.Errorf("%s: %d bytes of an answer", name, len(answer))
		}
		_ = c.Close()
	}
}

// Connections that never log in keep nobody out for good, nor do they fill the
// log.
func TestTooManyStrangers(t *testing.T) {
	var log bytes.Buffer
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var held []net.Conn
	for range strangers {
		c, err := net.Dial("tcp", b.TCP())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for range 5 {
		c, err := net.Dial("tcp", b.TCP())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("one more is let in")
		}
	}
	for _, c := range held {
		_ = c.Close()
	}
	for deadline := time.Now().Add(wait.Patience()); ; tick(t) {
		if user(t, b, Reader, "reads").Ping(t.Context()) == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody is let in when they have gone")
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "too many connections"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}
