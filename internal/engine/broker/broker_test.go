package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/wait"
)

// envHold makes the test binary serve a broker in the directory it names until
// it is killed.
const envHold = "TRIBUTARY_TEST_HOLD_BROKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envHold); dir != "" {
		b, err := Open(Options{DataDir: dir, Socket: filepath.Join(dir, "s"), Prefix: "tributary", Logger: slog.Default()})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(b.Addrs()[0])
		select {}
	}
	os.Exit(m.Run())
}

// filled are options with what every test needs: a socket, whose path is short
// enough, and a log.
func filled(t testing.TB, o Options) Options {
	t.Helper()
	if o.Socket == "" {
		dir, err := os.MkdirTemp("", "trib-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		o.Socket = filepath.Join(dir, "s")
	}
	if o.Passwords == nil {
		o.Passwords = map[string]string{Reader: "reads", Announcer: "announces", Operator: "operates"}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	o.Prefix = "tributary"
	return o
}

func open(t testing.TB, o Options) *Broker {
	t.Helper()
	b, err := Open(filled(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func client(t testing.TB, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kafka.Bootstrap([]string{addr})...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func createTopic(t testing.TB, addr, topic string, configs map[string]*string) {
	t.Helper()
	if _, err := kadm.NewClient(client(t, addr)).CreateTopic(t.Context(), 1, 1, configs, topic); err != nil {
		t.Fatal(err)
	}
}

func produce(t testing.TB, addr, topic string, values ...string) {
	t.Helper()
	c := client(t, addr, kgo.DefaultProduceTopic(topic))
	for _, v := range values {
		if err := c.ProduceSync(t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func end(t testing.TB, addr, topic string) (start, end int64) {
	t.Helper()
	adm := kadm.NewClient(client(t, addr))
	starts, err := adm.ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := adm.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := starts.Lookup(topic, 0)
	e, _ := ends.Lookup(topic, 0)
	return s.Offset, e.Offset
}

func commit(t testing.TB, addr, group, topic string, offset int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, offset, -1)
	if err := kadm.NewClient(client(t, addr)).CommitAllOffsets(t.Context(), group, offsets); err != nil {
		t.Fatal(err)
	}
}

func committed(t testing.TB, addr, group, topic string) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(client(t, addr)).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := offsets.Lookup(topic, 0)
	if !ok {
		return -1
	}
	return o.At
}

func TestRestartKeepsLogAndOffsets(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	b := open(t, o)
	addr := b.Addrs()[0]
	createTopic(t, addr, "kept", nil)
	produce(t, addr, "kept", "a", "b", "c")
	commit(t, addr, "g", "kept", 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, o).Addrs()[0]
	if s, e := end(t, again, "kept"); s != 0 || e != 3 {
		t.Errorf("offsets %d to %d, want 0 to 3", s, e)
	}
	if got := committed(t, again, "g", "kept"); got != 2 {
		t.Errorf("committed %d, want 2", got)
	}
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), envHold+"="+dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimSpace(string(line[:n]))
	createTopic(t, addr, "kept", nil)
	produce(t, addr, "kept", "a", "b", "c")
	commit(t, addr, "g", "kept", 3)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	again := open(t, Options{DataDir: dir, Socket: filepath.Join(dir, "s")}).Addrs()[0]
	if again != addr {
		t.Errorf("it was at %s and is at %s", addr, again)
	}
	if s, e := end(t, again, "kept"); s != 0 || e != 3 {
		t.Errorf("offsets %d to %d, want 0 to 3", s, e)
	}
	if got := committed(t, again, "g", "kept"); got != 3 {
		t.Errorf("committed %d, want 3", got)
	}
}

// A torn end that stayed would hide what is appended behind it at the next start.
func TestATornEndOfTheGroupsLogIsCutOff(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	b := open(t, o)
	createTopic(t, b.Addrs()[0], "kept", nil)
	commit(t, b.Addrs()[0], "g", "kept", 1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.DataDir, "groups.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range [][]byte{{0x40}, {0x40, 0, 0, 0, 1, 2, 3, 4, 1, 0, '{'}, whole[:len(whole)-1], bytes.Repeat([]byte{0}, 100)} {
		if err := os.WriteFile(path, append(bytes.Clone(whole), torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		if cut, err := repairLog(path); err != nil || cut == 0 {
			t.Errorf("torn by %d bytes: cut %d, %v", len(torn), cut, err)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(got, whole) || validPrefix(got) != len(got) {
			t.Errorf("torn by %d bytes: %d bytes are left of %d whole ones, %v", len(torn), len(got), len(whole), err)
		}
		if kept, err := os.ReadFile(path + ".torn"); err != nil || len(kept) == 0 {
			t.Errorf("what was cut off is not kept: %v", err)
		}
	}
	if cut, err := repairLog(path); err != nil || cut != 0 {
		t.Errorf("a whole log was cut by %d, %v", cut, err)
	}
	if got := committed(t, open(t, o).Addrs()[0], "g", "kept"); got != 1 {
		t.Errorf("committed %d, want 1", got)
	}
}

// Retention would lose offsets across a restart, so it must not run even for a
// topic that asks for it.
func TestRetentionAndCompactionNeverRun(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	b := open(t, o)
	one, both := "1", "compact,delete"
	createTopic(t, b.Addrs()[0], "short", map[string]*string{"retention.ms": &one, "retention.bytes": &one, "segment.bytes": &one, "cleanup.policy": &both})
	produce(t, b.Addrs()[0], "short", "a", "b")
	if ms := settings()["log.cleaner.backoff.ms"]; len(ms) < 13 { // 30 years
		t.Errorf("retention runs every %s ms", ms)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if s, e := end(t, open(t, o).Addrs()[0], "short"); s != 0 || e != 2 {
		t.Errorf("offsets %d to %d, want 0 to 2", s, e)
	}
}

func TestTopicsAreNotCreatedByUse(t *testing.T) {
	addr := open(t, Options{DataDir: t.TempDir()}).Addrs()[0]
	c := client(t, addr, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(1), kgo.RecordDeliveryTimeout(5*time.Second))
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "typo", Value: []byte("x")}).FirstErr(); err == nil {
		t.Error("a topic was created by producing to it")
	}
}

func TestAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for addr, want := range map[string]string{
		"0.0.0.0:0":            "names no address",
		":9092":                "names no address",
		"[::]:9092":            "names no address",
		"127.0.0.1":            "write it as",
		taken.Addr().String():  "taken by another program",
		"127.0.0.1:not-a-port": "listen",
	} {
		if _, err := Open(filled(t, Options{DataDir: t.TempDir(), Addr: addr})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", addr, err, want)
		}
	}
	if got := open(t, Options{DataDir: t.TempDir(), Addr: "[::1]:0"}).TCP(); !strings.HasPrefix(got, "[::1]:") {
		t.Errorf("listens at %s", got)
	}
}

func TestAKeptPortIsTakenAgainOrReplaced(t *testing.T) {
	o := Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}
	b := open(t, o)
	addr := b.TCP()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, o)
	if again := b.TCP(); again != addr {
		t.Errorf("it was at %s and is at %s", addr, again)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if again := open(t, o).TCP(); again == addr {
		t.Errorf("it is at %s, which is taken", again)
	}
}

func TestKcatListsAndReads(t *testing.T) {
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal("kcat is required and missing")
		}
		t.Skip("kcat is missing")
	}
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"})
	addr := b.Addrs()[0]
	createTopic(t, addr, "seen", nil)
	produce(t, addr, "seen", "first", "second")
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	run := func(args ...string) string {
		out, err := exec.CommandContext(ctx, kcat, append([]string{"-b", b.TCP(), "-X", "security.protocol=SASL_PLAINTEXT",
			"-X", "sasl.mechanism=" + Mechanism, "-X", "sasl.username=" + Reader, "-X", "sasl.password=reads"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("kcat %v: %v: %s", args, errors.Join(err, ctx.Err()), out)
		}
		return string(out)
	}
	if out := run("-L"); !strings.Contains(out, `topic "seen" with 1 partitions`) {
		t.Errorf("kcat lists:\n%s", out)
	}
	if out := run("-C", "-q", "-e", "-t", "seen", "-o", "beginning"); out != "first\nsecond\n" {
		t.Errorf("kcat reads %q", out)
	}
}
