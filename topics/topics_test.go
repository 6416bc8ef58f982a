package topics

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/test/wait"
)

var update = flag.Bool("update", false, "write the generated reference anew")

type bench struct {
	addrs     []string
	cfg       config.Kafka
	newClient kafka.Factory
	client    *kgo.Client
	admin     *kadm.Client
	codec     *schemas.Codec
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{cfg: config.Default().Kafka}
	b.cfg.Partitions, b.cfg.ReplicationFactor = 3, 1
	b.addrs = enginetest.Broker(t)
	b.newClient = kafka.NewFactory(b.cfg, b.addrs, slog.New(slog.DiscardHandler))
	var err error
	if b.client, err = b.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	b.admin = kadm.NewClient(b.client)
	b.codec = schemastest.Codec(t)
	return b
}

func (b *bench) plan(t *testing.T) []Change {
	t.Helper()
	changes, err := Plan(t.Context(), b.admin, b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func (b *bench) apply(t *testing.T, o ApplyOptions) []Change {
	t.Helper()
	done, err := Apply(t.Context(), b.admin, b.cfg, b.plan(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func lines(changes []Change) []string {
	out := []string{}
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

func TestCatalogueIsWhole(t *testing.T) {
	codec := schemastest.Codec(t)
	var have, want []string
	for _, topic := range Catalogue() {
		have = append(have, topic.Name)
	}
	for _, v := range codec.Versions() {
		want = append(want, v.Topic)
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), have); diff != "" {
		t.Errorf("topics with a schema (-) and of the catalogue (+):\n%s", diff)
	}
	for _, topic := range All() {
		if name := topic.FullName(strings.Repeat("p", 100)); len(name) > 249 || strings.Contains(name, "_") {
			t.Errorf("topic name %s is too long or has a _", name)
		}
	}
}

func TestPlanAndApply(t *testing.T) {
	b := setup(t)
	if got := b.plan(t); len(got) != len(All()) || got[0].String() !=
		"create tributary.file.discovered.v1 with 3 partitions, 1 replicas, cleanup.policy=delete, max.message.bytes=1048588, min.insync.replicas=1, retention.bytes=-1, retention.ms=-1" {
		t.Fatalf("plan on an empty broker: %v", lines(got))
	}
	if got := b.apply(t, ApplyOptions{}); len(got) != len(All()) {
		t.Fatalf("applied %v", lines(got))
	}
	if got := b.plan(t); len(got) != 0 {
		t.Fatalf("plan after apply: %v", lines(got))
	}
	details, err := b.admin.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"tributary.document.ordered.v1": 1, "tributary.status.changed.v1": 3, "tributary.document.extracted.v1.tributary.validate.dlq": 3} {
		if got := len(details[name].Partitions); got != want {
			t.Errorf("%s has %d partitions, want %d", name, got, want)
		}
	}
}

// A missing topic is made; what somebody changed is shown and left alone.
// A plan that can't be carried out says so before anybody tries.
func TestPlanKnowsTheBrokers(t *testing.T) {
	b := setup(t)
	b.cfg.ReplicationFactor = 3
	m, err := b.admin.BrokerMetadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes := b.plan(t)
	if len(m.Brokers) >= 3 {
		t.Skip("there are three brokers")
	}
	if got := changes[0]; got.Kind != Brokers || got.Is != fmt.Sprint(len(m.Brokers)) || got.Want != "3" || !strings.Contains(got.String(), "kafka.replication_factor to 1") {
		t.Errorf("with one broker and three replicas the plan begins with %+v: %s", got, got)
	}
	if len(changes) != 1+len(All()) {
		t.Errorf("%d changes, want one more than the %d topics", len(changes), len(All()))
	}
	b.cfg.ReplicationFactor = 1
	if changes := b.plan(t); changes[0].Kind != Create {
		t.Errorf("with one replica the plan begins with %s", changes[0])
	}
}

func TestApplyLeavesWhatPeopleChanged(t *testing.T) {
	b := setup(t)
	b.apply(t, ApplyOptions{})
	ctx, requested, ordered := t.Context(), "tributary.download.requested.v1", "tributary.document.ordered.v1"
	if _, err := b.admin.DeleteTopic(ctx, "tributary.file.discovered.v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("1000")}}, requested); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.CreatePartitions(fresh(ctx), 1, ordered, requested); err != nil {
		t.Fatal(err)
	}
	b.cfg.ReplicationFactor = 1
	want := []string{"create tributary.file.discovered.v1", "partitions " + requested, "setting " + requested, "partitions " + ordered}
	var got []Change
	var kinds []string
	// A broker hears of changes a little later than the controller.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		got, kinds = b.plan(t), nil
		for _, c := range got {
			kinds = append(kinds, c.Kind+" "+c.Topic)
		}
		if slices.Equal(want, kinds) {
			break
		}
		<-tick.C
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatalf("plan (-want +got):\n%s", diff)
	}
	if !strings.Contains(got[1].Manual, "set kafka.partitions to 4") || !strings.Contains(got[3].Manual, "one order") {
		t.Errorf("manual steps: %q, %q", got[1].Manual, got[3].Manual)
	}
	if done := b.apply(t, ApplyOptions{}); len(done) != 1 || done[0].Kind != Create {
		t.Errorf("applied %v", lines(done))
	}
	if done := b.apply(t, ApplyOptions{Settings: true}); len(done) != 1 || done[0].String() != "set retention.ms of "+requested+" from 1000 to 604800000" {
		t.Errorf("applied %v", lines(done))
	}
	left, err := Ensure(ctx, b.admin, b.cfg)
	if err != nil || len(left) != 2 {
		t.Errorf("Ensure left %v, %v; want the two about partitions", lines(left), err)
	}
}

func (b *bench) produce(t *testing.T, topic string, partition int32, key string, n int, body any) {
	t.Helper()
	r, err := b.codec.Encode(schemas.Message{ID: schemas.ID(key, fmt.Sprint(n)), Topic: topic, Key: key, Stage: "test", Subject: "add/x.zip",
		Time: time.Date(2026, 11, 21, 10, 0, n, 0, time.UTC), Body: body})
	if err != nil {
		t.Fatal(err)
	}
	record := kafka.ToKgo(b.cfg.TopicPrefix, r)
	record.Partition, record.Timestamp = partition, time.Date(2026, 11, 21, 10, 0, n, 0, time.UTC)
	if err := b.client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) tail(t *testing.T, o TailOptions) []string {
	t.Helper()
	o.Prefix = b.cfg.TopicPrefix
	var out []string
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	err := Tail(ctx, b.newClient, b.codec, o, func(e Event) error {
		out = append(out, fmt.Sprintf("%s %s %d", strings.TrimPrefix(e.Topic, "tributary."), e.Key, e.Time.Second()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("Tail did not reach the end")
	}
	return out
}

func TestTail(t *testing.T) {
	b := setup(t)
	b.apply(t, ApplyOptions{})
	b.produce(t, schemas.FileDiscoveredTopic, 0, "a", 1, &schemas.FileDiscovered{Change: "new"})
	b.produce(t, schemas.StatusChangedTopic, 2, "a", 2, &schemas.StatusChanged{Phase: "zip_name", Status: "done"})
	b.produce(t, schemas.StatusChangedTopic, 1, "b", 3, &schemas.StatusChanged{Phase: "zip_name", Status: "done"})
	b.produce(t, schemas.StatusChangedTopic, 2, "a", 4, &schemas.StatusChanged{Phase: "download", Status: "pending"})
	tests := map[string]struct {
		o    TailOptions
		want []string
	}{
		"the newest":     {TailOptions{Last: 2}, []string{"status.changed.v1 b 3", "status.changed.v1 a 4"}},
		"all by time":    {TailOptions{Last: 100}, []string{"file.discovered.v1 a 1", "status.changed.v1 a 2", "status.changed.v1 b 3", "status.changed.v1 a 4"}},
		"one topic":      {TailOptions{Last: 9, Topics: []string{"file.discovered"}}, []string{"file.discovered.v1 a 1"}},
		"its full name":  {TailOptions{Last: 9, Topics: []string{"tributary.file.discovered.v1"}}, []string{"file.discovered.v1 a 1"}},
		"one key":        {TailOptions{Last: 1, Key: "b"}, []string{"status.changed.v1 b 3"}},
		"from a time":    {TailOptions{Topics: []string{"status.changed"}, Key: "a", From: time.Date(2026, 11, 21, 10, 0, 3, 0, time.UTC)}, []string{"status.changed.v1 a 4"}},
		"from the start": {TailOptions{Topics: []string{"status.changed"}, Key: "a"}, []string{"status.changed.v1 a 2", "status.changed.v1 a 4"}},
		"empty topic":    {TailOptions{Topics: []string{"unzip.finished"}}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, b.tail(t, tc.o)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	err := Tail(t.Context(), b.newClient, b.codec, TailOptions{Prefix: "tributary", Topics: []string{"nothing"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "status.changed") {
		t.Errorf("Tail of an unknown topic = %v; want the names of the known", err)
	}
}

func TestTailFollows(t *testing.T) {
	b := setup(t)
	b.apply(t, ApplyOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	b.produce(t, schemas.StatusChangedTopic, 0, "before", 1, &schemas.StatusChanged{})
	var got []string
	err := Tail(ctx, b.newClient, b.codec, TailOptions{Prefix: "tributary", Last: 5, Follow: true}, func(e Event) error {
		got = append(got, e.Key)
		if len(got) == 1 {
			b.produce(t, schemas.StatusChangedTopic, 1, "after", 2, &schemas.StatusChanged{})
			return nil
		}
		cancel()
		return nil
	})
	if diff := cmp.Diff([]string{"before", "after"}, got); diff != "" || err != nil {
		t.Errorf("followed (-want +got): %v\n%s", err, diff)
	}
}

func TestEvent(t *testing.T) {
	b := setup(t)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r, err := b.codec.Encode(schemas.Message{ID: "id", Topic: schemas.StatusChangedTopic, Key: "k", Stage: "validate", Subject: "doc\x1b[2J.xml", Time: at,
		Body: &schemas.StatusChanged{Entity: "document", Phase: "xsd", Status: "failed", FinishedAt: &at,
			Errors: []schemas.ErrorDetail{{Line: 3, Message: "no"}}}})
	if err != nil {
		t.Fatal(err)
	}
	record := kafka.ToKgo("tributary", r)
	record.Partition, record.Offset = 4, 9
	e := Decode(b.codec, record)
	if want := "2026-11-21 10:00:00.000 tributary.status.changed.v1 4/9 doc\uFFFD[2J.xml entity=document phase=xsd status=failed"; e.String() != want {
		t.Errorf("line %q, want %q", e, want)
	}
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"topic":"tributary.status.changed.v1","partition":4,"offset":9,"time":"2026-11-21T10:00:00Z","key":"k","id":"id","stage":"validate","subject":"doc` + "\uFFFD" + `[2J.xml",` +
		`"body":{"entity":"document","phase":"xsd","status":"failed","errors":[{"line":3,"message":"no"}],"finished_at":"2026-11-21T10:00:00Z"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("json (-want +got):\n%s", diff)
	}
	bad := Decode(b.codec, &kgo.Record{Topic: "t", Key: []byte("k"), Value: []byte("not avro")})
	if bad.Problem == "" || !strings.Contains(bad.String(), "undecodable") {
		t.Errorf("undecodable record: %+v", bad)
	}
}

func TestList(t *testing.T) {
	b := setup(t)
	infos, err := List(t.Context(), b.admin, b.cfg)
	if err != nil || len(infos) != len(All()) || infos[0].Exists {
		t.Fatalf("List on an empty broker = %+v, %v", infos, err)
	}
	b.apply(t, ApplyOptions{})
	b.produce(t, schemas.FileDiscoveredTopic, 0, "a", 1, &schemas.FileDiscovered{})
	b.produce(t, schemas.FileDiscoveredTopic, 1, "b", 2, &schemas.FileDiscovered{})
	infos, err = List(t.Context(), b.admin, b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if i := infos[0]; !i.Exists || i.Records != 2 || i.Partitions != 3 || i.Replicas != 1 || i.Kept != "for ever" {
		t.Errorf("file.discovered = %+v", i)
	}
}

// The reference of topics is this catalogue; write it with -update.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Topics\n\n<!-- Written by `go test ./topics -update` from the catalogue. -->\n\n" +
		"Names begin with `kafka.topic_prefix`, here `tributary`. N is `kafka.partitions`. `topics plan` compares a broker with this table,\n" +
		"`topics apply` makes what is missing; partitions are never added by a command. The embedded broker keeps everything, whatever is written here.\n\n" +
		"| topic | what it says | key | partitions | kept | produced by | read by |\n|---|---|---|---|---|---|---|\n")
	for _, topic := range All() {
		partitions := "N"
		if topic.Single {
			partitions = "1"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", topic.FullName("tributary"), topic.What, topic.Key, partitions, topic.Kept(),
			strings.Join(topic.ProducedBy, ", "), strings.Join(topic.ReadBy, ", "))
	}
	b.WriteString("\nEvery topic has `cleanup.policy=delete`, `retention.bytes=-1`, `min.insync.replicas` 2 where there are three replicas or more, else 1,\n" +
		"and `max.message.bytes` 1048588, or for dead letters 2097152, so that whatever came fits into one with its cause.\n")
	const path = "../docs/reference/topics.md"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s is not the catalogue, write it with -update (-want +got):\n%s", path, diff)
	}
}

// Where another program writes in transactions, the last offsets are their
// markers. The tail ends there, and the newest are as many as were asked for.
func TestTailOfALogThatEndsInMarkers(t *testing.T) {
	b := setup(t)
	b.apply(t, ApplyOptions{})
	for n := range 3 {
		r, err := b.codec.Encode(schemas.Message{ID: schemas.ID(fmt.Sprint(n)), Topic: schemas.FileDiscoveredTopic, Key: "a", Stage: "test", Subject: "add/x.zip",
			Time: time.Date(2026, 11, 21, 10, 0, n, 0, time.UTC), Body: &schemas.FileDiscovered{Change: "new"}})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Transact(t, b.addrs, kafka.ToKgo(b.cfg.TopicPrefix, r))
	}
	for last, want := range map[int][]string{
		0: {"file.discovered.v1 a 0", "file.discovered.v1 a 1", "file.discovered.v1 a 2"},
		1: {"file.discovered.v1 a 2"},
		2: {"file.discovered.v1 a 1", "file.discovered.v1 a 2"},
	} {
		got := b.tail(t, TailOptions{Topics: []string{"file.discovered"}, Last: last})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the last %d (-want +got):\n%s", last, diff)
		}
	}
}
