// Package kafka is how Tributary speaks to brokers: the names of topics and
// groups, clients with the settings that every role needs, and the way from
// events to Kafka records and back.
package kafka

// TopicName is a topic's full name, such as tributary.status.changed.v1, for
// the configured prefix and the logical name that package schemas uses.
func TopicName(prefix, topic string) string { return prefix + "." + topic + ".v1" }

// GroupName is a stage's consumer group, such as tributary.download.
func GroupName(prefix, stage string) string { return prefix + "." + stage }

// DLQName is the topic to which a stage sets aside what it cannot work on:
// the input topic's full name, the group's, and dlq.
func DLQName(prefix, topic, stage string) string {
	return TopicName(prefix, topic) + "." + GroupName(prefix, stage) + ".dlq"
}
