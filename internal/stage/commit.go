package stage

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/backoff"
	"tributary/internal/crashpoint"
	"tributary/internal/stage/member"
)

// commitTimeout bounds one commit; what was not committed is in the next.
const commitTimeout = 10 * time.Second

// restIntervals is after how many intervals it is looked for what is to be committed
// though nothing was finished: a commit that has failed comes again.
const restIntervals = 5

// commitRegularly commits what is finished, an interval after the first of it, until the
// returned function is called. While nothing is finished it wakes seldom.
func (r *Runner) commitRegularly() (stop func()) {
	ctx, cancel := context.WithCancel(r.work)
	done := make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(r.cfg.CommitInterval)
		defer timer.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-r.finished:
				_ = backoff.Sleep(ctx, r.cfg.CommitInterval)
				r.commit(ctx, r.owned())
			case <-timer.C:
				r.commit(ctx, r.owned())
			}
			timer.Reset(restIntervals * r.cfg.CommitInterval)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// owned lists the partitions in hand.
func (r *Runner) owned() []*partition {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*partition, 0, len(r.partitions))
	for _, p := range r.partitions {
		all = append(all, p)
	}
	return all
}

// commit stores the offsets of partitions that have advanced since the last
// time. What fails is logged and comes again.
func (r *Runner) commit(ctx context.Context, partitions []*partition) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	// A channel, not a mutex: who waits behind a broker that does not answer
	// waits no longer than it has time.
	select {
	case r.committing <- struct{}{}:
		defer func() { <-r.committing }()
	case <-ctx.Done():
		return
	}

	offsets := map[string]map[int32]kgo.EpochOffset{}
	marks, ids := map[int32]mark{}, map[int32]string{}
	r.mu.Lock()
	for _, p := range partitions {
		if p.gone || p.next < 0 || (p.next == p.stored && p.mark == p.storedMark) {
			continue
		}
		marks[p.id], ids[p.id] = p.mark, p.topicID
		if offsets[p.topic] == nil {
			offsets[p.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[p.topic][p.id] = kgo.EpochOffset{Epoch: p.epoch, Offset: p.next}
	}
	r.mu.Unlock()
	if len(offsets) == 0 {
		return
	}

	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for _, t := range req.Topics {
			for i, p := range t.Partitions {
				t.Partitions[i].Metadata = kmsg.StringPtr(besideOffset(marks[p.Partition], ids[p.Partition]))
			}
		}
		return nil
	})
	var failed error
	crashpoint.At(r.cfg.Name, "offsets", "before")
	start := time.Now()
	r.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = member.CommitError(resp, err)
	})
	r.metrics.Commits.WithLabelValues(r.cfg.Name).Observe(time.Since(start).Seconds())
	if failed != nil {
		r.warn("cannot commit offsets; trying again", failed)
		return
	}
	crashpoint.At(r.cfg.Name, "offsets", "after")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range partitions {
		if o, ok := offsets[p.topic][p.id]; ok {
			p.stored, p.storedMark = o.Offset, marks[p.id]
		}
	}
}

// leave commits what is finished and leaves the group; hangUp cancels the
// client's own context.
func (r *Runner) leave(ctx context.Context, hangUp context.CancelFunc) {
	r.commit(ctx, r.lowered(r.owned(), true))
	if err := member.LeaveGroup(ctx, r.client, hangUp); err != nil {
		r.warn("cannot leave the group; it will notice by itself", err)
	}
}

// lowered takes back the marks of partitions that are given up alive.
func (r *Runner) lowered(partitions []*partition, cleanStop bool) []*partition {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range partitions {
		p.lower(cleanStop)
	}
	return partitions
}
