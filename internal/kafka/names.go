// Package kafka is how Tributary speaks to brokers: the names of topics and
// groups, clients with the settings that every role needs, and the way from
// events to Kafka records and back.
package kafka

import "strings"

// Largest batches of records on topics, in bytes: what a topic accepts, and
// what a client writes. A record that a topic accepted fits into a dead letter
// with the story of its failure.
const (
	MaxBatch           = 1_048_588 // Kafka's own default
	MaxDeadLetterBatch = 2 << 20
)

// TopicName is a topic's full name, such as tributary.status.changed.v1, for
// the configured prefix and the logical name that package schemas uses.
func TopicName(prefix, topic string) string { return prefix + "." + topic + ".v1" }

// GroupName is a stage's consumer group, such as tributary.download.
func GroupName(prefix, stage string) string { return prefix + "." + stage }

// DLQName is the topic to which a stage sets aside what it cannot work on:
// the input topic's full name, the group's, and dlq.
func DLQName(prefix, topic, stage string) string {
	return TopicName(prefix, topic) + "." + GroupName(prefix, stage) + dlqSuffix
}

const dlqSuffix = ".dlq"

// maxBatch is the size of the largest batch that a client writes to a topic
// given by its full name.
func maxBatch(topic string) int32 {
	if strings.HasSuffix(topic, dlqSuffix) {
		return MaxDeadLetterBatch
	}
	return 1_000_012 // as kgo's default, which leaves room for what a broker adds
}
