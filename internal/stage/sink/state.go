package sink

import "tributary/internal/stage/member"

// Partitions is what the metrics say of an Applier.
func (a *Applier) Partitions() (stage string, all []member.PartitionState) {
	now := a.cfg.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.feeds {
		h := member.PartitionState{Topic: f.topic, Partition: f.id, Records: len(f.records) + f.applying, Lag: member.Behind(f.end, f.position)}
		if h.Records > 0 {
			h.Age = max(0, now.Sub(f.since).Seconds())
		}
		all = append(all, h)
	}
	return a.cfg.Name, all
}

// endOf notes where a log of this Applier ends.
func (a *Applier) endOf(topic string, partition int32, end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.feeds[topicPartition{topic, partition}]; f != nil {
		f.end = end
	}
}
