package stage

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// endsInterval is how often a consumer looks up where its logs end: a
// partition that is paused gets no records that would tell.
const endsInterval = 10 * time.Second

// endsSoon is when it does so first.
const endsSoon = time.Second

// inHand is what the metrics say of a Runner.
func (r *Runner) inHand() (stage string, all []hand) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		h := hand{topic: p.topic, partition: p.id, records: len(p.window), lag: behind(p.end, max(p.next, p.begin))}
		if len(p.window) > 0 {
			h.age = max(0, now.Sub(p.window[0].taken).Seconds())
		}
		all = append(all, h)
	}
	return r.cfg.Name, all
}

// inHand is what the metrics say of an Applier.
func (a *Applier) inHand() (stage string, all []hand) {
	now := a.cfg.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.feeds {
		h := hand{topic: f.topic, partition: f.id, records: len(f.records) + f.applying, lag: behind(f.end, f.position)}
		if h.records > 0 {
			h.age = max(0, now.Sub(f.since).Seconds())
		}
		all = append(all, h)
	}
	return a.cfg.Name, all
}

// behind is how far a position is behind a log's end; -1 if that is not known.
// An end that was looked up before the position moved on is no end.
func behind(end, position int64) int64 {
	switch {
	case end == 0:
		return 0
	case end < 0 || position < 0:
		return -1
	}
	return max(0, end-position)
}

// followEnds looks up where the logs of the topics end, at every interval,
// and gives each to set, until the returned function is called. What cannot be
// looked up now is looked up the next time.
func followEnds(ctx context.Context, client *kgo.Client, topics []string, set func(topic string, partition int32, end int64)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	look := func() {
		ctx, cancel := context.WithTimeout(ctx, endsInterval/2)
		defer cancel()
		ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topics...)
		if err != nil {
			return
		}
		ends.Each(func(o kadm.ListedOffset) {
			if o.Err == nil {
				set(o.Topic, o.Partition, o.Offset)
			}
		})
	}
	go func() {
		defer close(done)
		timer := time.NewTimer(endsSoon)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				look()
				timer.Reset(endsInterval)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ends notes where a log of this Runner ends.
func (r *Runner) ends(_ string, partition int32, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.partitions[partition]; p != nil {
		p.end = end
	}
}

// endOf notes where a log of this Applier ends.
func (a *Applier) endOf(topic string, partition int32, end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.feeds[topicPartition{topic, partition}]; f != nil {
		f.end = end
	}
}
