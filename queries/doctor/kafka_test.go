package doctor_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"tributary/internal/config"
	"tributary/topics"
)

const (
	servers = "kafka.bootstrap_servers"
	status  = "tributary.status.changed.v1"
)

// set changes a setting of the event log.
func (w *world) set(key, value string) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, status)
		return err
	})
}

// brokenKafka are cases of the brokers.
func brokenKafka() []broken {
	return []broken{
		{"the broker is away", func(_ *testing.T, w *world) { w.cfg.Kafka.BootstrapServers = []string{w.away()} },
			[]string{"server_unreachable " + servers}, "see that the server runs"},
		{"brokers that are too old", func(_ *testing.T, w *world) { w.bare(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V2_2_0())) },
			[]string{"server_too_old " + servers}, "upgrade the brokers"},
		{"brokers that refuse the password", func(_ *testing.T, w *world) {
			w.bare(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "right"))
			w.cfg.Kafka.SASL = config.SASL{Mechanism: "plain", Username: "u", Password: configSecret("file:" + w.secret("password", hidden))}
		}, []string{"login_refused kafka.sasl"}, "kafka.sasl.password"},
		{"brokers that want a login", func(_ *testing.T, w *world) {
			w.bare(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "right"))
		}, []string{"security_mismatch kafka.tls"}, "kafka.sasl"},
		{"TLS with brokers that know none", func(_ *testing.T, w *world) {
			w.cfg.Kafka.TLS.Enabled, w.timeout = true, 10*time.Second // that much it waits for twice
		},
			[]string{"security_mismatch kafka.tls"}, "kafka.tls.enabled: false"},
		{"a broker for whom nobody vouches", func(_ *testing.T, w *world) {
			w.bare(kfake.NumBrokers(1), kfake.TLS(w.tls()))
			w.cfg.Kafka.TLS.Enabled = true
		}, []string{"security_mismatch kafka.tls"}, "kafka.tls.ca_file"},
		{"brokers that want TLS", func(_ *testing.T, w *world) { w.bare(kfake.NumBrokers(1), kfake.TLS(w.tls())) },
			[]string{"security_mismatch kafka.tls"}, "kafka.tls.enabled"},
		{"a user who may look at nothing", func(_ *testing.T, w *world) {
			w.bare(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "u", hidden))
			w.cfg.Kafka.SASL = config.SASL{Mechanism: "plain", Username: "u", Password: configSecret("file:" + w.secret("password", hidden))}
		}, []string{"rights_missing kafka"}, "tributary topics acl"},
		{"fewer brokers than replicas", func(_ *testing.T, w *world) {
			w.cfg.Kafka.ReplicationFactor = 3
		}, append([]string{"brokers_few kafka.replication_factor"}, ofAllTopics("topic_replication", "topic_setting")...), "start 2 more"},
		{"a topic that is not there", func(_ *testing.T, w *world) {
			w.admin(func(ctx context.Context, admin *kadm.Client) error {
				_, err := admin.DeleteTopics(ctx, "tributary.document.ordered.v1")
				return err
			})
		}, []string{"topic_missing tributary.document.ordered.v1"}, "tributary topics apply"},
		{"a topic of other partitions", func(_ *testing.T, w *world) {
			w.admin(func(ctx context.Context, admin *kadm.Client) error {
				_, err := admin.CreatePartitions(ctx, 2, status)
				return err
			})
		}, []string{"topic_partitions " + status}, "kafka.partitions"},
		{"a record that is deleted after a while", func(_ *testing.T, w *world) { w.set("retention.ms", "3600000") },
			[]string{"topic_retention " + status}, "topics apply --settings"},
		{"a record that is compacted", func(_ *testing.T, w *world) { w.set("cleanup.policy", "compact") },
			[]string{"topic_compaction " + status}, "topics apply --settings"},
		{"a topic for small records", func(_ *testing.T, w *world) { w.set("max.message.bytes", "1000") },
			[]string{"topic_setting " + status}, "topics apply --settings"},
		{"a member whose clock is ahead", func(_ *testing.T, w *world) {
			w.brokers(kfake.NumBrokers(1))
			client, err := kgo.NewClient(kgo.SeedBrokers(w.cfg.Kafka.BootstrapServers...))
			if err != nil {
				w.t.Fatal(err)
			}
			defer client.Close()
			if err := client.ProduceSync(w.t.Context(), &kgo.Record{Topic: status, Value: []byte("x"), Timestamp: time.Now().Add(10 * time.Minute)}).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"records_from_the_future clock"}, "NTP"},
	}
}

func (w *world) tls() *tls.Config {
	cert, err := tls.LoadX509KeyPair(w.certificate(time.Now().Add(24 * time.Hour)))
	if err != nil {
		w.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// ofAllTopics are problems of every topic.
func ofAllTopics(problems ...string) (out []string) {
	for _, t := range topics.All() {
		for _, p := range problems {
			out = append(out, p+" "+t.FullName("tributary"))
		}
	}
	return out
}
