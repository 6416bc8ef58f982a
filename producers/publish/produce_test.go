package publish

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/test/wait"
)

// first is the first error of a produce.
func first(results []error, err error) error {
	for _, r := range results {
		if err == nil {
			err = r
		}
	}
	return err
}

// A batch that may have reached a broker is not given up by the client, even
// if the broker is gone for good: whoever stops must not wait for it.
func TestStoppingDoesNotWaitForABrokerThatIsGone(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cluster.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		cancel() // it has arrived, and is never answered
		return nil, errors.New("gone"), true
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	done := make(chan error, 1)
	go func() { done <- first(newSender(client).send(ctx, []*kgo.Record{{Topic: "t", Value: []byte("v")}})) }()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	case <-time.After(wait.Patience()):
		t.Error("it waits for a broker that does not answer")
	}
}

// A topic that was deleted and made anew is written to again, whatever else
// went wrong in its batch; and the live topic beside it loses nothing.
func TestATopicMadeAnewBesideALiveOne(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "live", "anew"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	s := newSender(client)
	send := func(topic, value string) *kgo.Record { return &kgo.Record{Topic: topic, Value: []byte(value)} }
	if err := first(s.send(ctx, []*kgo.Record{send("live", "1"), send("anew", "1")})); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteTopic(ctx, "anew"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "anew"); err != nil {
		t.Fatal(err)
	}
	large := send("live", string(make([]byte, 8<<20)))
	for !errors.Is(client.ProduceSync(ctx, send("anew", "lost")).FirstErr(), kerr.UnknownTopicID) {
		if ctx.Err() != nil {
			t.Fatal("the client never notices that the topic was made anew")
		}
		client.ForceMetadataRefresh()
	}
	// The client may have a new epoch by now, in which this is sequence 0.
	if err := first(s.send(ctx, []*kgo.Record{send("live", "2")})); err != nil {
		t.Fatal(err)
	}
	if err := first(s.send(ctx, []*kgo.Record{large, send("anew", "2")})); !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatalf("the first error is %v, want that of the large record", err)
	}
	if err := first(s.send(ctx, []*kgo.Record{send("live", "3"), send("anew", "3")})); err != nil {
		t.Errorf("after the topic was made anew: %v", err)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("live"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got []string
	for len(got) < 3 && ctx.Err() == nil {
		for _, r := range reader.PollFetches(ctx).Records() {
			got = append(got, string(r.Value))
		}
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("the live topic holds %v, want %v", got, want)
	}
}

// refusing is a topic t whose broker refuses one request for good when told to, and
// a client that stops sorting records before the second until one has ended.
type refusing struct {
	client  *kgo.Client
	refuse  atomic.Bool
	arrived func()        // called when the refused request is there
	answer  chan struct{} // nil: at once
	sorted  atomic.Int32
	ended   chan struct{}
}

func (r *refusing) OnProduceRecordUnbuffered(*kgo.Record, error) {
	select {
	case r.ended <- struct{}{}:
	default:
	}
}

func newRefusing(t *testing.T) *refusing {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	r := &refusing{arrived: func() {}, ended: make(chan struct{}, 1)}
	cluster.ControlKey(kmsg.Produce.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !r.refuse.CompareAndSwap(true, false) {
			return nil, nil, false
		}
		r.arrived()
		if r.answer != nil {
			<-r.answer
		}
		return refusal(kreq.(*kmsg.ProduceRequest), "t", cluster.TopicInfo("t").TopicID, kerr.MessageTooLarge), nil, true
	})
	r.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ManualFlushing(), kgo.WithHooks(r),
		kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
			return func(*kgo.Record, int) int {
				if r.sorted.Add(1) == 2 {
					select {
					case <-r.ended:
					case <-t.Context().Done():
					}
				}
				return 0
			}
		})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.Close)
	return r
}

// What follows a record that is refused is refused with it, also where the refusal
// comes while the client still sorts records into partitions.
func TestNothingOvertakesARefusedRecord(t *testing.T) {
	three := func() []*kgo.Record {
		return []*kgo.Record{{Topic: "t", Value: []byte("1")}, {Topic: "t", Value: []byte("2")}, {Topic: "t", Value: []byte("3")}}
	}
	t.Run("of a topic that is new to the client", func(t *testing.T) {
		r := newRefusing(t)
		r.refuse.Store(true)
		errs, err := newSender(r.client).send(t.Context(), three())
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if !errors.Is(err, kerr.MessageTooLarge) {
				t.Errorf("record %d: %v", i+1, err)
			}
		}
	})
	t.Run("behind one that was given up", func(t *testing.T) {
		r := newRefusing(t)
		s := newSender(r.client)
		if err := first(s.send(t.Context(), three()[:1])); err != nil {
			t.Fatal(err)
		}
		<-r.ended
		r.sorted.Store(-1) // the next one is not waited for
		ctx, giveUp := context.WithCancel(t.Context())
		r.arrived, r.answer = giveUp, make(chan struct{})
		r.refuse.Store(true)
		if err := first(s.send(ctx, three()[:1])); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v", err)
		}
		time.AfterFunc(50*time.Millisecond, func() { close(r.answer) })
		if err := first(s.send(t.Context(), three())); err != nil {
			t.Errorf("what came before had no end yet: %v", err)
		}
	})
}
