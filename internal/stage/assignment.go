package stage

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// assigned takes partitions over; what they hold comes with the next polls.
func (r *Runner) assigned(_ context.Context, _ *kgo.Client, which map[string][]int32) {
	r.metrics.Rebalanced(r.cfg.Name, "assigned", which)
	r.mu.Lock()
	defer r.mu.Unlock()
	for topic, ids := range which {
		for _, id := range ids {
			ctx, cancel := context.WithCancel(r.work)
			r.partitions[id] = &partition{topic: topic, id: id, ctx: ctx, cancel: cancel, next: -1, stored: -1, hesitated: newOnce(), raised: newOnce(), begin: -1, end: -1}
		}
	}
}

// revoked gives partitions up: their work is cancelled and waited for, and
// what is finished is committed before another member gets them.
func (r *Runner) revoked(ctx context.Context, _ *kgo.Client, which map[string][]int32) {
	<-r.started
	r.metrics.Rebalanced(r.cfg.Name, "revoked", which)
	given, running := r.giveUp(which)
	if len(given) == 0 {
		return
	}
	timer := time.NewTimer(r.endTimeout())
	defer timer.Stop()
wait:
	for _, ended := range running {
		select {
		case <-ended:
		case <-timer.C:
			break wait
		}
	}
	r.commit(ctx, r.lowered(given, false))
	r.forget(given)
}

// lost forgets partitions that another member may have already: nothing can
// be committed any more.
func (r *Runner) lost(_ context.Context, _ *kgo.Client, which map[string][]int32) {
	<-r.started
	r.metrics.Rebalanced(r.cfg.Name, "lost", which)
	given, _ := r.giveUp(which)
	r.forget(given)
}

// forget excludes partitions from commits that were begun before they were
// given up: they would undo those of the next owner.
func (r *Runner) forget(given []*partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range given {
		p.gone = true
	}
}

// giveUp cancels the work on partitions and forgets what waits. It returns
// them, and what tells when their running attempts have ended.
func (r *Runner) giveUp(which map[string][]int32) (given []*partition, running []<-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ids := range which {
		for _, id := range ids {
			p := r.partitions[id]
			if p == nil {
				continue
			}
			p.cancel()
			delete(r.partitions, id)
			given = append(given, p)
			for _, it := range p.window {
				if it.ended != nil && !it.done {
					running = append(running, it.ended)
				}
				delete(r.lanes, lane{p, string(it.rec.Key)})
			}
			r.metrics.Unblock(r.cfg.Name, p.topic, p.id, p.blocked)
		}
	}
	// Pauses outlive an assignment; they must not hold up the next one.
	r.client.ResumeFetchPartitions(which)
	return given, running
}

// cancelWork ends the work on all partitions, which stay assigned until the
// last commit, and what is detached.
func (r *Runner) cancelWork() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitions {
		p.cancel()
	}
	for _, it := range r.detached {
		it.cancel()
	}
}
