package stage

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// Work that has ended is not finished: while the broker has not acknowledged
// all that it emitted, its offset is not committed (L1).
func TestEndedWorkWaitsForItsAcknowledgements(t *testing.T) {
	b := newBench(t, 1)
	const total = 3
	for n := range total {
		b.Produce(members.Message("key", n))
	}
	refuse := b.refuse(kafka.TopicName(prefix, outT))
	var ended atomic.Int32
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		err := in.Emit(ctx, members.Echo(in.Message))
		ended.Add(1)
		return err
	}}, nil)
	members.Eventually(t, "work has ended and its output was refused again and again", func() bool { return ended.Load() > 0 && refuse.times.Load() > 5 })
	if at, _ := b.committed("test.work", 0); at > 0 {
		t.Errorf("offset %d was committed without the acknowledgement", at)
	}
	refuse.on.Store(false)
	members.Eventually(t, "the offset moves", func() bool { at, _ := b.committed("test.work", 0); return at == total })
	if n := ended.Load(); n != total {
		t.Errorf("%d attempts at %d records", n, total)
	}
}

// An error of the broker that ends by itself is no fault of the record that was
// worked on; a message that no topic takes is.
func TestWhichErrorsOfProducingEndByThemselves(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{kerr.UnknownTopicID, true}, {kerr.NotEnoughReplicas, true}, {kerr.RequestTimedOut, true}, {kgo.ErrRecordTimeout, true}, {context.DeadlineExceeded, true},
		{kerr.TopicAuthorizationFailed, true}, {kerr.ClusterAuthorizationFailed, true}, // when somebody gives the right
		{kerr.MessageTooLarge, false}, {kerr.TransactionalIDAuthorizationFailed, false},
	} {
		err := unproduced("the.topic", tc.err)
		if isTransient(err) != tc.want || !errors.Is(err, tc.err) || !strings.Contains(err.Error(), "the.topic") {
			t.Errorf("%v: transient %t, want %t: %v", tc.err, isTransient(err), tc.want, err)
		}
	}
}
