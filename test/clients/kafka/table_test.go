package kafka

import (
	"slices"
	"strings"

	"tributary/internal/engine/broker"
)

// cell is what is to become of an operation: it works and says a text, is
// refused by a name, or can't be.
type cell struct {
	works, refused, absent string
	says, why              string // of what is refused
}

func works(text string) cell              { return cell{works: text} }
func refused(name, why string) cell       { return cell{refused: name, says: name, why: why} }
func quietly(name, says, why string) cell { return cell{refused: name, says: says, why: why} }
func (c cell) everywhere() map[int]cell   { return map[int]cell{onDoor: c, onKafka: c} }

// The brokers.
const (
	onDoor = iota
	onKafka
)

// brokers are their names in the page.
func brokers() []string { return []string{"The embedded broker's door", "Apache Kafka"} }

// toolVersions are the versions of Kafka whose tools are tried.
func toolVersions() []string { return []string{"3.6.2", "3.9.1", "4.3.1"} }

// row is an operation of a tool.
type row struct {
	tool, operation string
	as              string // the user at the door, operator if empty
	class           func(version string) string
	args            []string // with FILE for the file of properties, AT for the address, MADE for a topic that may go, and VERSION
	input           string
	more            []string // properties
	since           string   // the least version; empty: all
	why             string   // what versions before lack
	cells           map[int]cell
	fresh           bool   // in a process of its own: some versions count what they have read in static fields
	group           string // whose offset is compared, if not group's
	leaves          int64  // what it has committed in partition 0 afterwards; 0: not compared, none: nothing
}

const none = -1

func (r row) user() string {
	if r.as == "" {
		return broker.Operator
	}
	return r.as
}

func (r row) cell(at int, version string) cell {
	if r.since != "" && version < r.since {
		return cell{absent: r.why}
	}
	return r.cells[at]
}

// moved is a class that was in one place up to a version, and is in another
// since.
func moved(until, old, now string) func(string) string {
	return func(version string) string {
		if version < until {
			return old
		}
		return now
	}
}

// doors is what becomes of an operation at the door, and that it works on Apache
// Kafka.
func doors(at, kafka cell) map[int]cell { return map[int]cell{onDoor: at, onKafka: kafka} }

const changes = "nobody changes topics through the door: `tributary topics` does"

