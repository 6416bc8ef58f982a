package stage

import (
	"context"
	"sync/atomic"
	"testing"

	"tributary/internal/kafka"
)

// Work that has ended is not finished: while the broker has not acknowledged
// all that it emitted, its offset is not committed (L1).
func TestEndedWorkWaitsForItsAcknowledgements(t *testing.T) {
	b := newBench(t, 1)
	const total = 3
	for n := range total {
		b.produce(message("key", n))
	}
	refuse := b.refuse(kafka.TopicName(prefix, outT))
	var ended atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		err := in.Emit(ctx, echo(in.Message))
		ended.Add(1)
		return err
	}}, nil)
	eventually(t, "work has ended and its output was refused again and again", func() bool { return ended.Load() > 0 && refuse.times.Load() > 5 })
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Errorf("offset %d was committed without the acknowledgement", at)
	}
	refuse.on.Store(false)
	eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == total })
	if n := ended.Load(); n != total {
		t.Errorf("%d attempts at %d records", n, total)
	}
}
