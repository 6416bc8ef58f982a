package member

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
)

// The group is not told that a static member leaves: it would move its
// partitions, and is to wait for it instead.
func TestAStaticMemberIsExpectedBack(t *testing.T) {
	for instance, want := range map[string]bool{"": false, "member-1": true} {
		cfg := config.Kafka{InstanceID: instance}
		client, err := kafka.NewClient(cfg, []string{"localhost:1"}, slog.New(slog.DiscardHandler), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"))
		if err != nil {
			t.Fatal(err)
		}
		got := expectedBack(client)
		client.CloseAllowingRebalance()
		if got != want {
			t.Errorf("instance %q: expected back %t, want %t", instance, got, want)
		}
	}
}
