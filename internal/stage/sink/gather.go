package sink

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/member"
)

// maxBatchBytes bounds the memory of a batch; one fetch may come on top.
const maxBatchBytes = 4 << 20

// lullShare is the part of MaxWait without a record after which a batch is
// applied as it is, where nothing else is said: the steady stream fills batches, the last record does not
// wait for company.
const lullShare = 10

// hurriedLull is the lull of an applier that is to hurry, at most.
const hurriedLull = 50 * time.Millisecond

// Hurry makes the applier store what it has as soon as no more comes just now:
// somebody waits for it.
func (a *Applier) Hurry() { a.hurry() }

// gather polls until a batch is full, its first record has waited long enough,
// or no more records come. Without any record it returns after a while.
func (a *Applier) gather(ctx context.Context) {
	last := time.Now()
	deadline := last.Add(groupCommitInterval)
	for have, size := 0, 0; have < a.cfg.MaxRecords && size < maxBatchBytes && ctx.Err() == nil; {
		until := deadline
		if have > 0 {
			until = earlier(deadline, last.Add(a.lull()))
		}
		poll, cancel := context.WithDeadline(ctx, until)
		fetches := a.pollUnlessHurried(poll, cancel, a.cfg.MaxRecords-have)
		cancel()
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) {
				a.warn("cannot fetch; trying again", kafka.Lacking(e.Err, "Read", e.Topic, a.cfg.Group), "topic", e.Topic, "partition", e.Partition)
			}
		}
		a.fetching.Fetching(fetches.Errors(), a.cfg.Group)
		had, now := have, time.Now()
		have, size = a.buffer(fetches)
		a.client.AllowRebalance()
		member.Rejoin(a.client, fetches.Errors())
		if had == 0 && have > 0 {
			deadline = now.Add(a.cfg.MaxWait)
		}
		if have > had {
			last = now
		} else if !now.Before(until) {
			return
		}
	}
}

// pollUnlessHurried polls until something comes or its context ends, or until the applier
// is to hurry from now on, for which it cancels the context.
func (a *Applier) pollUnlessHurried(ctx context.Context, cancel func(), most int) kgo.Fetches {
	if a.hurried.Err() == nil {
		defer context.AfterFunc(a.hurried, cancel)()
	}
	return a.client.PollRecords(ctx, most)
}

// lull is how long nothing may come before a batch is applied as it is.
func (a *Applier) lull() time.Duration {
	if a.hurried.Err() != nil {
		return min(a.cfg.Lull, hurriedLull)
	}
	return a.cfg.Lull
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
