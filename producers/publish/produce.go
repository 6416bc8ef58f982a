package publish

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// produce returns once all records are acknowledged, one is refused, or ctx
// ends. The client alone would not return before a broker answers for a batch
// that may have reached it: the records stay in the outbox, so they come again.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) error {
	done := make(chan error, 1)
	go func() { done <- client.ProduceSync(ctx, records...).FirstErr() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
