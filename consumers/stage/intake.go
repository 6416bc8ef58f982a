package stage

import (
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// intake puts polled records into their windows and lanes.
func (r *Runner) intake(fetches kgo.Fetches) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		p := r.partitions[f.Partition]
		if p == nil {
			return
		}
		if len(f.Records) > 0 {
			p.end = f.HighWatermark
		}
		for _, rec := range f.Records {
			if p.blocked {
				return
			}
			r.take(p, rec, now)
		}
		r.regulate(p)
	})
	r.dispatch()
}

// take puts one record in hand.
func (r *Runner) take(p *partition, rec *kgo.Record, now time.Time) {
	msg, err := r.codec.Decode(kafka.FromKgo(rec))
	if errors.Is(err, schemas.ErrUnknownSchema) {
		p.blocked = true
		r.metrics.blocked.WithLabelValues(r.cfg.Name, p.topic, strconv.Itoa(int(p.id)), "unknown_schema").Set(1)
		r.log.Error("a newer version wrote this record: the partition stands still until this member is upgraded",
			"topic", p.topic, "partition", p.id, "offset", rec.Offset, "error", err)
		return
	}
	it := &item{p: p, rec: rec, msg: msg, bad: err, taken: now, first: p.next < 0}
	if p.next < 0 {
		p.next, p.epoch = rec.Offset, rec.LeaderEpoch
	}
	p.window = append(p.window, it)
	l := lane{p, string(rec.Key)}
	r.lanes[l] = append(r.lanes[l], it)
	if len(r.lanes[l]) == 1 {
		r.ready = append(r.ready, l)
	}
}

// regulate pauses a partition whose window is full, or that is blocked, and
// resumes one that has room again. A window may be exceeded by what one poll
// brings, which is no more than a window.
func (r *Runner) regulate(p *partition) {
	full := p.blocked || len(p.window) >= r.cfg.Window || (p.paused && len(p.window) > r.cfg.Window/2)
	if full == p.paused {
		return
	}
	p.paused = full
	which := map[string][]int32{p.topic: {p.id}}
	if full {
		r.client.PauseFetchPartitions(which)
	} else {
		r.client.ResumeFetchPartitions(which)
	}
}
