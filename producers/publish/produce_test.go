package publish

import (
	"context"
	"errors"
	"slices"
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
	go func() { done <- first(produce(ctx, client, []*kgo.Record{{Topic: "t", Value: []byte("v")}})) }()
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
	send := func(topic, value string) *kgo.Record { return &kgo.Record{Topic: topic, Value: []byte(value)} }
	if err := first(produce(ctx, client, []*kgo.Record{send("live", "1"), send("anew", "1")})); err != nil {
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
	if err := first(produce(ctx, client, []*kgo.Record{send("live", "2")})); err != nil {
		t.Fatal(err)
	}
	if err := first(produce(ctx, client, []*kgo.Record{large, send("anew", "2")})); !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatalf("the first error is %v, want that of the large record", err)
	}
	if err := first(produce(ctx, client, []*kgo.Record{send("live", "3"), send("anew", "3")})); err != nil {
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
