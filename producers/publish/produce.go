package publish

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produce sends records and returns what became of each once all are
// acknowledged or refused, or ctx ends. The client alone would not return before
// a broker answers for a batch that may have reached it: the records stay in the
// outbox, so they come again.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) ([]error, error) {
	done := make(chan kgo.ProduceResults, 1)
	go func() {
		results := make(kgo.ProduceResults, len(records))
		var open sync.WaitGroup
		open.Add(len(records))
		for i, r := range records {
			client.Produce(ctx, r, func(r *kgo.Record, err error) {
				results[i] = kgo.ProduceResult{Record: r, Err: err}
				open.Done()
			})
		}
		_ = client.Flush(ctx) // it ends with ctx, which is seen below
		open.Wait()
		done <- results
	}()
	errs := make([]error, len(records))
	select {
	case results := <-done:
		if ctx.Err() != nil {
			return nil, ctx.Err() // what it has failed was not refused
		}
		renew(client, results)
		for i, r := range results {
			errs[i] = r.Err
		}
		return errs, nil
	case <-ctx.Done():
		return nil, ctx.Err()
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
