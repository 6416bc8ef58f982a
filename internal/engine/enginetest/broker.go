package enginetest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Broker returns the bootstrap address of a new, empty broker in memory, which
// is closed at the end of the test. It creates no topics by itself. With
// KafkaEnv it is that Apache Kafka, emptied, and no other test's until the end
// of this one.
func Broker(t testing.TB) []string {
	t.Helper()
	if addrs := KafkaAddrs(); addrs != nil {
		shared.kafka.acquire(t)
		if err := emptyKafka(t.Context(), addrs); err != nil {
			t.Fatalf("empty the Apache Kafka for tests: %v", err)
		}
		return addrs
	}
	return Cluster(t).ListenAddrs()
}

// Cluster is like [Broker] and gives the broker itself, for tests that make it
// fail.
func Cluster(t testing.TB) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatalf("start a broker for tests: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}
