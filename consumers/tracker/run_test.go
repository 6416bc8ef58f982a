package tracker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/wait"
)

// TestTwoMembersGiveTheSameRows runs two members on one broker and one
// database, and compares with the log applied by hand.
func TestTwoMembersGiveTheSameRows(t *testing.T) {
	var log []event
	for seed := range 20 {
		log = append(log, rapid.Custom(eventLog).Example(seed+1)...)
	}
	byHand := database(t)
	apply(t, newTracker(t, byHand), 0, log...)
	want := dump(t, byHand)

	bootstrap := enginetest.Broker(t)
	quiet := slog.New(slog.DiscardHandler)
	settings := config.Default().Kafka
	connect := kafka.NewFactory(settings, bootstrap, quiet)
	client, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	prefix := settings.TopicPrefix
	enginetest.Topics(t, client, 4, nil, kafka.TopicName(prefix, schemas.StatusChangedTopic))
	pool := database(t)
	tr := newTracker(t, pool)
	var records []*kgo.Record
	for i, e := range log {
		r := record(t, tr, e, int64(i))
		r.Topic = kafka.TopicName(prefix, schemas.StatusChangedTopic)
		r.Key = []byte(cmp.Or(e.File, e.Source+e.Session+e.Centre))
		records = append(records, r)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var members errgroup.Group
	for range 2 {
		a := New(config.Tracker{Batch: 50}, Deps{Pool: pool, Codec: tr.deps.Codec, Prefix: prefix, Connect: connect, Log: quiet, Meanings: tr.deps.Meanings}).Applier(member.NewMetrics(prometheus.NewRegistry()))
		members.Go(func() error { return a.Run(ctx) })
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	await(t, "every record to be applied", func() (bool, error) {
		applied := 0
		err := pool.QueryRow(t.Context(), "SELECT coalesce(sum(next_offset), 0) FROM tracker.consumed").Scan(&applied)
		return applied == len(records), err
	})
	stop()
	if err := members.Wait(); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, dump(t, pool)); d != "" {
		t.Errorf("the rows differ:\n%s", d)
	}
}

// await polls until something holds.
func await(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	deadline := time.After(wait.Patience())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds()
		if err != nil {
			t.Fatal(fmt.Errorf("wait for %s: %w", what, err))
		}
		if ok {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
