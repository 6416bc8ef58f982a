package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/config"
)

// Info is how a topic of the catalogue stands on the broker.
type Info struct {
	Name       string   `json:"topic"`
	What       string   `json:"what"`
	Key        string   `json:"key"`
	ProducedBy []string `json:"produced_by"`
	ReadBy     []string `json:"read_by"`
	Kept       string   `json:"kept"`
	Exists     bool     `json:"exists"`
	Partitions int      `json:"partitions"`
	Replicas   int      `json:"replicas"`
	Records    int64    `json:"records"` // offsets from start to end, over all partitions
}

// List says how every topic of the catalogue stands on the broker.
func List(ctx context.Context, admin *kadm.Client, cfg config.Kafka) ([]Info, error) {
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
		if d, ok := details[name]; ok && !errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			existing = append(existing, name)
		}
	}
	records, err := count(ctx, admin, existing)
	if err != nil {
		return nil, err
	}
	out := make([]Info, len(all))
	for i, t := range all {
		out[i] = Info{Name: names[i], What: t.What, Key: t.Key, ProducedBy: t.ProducedBy, ReadBy: t.ReadBy, Kept: t.Kept()}
		if n, ok := records[names[i]]; ok {
			d := details[names[i]]
			out[i].Exists, out[i].Records = true, n
			out[i].Partitions, out[i].Replicas = len(d.Partitions), d.Partitions.NumReplicas()
		}
	}
	return out, nil
}

// Kept is the topic's retention in words.
func (t Topic) Kept() string {
	if t.Retention < 0 {
		return "for ever"
	}
	return fmt.Sprintf("%d d", t.Retention/day)
}

func count(ctx context.Context, admin *kadm.Client, names []string) (map[string]int64, error) {
	out := map[string]int64{}
	if len(names) == 0 {
		return out, nil
	}
	starts, err := admin.ListStartOffsets(fresh(ctx), names...)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask the broker where topics start: %w", err)
	}
	ends, err := admin.ListEndOffsets(fresh(ctx), names...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask the broker where topics end: %w", err)
	}
	for _, name := range names {
		out[name] = 0
	}
	ends.Each(func(end kadm.ListedOffset) {
		if start, ok := starts.Lookup(end.Topic, end.Partition); ok {
			out[end.Topic] += end.Offset - start.Offset
		}
	})
	return out, nil
}
