package publish

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produce returns once all records are acknowledged, one is refused, or ctx
// ends. The client alone would not return before a broker answers for a batch
// that may have reached it: the records stay in the outbox, so they come again.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) error {
	done := make(chan kgo.ProduceResults, 1)
	go func() { done <- client.ProduceSync(ctx, records...) }()
	select {
	case results := <-done:
		renew(client, results)
		return results.FirstErr()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renew lets the client write to topics that were deleted and made anew, which
// it would refuse for ever: the new topic is another one to it. Only those are
// purged. A live topic would be written to from sequence 0 again, by the same
// producer: the broker could take its next batch for one that it has, and
// acknowledge it without writing.
func renew(client *kgo.Client, results kgo.ProduceResults) {
	var topics []string
	for _, r := range results {
		if errors.Is(r.Err, kerr.UnknownTopicID) && !slices.Contains(topics, r.Record.Topic) {
			topics = append(topics, r.Record.Topic)
		}
	}
	client.PurgeTopicsFromProducing(topics...)
}
