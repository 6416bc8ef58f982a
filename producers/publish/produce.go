package publish

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// sender produces with a client that flushes by hand. What follows a record that
// the broker refuses on its partition is then refused with it, and never sent
// before it.
type sender struct {
	client *kgo.Client
	met    map[string]bool // topics that have taken a record from this client
}

func newSender(client *kgo.Client) *sender { return &sender{client, map[string]bool{}} }

// send produces records and returns what became of each, or ctx's error. The client
// begins to send to a topic that is new to it while it still sorts records into
// partitions: if the first was refused meanwhile, those sorted later would be sent
// before it. So the first record of such a topic goes alone, and the others share
// its error. For the same reason, what was given up when an earlier ctx ended, and
// may still be under way, is waited for.
func (s *sender) send(ctx context.Context, records []*kgo.Record) ([]error, error) {
	if s.client.BufferedProduceRecords() > 0 {
		if err := s.client.Flush(ctx); err != nil {
			return nil, err
		}
	}
	first := map[string]int{} // of each topic that is new
	for i, r := range slices.Backward(records) {
		if !s.met[r.Topic] {
			first[r.Topic] = i
		}
	}
	errs := make([]error, len(records))
	alone := slices.Sorted(maps.Values(first))
	if err := s.produce(ctx, records, alone, errs); err != nil {
		return nil, err
	}
	var others []int
	for i, r := range records {
		switch at, fresh := first[r.Topic]; {
		case fresh && errs[at] != nil:
			errs[i] = errs[at]
		case !fresh || i != at:
			others = append(others, i)
		}
	}
	if err := s.produce(ctx, records, others, errs); err != nil {
		return nil, err
	}
	s.note(records, errs)
	return errs, nil
}

// produce sends the records at some places, and notes what became of each once all
// are acknowledged or refused, or ctx ends. The client alone would not return before
// a broker answers for a batch that may have reached it: the records stay in the
// outbox, so they come again.
func (s *sender) produce(ctx context.Context, records []*kgo.Record, places []int, errs []error) error {
	if len(places) == 0 {
		return nil
	}
	done := make(chan []error, 1)
	go func() {
		results := make([]error, len(places))
		var open sync.WaitGroup
		open.Add(len(places))
		for i, at := range places {
			s.client.Produce(ctx, records[at], func(_ *kgo.Record, err error) {
				results[i] = err
				open.Done()
			})
		}
		_ = s.client.Flush(ctx) // it ends with ctx, which is seen below
		open.Wait()
		done <- results
	}()
	select {
	case results := <-done:
		if ctx.Err() != nil {
			return ctx.Err() // what it has failed was not refused
		}
		for i, at := range places {
			errs[at] = results[i]
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note remembers the topics that took something, and lets the client write to
// topics that were deleted and made anew, which it would refuse for ever: the new
// topic is another one to it. Only those are purged. A live topic would be written
// to from sequence 0 again, by the same producer: the broker could take its next
// batch for one that it has, and acknowledge it without writing.
func (s *sender) note(records []*kgo.Record, errs []error) {
	anew := map[string]bool{}
	for i, r := range records {
		switch {
		case errs[i] == nil:
			s.met[r.Topic] = true
		case errors.Is(errs[i], kerr.UnknownTopicID):
			anew[r.Topic] = true
		}
	}
	for topic := range anew {
		delete(s.met, topic)
	}
	s.client.PurgeTopicsFromProducing(slices.Collect(maps.Keys(anew))...)
}
