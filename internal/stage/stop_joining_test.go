package stage

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
)

// A member that is told to stop while it joins a group whose other member does
// not answer (it is dead, and its session lasts on) stops all the same, and the
// group does not wait for it.
func TestStopWhileJoining(t *testing.T) {
	b := newBench(t, 2)
	const session = 50 * time.Second // Apache Kafka waits for that long afterwards, and is to be empty within three minutes
	// The other holds the group: it has polled, and never allows a rebalance.
	other := b.NewClient(kgo.ConsumerGroup("test.work"), kgo.ConsumeTopics(kafka.TopicName(prefix, inTopic)), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(session), kgo.RebalanceTimeout(session))
	b.Produce(members.Message("a", 1))
	fetches := other.PollFetches(t.Context())
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	defer other.AllowRebalance()

	cfg := Config{Name: "work", Prefix: prefix, Topic: inTopic, Grace: time.Second}
	r := NewRunner(cfg, b.Factory(kgo.SessionTimeout(session), kgo.RebalanceTimeout(session)), b.Codec,
		funcs{work: func(context.Context, Input) error { return nil }}, members.Logger(t), b.Metrics)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	<-r.started
	members.Eventually(t, "the member joins", func() bool { id, _ := r.client.GroupMetadata(); return id != "" })
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(session):
		t.Fatalf("the member is still stopping after %s, the session of the other one", session)
	}
	groups, err := kadm.NewClient(b.Client).DescribeGroups(t.Context(), "test.work")
	if err != nil {
		t.Fatal(err)
	}
	if members := groups["test.work"].Members; len(members) > 1 {
		t.Errorf("the group still waits for %d members, want only the one that does not answer", len(members))
	}
}
