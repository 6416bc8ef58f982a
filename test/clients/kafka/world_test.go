package kafka

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/broker"
	"tributary/internal/engine/enginetest"
	own "tributary/internal/kafka"
	"tributary/test/kafka"
)

// What there is on every broker.
const (
	topic     = "tributary.status.changed.v1"
	announced = "tributary.file.discovered.v1"
	spare     = "tributary.spare.v1"
	group     = "tributary.tracker" // without members
	members   = "console-live"      // with one
	kept0     = int64(2)            // what group has committed in the topic's partition 0
)

// patience ends a test that hangs.
const patience = 10 * time.Minute

// world is a broker with topics, records and groups.
type world struct {
	t         *testing.T
	addr      string // for clients
	owner     *kgo.Client
	passwords map[string]string // nil: nobody logs in
	dir       string
}

// door is the embedded broker behind its door.
func door(t *testing.T) *world {
	dir, err := os.MkdirTemp("", "trib-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, dir: t.TempDir(), passwords: map[string]string{}}
	for _, user := range broker.Users() {
		w.passwords[user] = "the password of " + user
	}
	b, err := broker.Open(broker.Options{
		DataDir: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "s"), Addr: "127.0.0.1:0", Passwords: w.passwords,
		Prefix: "tributary", NoSync: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	w.addr = b.TCP()
	w.fill(own.Bootstrap(b.Addrs()))
	return w
}

// apache is an Apache Kafka of one broker.
func apache(t *testing.T) *world {
	c, err := kafka.Start(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	w := &world{t: t, dir: t.TempDir(), addr: c.Brokers()[0]}
	w.fill(own.Bootstrap(c.Brokers()))
	return w
}

// fill makes topics, records, and a member that reads until the test ends.
func (w *world) fill(opts []kgo.Opt) {
	owner, err := kgo.NewClient(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(owner.Close)
	w.owner = owner
	enginetest.Topics(w.t, owner, 3, nil, topic, announced, spare)
	for _, value := range []string{"first", "second", "third"} {
		if err := owner.ProduceSync(w.t.Context(), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
	live, err := kgo.NewClient(append(opts, kgo.ConsumerGroup(members), kgo.ConsumeTopics(topic), kgo.ClientID("live"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(live.Close)
	if err := live.PollFetches(w.t.Context()).Err(); err != nil {
		w.t.Fatal(err)
	}
	if err := live.CommitUncommittedOffsets(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// commit sets the offsets of the group as they are before each column.
func (w *world) commit() { w.commitTo(group) }

// commitTo makes a group that has committed something.
func (w *world) commitTo(group string) {
	w.t.Helper()
	var to kadm.Offsets
	for p := range int32(3) {
		to.AddOffset(topic, p, kept0*int64(max(0, 1-p)), -1)
	}
	if err := kadm.NewClient(w.owner).CommitAllOffsets(w.t.Context(), group, to); err != nil {
		w.t.Fatal(err)
	}
}

// committed is a group's offset in partition 0; -1: none.
func (w *world) committed(group string) int64 {
	w.t.Helper()
	offsets, err := kadm.NewClient(w.owner).FetchOffsets(w.t.Context(), group)
	if err != nil {
		w.t.Fatal(err)
	}
	if o, ok := offsets.Lookup(topic, 0); ok {
		return o.At
	}
	return -1
}

// settings are what a client of librdkafka needs to connect as a user.
func (w *world) settings(user string) map[string]string {
	out := map[string]string{"bootstrap.servers": w.addr}
	if w.passwords != nil {
		out["security.protocol"], out["sasl.mechanism"] = "SASL_PLAINTEXT", broker.Mechanism
		out["sasl.username"], out["sasl.password"] = user, w.passwords[user]
	}
	return out
}

// file is a file of properties with which a user connects: for Java, which has
// its own way to say who logs in, and for the others.
func (w *world) file(user string, more ...string) string {
	w.t.Helper()
	settings := w.settings(user)
	if w.passwords != nil {
		settings["sasl.jaas.config"] = fmt.Sprintf("org.apache.kafka.common.security.scram.ScramLoginModule required username=%q password=%q;", user, w.passwords[user])
	}
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		lines = append(lines, k+"="+settings[k])
	}
	path := filepath.Join(w.dir, strings.Join(append([]string{user}, more...), "-")+".properties")
	if err := os.WriteFile(path, []byte(strings.Join(append(lines, more...), "\n")+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}
