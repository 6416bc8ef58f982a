// Package topics is the catalogue of Kafka topics: what they are called, what
// keeps order on them, how long they are kept, who writes and who reads them.
// It compares the catalogue with a broker, makes what is missing, and shows
// what is on the topics.
package topics

import (
	"slices"
	"strconv"
	"time"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// ForEver is the retention of topics that are the record.
const ForEver time.Duration = -1

const day = 24 * time.Hour

// everyRole stands for all of them in the catalogue.
const everyRole = "every role"

// Topic is one entry of the catalogue.
type Topic struct {
	Name       string // without prefix and version, such as status.changed
	What       string // what an event on it says
	Key        string // what keeps order: events of one key are read in the order of writing
	Single     bool   // has exactly one partition, whatever is configured
	Retention  time.Duration
	ProducedBy []string // roles
	ReadBy     []string // roles
	DeadLetter string   // for a dead-letter topic: the stage whose group gave up; Name is then the topic read
}

// Catalogue lists the topics of events in the order in which work flows.
func Catalogue() []Topic {
	return []Topic{
		{Name: schemas.FileDiscoveredTopic, What: "a listing showed a new look of a file, or that it is gone", Key: "file", Retention: ForEver,
			ProducedBy: []string{"poll", "other systems"}, ReadBy: []string{"plan"}},
		{Name: schemas.DownloadRequestedTopic, What: "a job: one server, one or more files to fetch", Key: "job", Retention: 7 * day,
			ProducedBy: []string{"plan"}, ReadBy: []string{"download"}},
		{Name: schemas.DownloadFinishedTopic, What: "one file of a job, fetched or failed", Key: "file", Retention: 30 * day,
			ProducedBy: []string{"download", "plan"}, ReadBy: []string{"unzip", "plan"}},
		{Name: schemas.UnzipFinishedTopic, What: "how many documents an archive holds, or why it was refused", Key: "file", Retention: 30 * day,
			ProducedBy: []string{"unzip"}, ReadBy: []string{"plan"}},
		{Name: schemas.DocumentExtractedTopic, What: "one document of an archive", Key: "document", Retention: 30 * day,
			ProducedBy: []string{"unzip", "plan"}, ReadBy: []string{"validate"}},
		{Name: schemas.DocumentValidatedTopic, What: "the verdict on one document", Key: "document", Retention: 30 * day,
			ProducedBy: []string{"validate"}, ReadBy: []string{"sequence"}},
		{Name: schemas.DocumentOrderedTopic, What: "one position of the one order in which the warehouse changes", Key: "domain", Single: true, Retention: ForEver,
			ProducedBy: []string{"sequence"}, ReadBy: []string{"insert"}},
		{Name: schemas.StatusChangedTopic, What: "the event log: where everything stands", Key: "file, centre, source, session or domain", Retention: ForEver,
			ProducedBy: []string{everyRole}, ReadBy: []string{"tracker", "history", "traces", "notify"}},
		{Name: schemas.RecordPassedOverTopic, What: "a person decided that no reader stops at a record any more", Key: "topic", Single: true, Retention: ForEver,
			ProducedBy: []string{"topics pass-over"}, ReadBy: []string{everyRole}},
	}
}

// ReadBy lists the topics that a role reads, by their logical names.
func ReadBy(role string) []string {
	var out []string
	for _, t := range Catalogue() {
		if slices.Contains(t.ReadBy, role) {
			out = append(out, t.Name)
		}
	}
	return out
}

// DeadLetters lists the topics to which stages give up records, as they came.
func DeadLetters() []Topic {
	var out []Topic
	for _, stage := range []string{"download", "unzip", "validate", "notify"} {
		for _, topic := range ReadBy(stage) {
			out = append(out, Topic{Name: topic, What: "what " + stage + " could not work on, as it came, with the cause in its headers",
				Key: "as the original", Retention: ForEver, ProducedBy: []string{stage}, DeadLetter: stage})
		}
	}
	return out
}

// All lists the catalogue and the dead letters.
func All() []Topic { return append(Catalogue(), DeadLetters()...) }

// FullName is the topic's name on the broker.
func (t Topic) FullName(prefix string) string {
	if t.DeadLetter != "" {
		return kafka.DLQName(prefix, t.Name, t.DeadLetter)
	}
	return kafka.TopicName(prefix, t.Name)
}

// Partitions is how many the topic is made with.
func (t Topic) Partitions(cfg config.Kafka) int32 {
	if t.Single {
		return 1
	}
	return cfg.Partitions
}

// Settings are the topic's settings on the broker. All that the system relies
// on is explicit, so that a broker's defaults don't shorten the record.
func (t Topic) Settings(cfg config.Kafka) map[string]string {
	retention := int64(-1)
	if t.Retention >= 0 {
		retention = t.Retention.Milliseconds()
	}
	// With three replicas one may be away, and what is acknowledged is on two.
	insync := 1
	if cfg.ReplicationFactor >= 3 {
		insync = 2
	}
	largest := kafka.MaxBatch
	if t.DeadLetter != "" {
		largest = kafka.MaxDeadLetterBatch
	}
	return map[string]string{
		"cleanup.policy":      "delete",
		"max.message.bytes":   strconv.Itoa(largest),
		"retention.ms":        strconv.FormatInt(retention, 10),
		"retention.bytes":     "-1",
		"min.insync.replicas": strconv.Itoa(insync),
	}
}