// javaRows are the operations of Kafka's own tools, in the order in which they
// are tried: some leave something behind.
func javaRows() []row {
	topics := moved("3.7", "kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand")
	groups := moved("3.8", "kafka.admin.ConsumerGroupCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
	consumer := moved("3.8", "kafka.tools.ConsoleConsumer", "org.apache.kafka.tools.consumer.ConsoleConsumer")
	producer := moved("4.0", "kafka.tools.ConsoleProducer", "org.apache.kafka.tools.ConsoleProducer")
	admin := []string{"--bootstrap-server", "AT", "--command-config", "FILE"}
	with := func(args ...string) []string { return slices.Concat(admin, args) }
	write := func(to string) []string {
		return []string{"--bootstrap-server", "AT", "--producer.config", "FILE", "--sync", "--topic", to}
	}
	read := func(group string) []string {
		return []string{"--bootstrap-server", "AT", "--consumer.config", "FILE", "--topic", topic, "--from-beginning", "--max-messages", "1", "--timeout-ms", "120000", "--group", group}
	}
	rows := []row{
		{tool: "kafka-topics", operation: "--list", class: topics, args: with("--list"), cells: works(topic).everywhere()},
		{tool: "kafka-topics", operation: "--describe", class: topics, args: with("--describe", "--topic", topic), cells: works("PartitionCount: 3").everywhere()},
		{tool: "kafka-topics", operation: "--create", class: topics, args: with("--create", "--topic", "made", "--partitions", "1", "--replication-factor", "1"),
			cells: doors(quietly("TopicAuthorizationException", "opic authorization failed", changes), works("Created topic"))},
		{tool: "kafka-topics", operation: "--delete", class: topics, args: with("--delete", "--topic", "MADE"),
			cells: doors(quietly("TopicAuthorizationException", "opic authorization failed", changes), works(""))},
		{tool: "kafka-configs", operation: "--describe --all", class: moved("0", "", "kafka.admin.ConfigCommand"), args: with("--describe", "--all", "--entity-type", "topics", "--entity-name", topic), cells: works("cleanup.policy").everywhere()},
		{tool: "kafka-configs", operation: "--alter", class: moved("0", "", "kafka.admin.ConfigCommand"), args: with("--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "retention.ms=86400000"),
			cells: doors(refused("TopicAuthorizationException", changes), works("Completed updating"))},
		{tool: "kafka-get-offsets", operation: "latest", class: moved("3.7", "kafka.tools.GetOffsetShell", "org.apache.kafka.tools.GetOffsetShell"), args: with("--topic", topic), cells: works(topic + ":0:3").everywhere()},
		{tool: "kafka-get-offsets", operation: "--time earliest", class: moved("3.7", "kafka.tools.GetOffsetShell", "org.apache.kafka.tools.GetOffsetShell"), args: with("--topic", topic, "--time", "earliest"), cells: works(topic + ":0:0").everywhere()},
		{tool: "kafka-consumer-groups", operation: "--list", class: groups, args: with("--list"), cells: works(group).everywhere()},
		{tool: "kafka-consumer-groups", operation: "--list --state", class: groups, args: with("--list", "--state"), cells: works("Empty").everywhere()},
		{tool: "kafka-consumer-groups", operation: "--describe", class: groups, args: with("--describe", "--group", group), cells: works("CURRENT-OFFSET").everywhere()},
		{tool: "kafka-consumer-groups", operation: "--describe --members", class: groups, args: with("--describe", "--group", members, "--members", "--verbose"), cells: works("live").everywhere()},
		{tool: "kafka-consumer-groups", operation: "--describe --state", class: groups, args: with("--describe", "--group", members, "--state"), cells: works("Stable").everywhere()},
		{tool: "kafka-consumer-groups", operation: "--reset-offsets --dry-run", class: groups, args: with("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--dry-run"), cells: works("NEW-OFFSET").everywhere(), leaves: kept0},
		{tool: "kafka-consumer-groups", operation: "--reset-offsets --execute", class: groups, args: with("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute"), cells: works("NEW-OFFSET").everywhere(), leaves: 3},
		{tool: "kafka-consumer-groups", operation: "--delete-offsets", class: groups, args: with("--delete-offsets", "--group", group, "--topic", topic), cells: works("Successful").everywhere(), leaves: none},
		{tool: "kafka-consumer-groups", operation: "--delete", class: groups, args: with("--delete", "--group", "tributary.gone"), cells: works("successful").everywhere()},
		{tool: "kafka-console-consumer", operation: "group.protocol=classic", as: broker.Reader, class: consumer, args: read("classic-VERSION"), group: "classic-VERSION", leaves: 1, cells: works("first").everywhere()},
		{tool: "kafka-console-consumer", operation: "group.protocol=consumer", as: broker.Reader, class: consumer, args: read("consumer-VERSION"), group: "consumer-VERSION", leaves: 1, more: []string{"group.protocol=consumer"},
			since: "3.7", why: "its clients have the classic protocol only", cells: works("first").everywhere()},
		{tool: "kafka-console-consumer", operation: "in a group of the pipeline's", as: broker.Reader, class: consumer, args: read("tributary.VERSION"), fresh: true,
			cells: doors(quietly("GroupAuthorizationException", "total of 0 messages", "who reads takes part in no group of the pipeline's"), works("first"))},
		{tool: "kafka-console-producer", operation: "file.discovered as announcer", as: broker.Announcer, class: producer, args: write(announced), input: "written\n", cells: works("").everywhere()},
		{tool: "kafka-console-producer", operation: "another topic as operator", class: producer, args: write(spare), input: "written\n",
			cells: doors(refused("AuthorizationException", "one user writes, and one topic"), works(""))},
		{tool: "kafka-log-dirs", operation: "--describe", class: moved("0", "", "org.apache.kafka.tools.LogDirsCommand"), args: with("--describe", "--topic-list", topic), cells: works(`"partition":"` + topic).everywhere()},
		{tool: "kafka-acls", operation: "--list", class: moved("4.0", "kafka.admin.AclCommand", "org.apache.kafka.tools.AclCommand"), args: with("--list"), cells: refused("SecurityDisabledException", "there are no ACLs; what the door's users may do is fixed").everywhere()},
		{tool: "kafka-broker-api-versions", operation: "", class: moved("4.0", "kafka.admin.BrokerApiVersionsCommand", "org.apache.kafka.tools.BrokerApiVersionsCommand"), args: admin, cells: works("Fetch(1)").everywhere()},
	}
	for _, call := range []struct{ name, text string }{
		{"describeCluster", "id: "}, {"listTopics", topic}, {"describeTopics", topic}, {"describeConfigs topic", "cleanup.policy"}, {"describeConfigs broker", "log.retention.ms"},
		{"listConsumerGroups", members}, {"describeConsumerGroups", "Stable"}, {"listConsumerGroupOffsets", topic},
		{"listOffsets earliest", "offset=0"}, {"listOffsets latest", "offset="}, {"listOffsets by time", "offset=0"}, {"listOffsets newest", "offset="},
		{"describeLogDirs", topic}, {"describeAcls", ""}, {"describeFeatures", "metadata.version"},
	} {
		cells := works(call.text).everywhere()
		switch call.name {
		case "listOffsets newest":
			cells[onDoor] = refused("UnsupportedVersionException", "the versions served are those before it")
		case "describeAcls":
			cells = refused("SecurityDisabledException", "there are no ACLs").everywhere()
		}
		rows = append(rows, row{tool: "AdminClient", operation: call.name, class: moved("0", "", "admin"), args: []string{"FILE", call.name, topic, members}, cells: cells})
	}
	return rows
}

// otherRows are the operations of clients that are not Kafka's own. Each has one
// version, which the page names.
func otherRows() []row {
	var rows []row
	for _, r := range []struct {
		tool, operation, as, text string
		door                      *cell
	}{
		{kcat, "-L", broker.Reader, topic, nil},
		{kcat, "-C", broker.Reader, "first", nil},
		{kcat, "-G, classic", broker.Reader, "first", nil},
		{kcat, "-P file.discovered as announcer", broker.Announcer, "", nil},
		{confluent, "list topics and groups", broker.Operator, members, nil},
		{confluent, "consumer, classic", broker.Reader, "first", nil},
		{confluent, "consumer, consumer", broker.Reader, "first", nil},
		{confluent, "produce file.discovered as announcer", broker.Announcer, "written", nil},
		{kafkaPython, "list topics and groups", broker.Operator, members, nil},
		{kafkaPython, "consumer, classic", broker.Reader, "first", nil},
		{kafkaPython, "produce file.discovered as announcer", broker.Announcer, "written", nil},
		{franz, "list topics and groups", broker.Operator, members, nil},
		{franz, "consumer, classic", broker.Reader, "first", nil},
		{franz, "consumer, consumer", broker.Reader, "first", nil},
		{franz, "produce file.discovered as announcer", broker.Announcer, "written", nil},
	} {
		cells := works(r.text).everywhere()
		if r.door != nil {
			cells[onDoor] = *r.door
		}
		rows = append(rows, row{tool: r.tool, operation: r.operation, as: r.as, cells: cells})
	}
	return rows
}

// The other clients, as the page names them.
const (
	kcat        = "kcat 1.7.1 (librdkafka 2.0.2)"
	confluent   = "confluent-kafka 2.16.1 (librdkafka)"
	kafkaPython = "kafka-python 3.0.12"
	franz       = "franz-go 1.22.3"
)

// told says whether what a tool wrote is what its cell says.
func (c cell) told(out string, err error) bool {
	if c.refused != "" {
		return strings.Contains(out, c.says)
	}
	return err == nil && strings.Contains(out, c.works) && !strings.Contains(out, "Exception")
}
