package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/config"
	"tributary/internal/kafka"
)

// Kinds of changes.
const (
	Create      = "create"      // the topic is missing
	Setting     = "setting"     // a setting differs
	Partitions  = "partitions"  // their number differs
	Replication = "replication" // the number of replicas differs
	Brokers     = "brokers"     // they are fewer than the replicas that are asked for
)

// Change is one difference between the catalogue and the broker.
type Change struct {
	Topic string `json:"topic"` // full name; empty for brokers
	Kind  string `json:"kind"`  // one of the kinds above
	Key   string `json:"key"`   // of a setting
	Is    string `json:"is"`
	Want  string `json:"want"`
	// Manual says what a person would have to do, and what it costs; empty for
	// what Apply does.
	Manual string `json:"manual"`

	topic Topic
}

// String is the change in one line.
func (c Change) String() string {
	switch c.Kind {
	case Create:
		return fmt.Sprintf("create %s with %s", c.Topic, c.Want)
	case Setting:
		return fmt.Sprintf("set %s of %s from %s to %s", c.Key, c.Topic, c.Is, c.Want)
	case Brokers:
		return fmt.Sprintf("brokers: %s, want %s or more: %s", c.Is, c.Want, c.Manual)
	}
	return fmt.Sprintf("%s of %s: %s, want %s: %s", c.Kind, c.Topic, c.Is, c.Want, c.Manual)
}

// Plan compares the catalogue with the broker and returns the differences: too
// few brokers, then topic by topic in the catalogue's order; none when all is as
// it should be.
func Plan(ctx context.Context, admin *kadm.Client, cfg config.Kafka) ([]Change, error) {
	all := All()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.FullName(cfg.TopicPrefix)
	}
	details, err := admin.ListTopics(fresh(ctx), names...)
	if err != nil {
		return nil, fmt.Errorf("ask the broker for its topics: %w", err)
	}
	var existing []string
	for _, name := range names {
		switch err := details[name].Err; {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
		case err != nil:
			return nil, fmt.Errorf("topic %s: %w", name, kafka.Lacking(err, "Describe", name, ""))
		case details.Has(name):
			existing = append(existing, name)
		}
	}
	settings, err := readSettings(ctx, admin, existing)
	if err != nil {
		return nil, err
	}
	changes, err := tooFewBrokers(ctx, admin, cfg)
	if err != nil {
		return nil, err
	}
	for i, t := range all {
		if settings[names[i]] == nil {
			changes = append(changes, Change{Topic: names[i], Kind: Create, Want: describe(t, cfg), topic: t})
			continue
		}
		changes = append(changes, t.shape(names[i], details[names[i]], cfg)...)
		changes = append(changes, t.settings(names[i], settings[names[i]], cfg)...)
	}
	return changes, nil
}

// tooFewBrokers compares the replicas that are asked for with the brokers that
// could hold them.
func tooFewBrokers(ctx context.Context, admin *kadm.Client, cfg config.Kafka) ([]Change, error) {
	m, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask how many brokers there are: %w", err)
	}
	is, want := len(m.Brokers), int(cfg.ReplicationFactor)
	if is >= want {
		return nil, nil
	}
	return []Change{{Kind: Brokers, Is: strconv.Itoa(is), Want: strconv.Itoa(want),
		Manual: fmt.Sprintf("kafka.replication_factor is %d and each replica needs a broker of its own, so no topic can be made: start %d more, or set kafka.replication_factor to %d, which keeps fewer copies of the record", want, want-is, is)}}, nil
}

// fresh makes admin requests ask the broker for metadata: what the client
// remembers may be older than the topic that was just made. Asking for
// authorized operations is the client's way around its memory.
func fresh(ctx context.Context) context.Context { return kadm.WithAuthorizedOps(ctx) }

func describe(t Topic, cfg config.Kafka) string {
	s := fmt.Sprintf("%d partitions, %d replicas", t.Partitions(cfg), cfg.ReplicationFactor)
	want := t.Settings(cfg)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		s += ", " + key + "=" + want[key]
	}
	return s
}

// readSettings returns what is set for each topic that is there.
func readSettings(ctx context.Context, admin *kadm.Client, names []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if len(names) == 0 {
		return out, nil
	}
	described, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics' settings: %w", err)
	}
	for _, d := range described {
		if errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			continue // just deleted, or just made: brokers hear of it one after another
		}
		if d.Err != nil {
			return nil, fmt.Errorf("settings of topic %s: %w", d.Name, d.Err)
		}
		out[d.Name] = map[string]string{}
		for _, c := range d.Configs {
			out[d.Name][c.Key] = c.MaybeValue()
		}
	}
	return out, nil
}

// shape compares partitions and replicas, which Apply never changes.
func (t Topic) shape(name string, detail kadm.TopicDetail, cfg config.Kafka) []Change {
	var out []Change
	is, want := len(detail.Partitions), int(t.Partitions(cfg))
	if is != want {
		manual := "adding partitions moves keys to other partitions, so that order is lost for keys in flight: " +
			"stop producers, let every group read to the end, then add them with Kafka's own tools"
		switch {
		case t.Single:
			manual = "positions are one order, which needs one partition: delete the topic if it is empty, otherwise begin under another topic_prefix"
		case is > want:
			manual = "partitions can't be taken away: set kafka.partitions to " + strconv.Itoa(is)
		}
		out = append(out, Change{Topic: name, Kind: Partitions, Is: strconv.Itoa(is), Want: strconv.Itoa(want), Manual: manual, topic: t})
	}
	if n := detail.Partitions.NumReplicas(); n != int(cfg.ReplicationFactor) && is > 0 {
		out = append(out, Change{Topic: name, Kind: Replication, Is: strconv.Itoa(n), Want: strconv.Itoa(int(cfg.ReplicationFactor)),
			Manual: "reassign the replicas with Kafka's own tools, or correct kafka.replication_factor", topic: t})
	}
	return out
}

func (t Topic) settings(name string, is map[string]string, cfg config.Kafka) []Change {
	var out []Change
	want := t.Settings(cfg)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if is[key] != want[key] {
			out = append(out, Change{Topic: name, Kind: Setting, Key: key, Is: is[key], Want: want[key], topic: t})
		}
	}
	return out
}
