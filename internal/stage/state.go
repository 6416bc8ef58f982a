package stage

import "tributary/internal/stage/member"

// Partitions is what the metrics say of a Runner.
func (r *Runner) Partitions() (stage string, all []member.PartitionState) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		h := member.PartitionState{Topic: p.topic, Partition: p.id, Records: len(p.window), Lag: member.Behind(p.end, max(p.next, p.begin))}
		if len(p.window) > 0 {
			h.Age = max(0, now.Sub(p.window[0].taken).Seconds())
		}
		all = append(all, h)
	}
	return r.cfg.Name, all
}

// ends notes where a log of this Runner ends.
func (r *Runner) ends(_ string, partition int32, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.partitions[partition]; p != nil {
		p.end = end
	}
}
