package member

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

// Behind is how far a position is behind a log's end; -1 if that is not known.
// An end that was looked up before the position moved on is no end.
func Behind(end, position int64) int64 {
	switch {
	case end == 0:
		return 0
	case end < 0 || position < 0:
		return -1
	}
	return max(0, end-position)
}

// FollowEnds looks up where the logs of the topics end, at every interval,
// and gives each to set, until the returned function is called. What cannot be
// looked up now is looked up the next time.
func FollowEnds(ctx context.Context, client *kgo.Client, topics []string, set func(topic string, partition int32, end int64)) (stop func()) {
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
