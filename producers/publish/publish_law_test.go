package publish

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What the broker refuses for good stays in the outbox and holds up what comes
// after it: nothing is deleted that the broker doesn't have (L1).
func TestARefusedEventStays(t *testing.T) {
	b := newBench(t)
	b.needMemory()
	var allowed atomic.Bool
	b.cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		if allowed.Load() {
			return nil, nil, false
		}
		produce := req.(*kmsg.ProduceRequest)
		resp := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			answer := kmsg.NewProduceResponseTopic()
			answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				refusal := kmsg.NewProduceResponseTopicPartition()
				refusal.Partition, refusal.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				answer.Partitions = append(answer.Partitions, refusal)
			}
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, nil, true
	})
	b.append(5)
	p := b.publisher("one", 50)
	epoch, err := p.lease.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.batch(t.Context(), epoch); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("batch: %v", err)
	}
	if n := b.left(); n != 5 {
		t.Fatalf("%d of 5 events are left", n)
	}
	if err := p.lease.Release(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	allowed.Store(true)
	b.start(b.publisher("two", 50))
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	ascending(t, b.published(5), 5)
}
