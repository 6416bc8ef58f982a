package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tributary/internal/config"
	"tributary/schemas"
	"tributary/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{TopicName("tributary", schemas.StatusChangedTopic), "tributary.status.changed.v1"},
		{GroupName("tributary", "download"), "tributary.download"},
		{DLQName("a.b", schemas.DownloadRequestedTopic, "download"), "a.b.download.requested.v1.a.b.download.dlq"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestRecordsSurviveTheWay(t *testing.T) {
	want := schemas.Record{Topic: schemas.StatusChangedTopic, Key: "k\x00é", Value: []byte{0, 1, 2},
		Headers: []schemas.Header{{Key: "ce_id", Value: []byte("1")}, {Key: "ce_id", Value: nil}}}
	k := ToKgo("p", want)
	if k.Topic != "p.status.changed.v1" {
		t.Errorf("topic %s", k.Topic)
	}
	want.Topic = ""
	if diff := cmp.Diff(want, FromKgo(k), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(noPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*config.Kafka)
		want   string
	}{
		"protocol":       {func(c *config.Kafka) { c.GroupProtocol = "new" }, "kafka.group_protocol"},
		"mechanism":      {func(c *config.Kafka) { c.SASL.Mechanism = "md5" }, "kafka.sasl.mechanism"},
		"missing secret": {func(c *config.Kafka) { c.SASL = config.SASL{Mechanism: "plain", Password: "file:/nowhere/secret"} }, "kafka.sasl.password"},
		"missing CA":     {func(c *config.Kafka) { c.TLS = config.TLS{Enabled: true, CAFile: "/nowhere/ca.pem"} }, "kafka.tls.ca_file"},
		"no PEM":         {func(c *config.Kafka) { c.TLS = config.TLS{Enabled: true, CAFile: noPEM} }, "PEM"},
		"half a pair":    {func(c *config.Kafka) { c.TLS = config.TLS{Enabled: true, CertFile: noPEM} }, "key_file"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default().Kafka
			tt.change(&cfg)
			client, err := NewClient(cfg, []string{"127.0.0.1:1"}, quietLog())
			if err == nil {
				client.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not name %s", err, tt.want)
			}
		})
	}
	if _, err := NewClient(config.Default().Kafka, nil, quietLog()); err == nil || !strings.Contains(err.Error(), "kafka.bootstrap_servers") {
		t.Errorf("without a broker: %v", err)
	}
}

// Offsets start, and are reset, at the earliest record; the library would
// rewind a minute only.
func TestClientSettings(t *testing.T) {
	cfg := config.Default().Kafka
	cfg.InstanceID = "host-1"
	client, err := NewClient(cfg, []string{"127.0.0.1:1"}, quietLog(), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	start := kgo.NewOffset().AtStart()
	for name, tt := range map[string]struct{ got, want any }{
		"start offset":    {client.OptValue(kgo.ConsumeStartOffset), start},
		"reset offset":    {client.OptValue(kgo.ConsumeResetOffset), start},
		"acks":            {client.OptValue(kgo.RequiredAcks), kgo.AllISRAcks()},
		"idempotence off": {client.OptValue(kgo.DisableIdempotentWrite), false},
		"instance id":     {client.OptValue(kgo.InstanceID), "host-1"},
		"session timeout": {client.OptValue(kgo.SessionTimeout), 45 * time.Second},
		// Of the embedded broker, less than what a client adds to it before
		// it gives up a join.
		"rebalance timeout": {client.OptValue(kgo.RebalanceTimeout), 8 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestLogin(t *testing.T) {
	certificate, ca := selfSigned(t)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.SeedTopics(1, "t"),
		kfake.Superuser("PLAIN", "reader", "p"), kfake.Superuser("SCRAM-SHA-512", "reader", "p512"),
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	t.Setenv("PASS", "p")
	t.Setenv("PASS512", "p512")
	for _, tt := range []struct {
		mechanism string
		password  config.Secret
		works     bool
	}{{"plain", "env:PASS", true}, {"scram-sha-512", "env:PASS512", true}, {"plain", "env:PASS512", false}} {
		cfg := config.Default().Kafka
		cfg.TLS = config.TLS{Enabled: true, CAFile: ca}
		cfg.SASL = config.SASL{Mechanism: tt.mechanism, Username: "reader", Password: tt.password}
		client, err := NewClient(cfg, cluster.ListenAddrs(), quietLog(), kgo.RequestRetries(0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
		if err := client.Ping(ctx); (err == nil) != tt.works {
			t.Errorf("%s with %s: %v", tt.mechanism, tt.password, err)
		}
		cancel()
		client.Close()
	}
}

func TestLastingFaultsAreLoggedOnceInAWhile(t *testing.T) {
	now := time.Unix(0, 0)
	var out bytes.Buffer
	l := logger{slog.New(slog.NewTextHandler(&out, nil)), NewQuiet(func() time.Time { return now })}
	for range 1000 {
		l.Log(kgo.LogLevelWarn, "no connection", "broker", 1)
		l.Log(kgo.LogLevelInfo, "all is well")
		now = now.Add(100 * time.Millisecond) // 100 s in all
	}
	if got := strings.Count(out.String(), "no connection"); got != 4 {
		t.Errorf("logged %d times, want once per 30 s begun:\n%s", got, out.String())
	}
	if !strings.Contains(out.String(), "not_logged=299") || strings.Contains(out.String(), "all is well") {
		t.Errorf("logged:\n%s", out.String())
	}
}

func TestQuietIsBounded(t *testing.T) {
	q := NewQuiet(time.Now)
	for i := range 10 * quietNames {
		q.Due(strings.Repeat("x", i))
	}
	if len(q.until) > quietNames || len(q.missed) > quietNames {
		t.Errorf("%d names are remembered, want %d at most", len(q.until), quietNames)
	}
}
