package stage

import (
	"errors"
	"fmt"
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
			r.admit(p, rec, now)
		}
		r.regulate(p)
	})
	r.dispatch()
}

// retake takes what is held of blocked partitions, as far as it can be read, or is
// passed over, by now. The intake that follows gives it to work.
func (r *Runner) retake() {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		if !p.blocked {
			continue
		}
		held := p.held
		p.blocked, p.held = false, nil
		for _, rec := range held {
			r.admit(p, rec, now)
		}
		if !p.blocked {
			r.metrics.Unblock(r.cfg.Name, p.topic, p.id, true)
		}
		r.regulate(p)
	}
}

// admit puts one record in hand.
func (r *Runner) admit(p *partition, rec *kgo.Record, now time.Time) {
	if p.blocked {
		p.held = append(p.held, rec)
		return
	}
	msg, err := r.codec.Decode(kafka.FromKgo(rec))
	if errors.Is(err, schemas.ErrUnknownSchema) {
		p.blocked, p.held = true, append(p.held, rec)
		r.metrics.Blocked.WithLabelValues(r.cfg.Name, p.topic, strconv.Itoa(int(p.id)), "unknown_schema").Set(1)
		const msg = "a newer version wrote this record: the partition stands still until this member is upgraded, or the record is passed over (tributary topics pass-over)"
		if missed, ok := r.quiet.Due(fmt.Sprint(msg, p.id, rec.Offset)); ok {
			r.log.Error(msg, "topic", p.topic, "partition", p.id, "offset", rec.Offset, "error", err, "not_logged", missed)
		}
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
