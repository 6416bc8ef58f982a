package kafka

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/test/wait"
)

// Of several records that fail because their topic was made anew only the first
// purges it: what is written after that must not begin at sequence 0 again.
func TestATopicIsPurgedOnceForAllWhoFailed(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := NewClient(config.Kafka{}, cluster.ListenAddrs(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	a := NewAnew(client)
	send := func() error {
		return client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr()
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteTopic(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	purges := a.Purges("t")
	for !errors.Is(err, kerr.UnknownTopicID) {
		if ctx.Err() != nil {
			t.Fatal("the client never notices that the topic was made anew")
		}
		err = send()
		client.ForceMetadataRefresh()
	}
	a.Failed("t", purges, errors.New("another error"))
	if n := a.Purges("t"); n != purges {
		t.Errorf("another error purged the topic")
	}
	before := end(ctx, t, admin)
	for range 3 { // each is written after another one of those who failed
		a.Failed("t", purges, err)
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if got := end(ctx, t, admin) - before; got != 3 {
		t.Errorf("the new topic holds %d of 3 acknowledged records", got)
	}
}

func end(ctx context.Context, t *testing.T, admin *kadm.Client) int64 {
	t.Helper()
	ends, err := admin.ListEndOffsets(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := ends.Lookup("t", 0)
	return o.Offset
}
