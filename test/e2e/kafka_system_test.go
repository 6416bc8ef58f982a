package e2e

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
)

// apache is an Apache Kafka that a system uses in place of the embedded broker.
type apache struct {
	addrs    []string
	replicas int    // of every topic
	prefix   string // of topics and groups, another one in each life
	admin    *kadm.Client
}

// brokers says which Apache Kafka the system uses; nil: the embedded broker.
// It is the one that the environment names, unless the test has chosen.
func (s *system) brokers() *apache {
	if addrs := enginetest.KafkaAddrs(); s.on == nil && !s.embedded && addrs != nil {
		s.on = &apache{addrs: addrs, replicas: 1}
	}
	if s.on != nil && s.on.prefix == "" {
		s.on.prefix = "e2e-" + strings.ToLower(rand.Text()[:10])
	}
	return s.on
}

// env is the environment of the program's processes, beside that of the test.
// It decides over the configuration's file. A member that was killed is given
// up sooner than by default, as the embedded broker does by itself.
func (s *system) env() []string {
	a := s.brokers()
	if a == nil {
		return s.more
	}
	return append([]string{
		"TRIBUTARY_CFG_KAFKA_BOOTSTRAP_SERVERS=" + strings.Join(a.addrs, ","),
		"TRIBUTARY_CFG_KAFKA_TOPIC_PREFIX=" + a.prefix,
		fmt.Sprintf("TRIBUTARY_CFG_KAFKA_REPLICATION_FACTOR=%d", a.replicas),
		"TRIBUTARY_CFG_KAFKA_PARTITIONS=3",
		"TRIBUTARY_CFG_KAFKA_SESSION_TIMEOUT=6s",
	}, s.more...)
}

// otherTopics lets the next process begin with topics that nobody has used.
func (s *system) otherTopics() {
	if s.on != nil {
		s.on.prefix = ""
	}
}

// topic is a topic's full name.
func (s *system) topic(name string) string {
	prefix := "tributary"
	if a := s.brokers(); a != nil {
		prefix = a.prefix
	}
	return prefix + "." + name + ".v1"
}

// bootstrap are the addresses of the broker that the system uses.
func (s *system) bootstrap(at engine.Endpoints) []string {
	if a := s.brokers(); a != nil {
		return a.addrs
	}
	return at.Kafka
}
