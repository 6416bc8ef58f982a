package kafka

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/enginetest"
	"tributary/test/wait"
)

func TestJarsAreCompared(t *testing.T) {
	lib := t.TempDir()
	const list = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824  a.jar\n" // hello
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(lib, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(text string) {
		t.Helper()
		err := verify(lib, list)
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("verify: %v, want %q", err, text)
		}
	}
	want("1 jars are missing, such as a.jar")
	write("a.jar", "hallo")
	want("sha256 of a.jar")
	write("a.jar", "hello")
	want("")
	write("b.jar", "hello")
	want("sha256 of b.jar")
	if n := strings.Count(jars, ".jar\n"); n < 40 || !strings.Contains(jars, "  kafka_2.13-"+Version+".jar\n") {
		t.Errorf("the pinned list names %d jars, or not Kafka %s", n, Version)
	}
}

// One of three brokers is killed: what was acknowledged is there, more is
// taken, and it comes back with its data.
func TestABrokerIsKilledAndComesBack(t *testing.T) {
	if enginetest.KafkaAddrs() == nil {
		t.Skip("takes long: make test-kafka runs it")
	}
	ctx := t.Context()
	c, err := Start(ctx, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers()...), kgo.DefaultProduceTopic("t"), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	meta, err := admin.BrokerMetadata(ctx)
	if err != nil || meta.Cluster != ClusterID {
		t.Fatalf("cluster %q, %v; want %s", meta.Cluster, err, ClusterID)
	}
	two := "2"
	if _, err := admin.CreateTopic(ctx, 3, 3, map[string]*string{"min.insync.replicas": &two}, "t"); err != nil {
		t.Fatal(err)
	}
	produce := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, wait.Patience())
		defer cancel()
		if err := client.ProduceSync(ctx, kgo.StringRecord("a"), kgo.StringRecord("b"), kgo.StringRecord("c")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	produce()
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	produce()
	if err := c.Restart(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(ctx, 1); err == nil {
		t.Error("a broker that runs can be restarted without having been killed")
	}
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	produce()
	for n := 0; n < 9; {
		ctx, cancel := context.WithTimeout(ctx, wait.Patience())
		fetches := client.PollFetches(ctx)
		over := ctx.Err() != nil
		cancel()
		if over {
			t.Fatalf("%d of 9 records", n)
		}
		n += fetches.NumRecords()
	}
}

func TestNoBrokers(t *testing.T) {
	if _, err := Locate(); err != nil {
		t.Skip(err)
	}
	if _, err := Start(t.Context(), t.TempDir(), 0); err == nil {
		t.Error("a cluster of no brokers starts")
	}
}
