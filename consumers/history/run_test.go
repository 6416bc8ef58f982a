package history

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/wait"
)

// TestTwoMembersKeepEachRecordOnce runs two members that come and go on one
// broker, and counts what ClickHouse holds of each partition.
func TestTwoMembersKeepEachRecordOnce(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	quiet := slog.New(slog.DiscardHandler)
	settings := config.Default().Kafka
	connect := kafka.NewFactory(settings, enginetest.Broker(t), quiet)
	client, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic := kafka.TopicName(settings.TopicPrefix, schemas.StatusChangedTopic)
	enginetest.Topics(t, client, 4, nil, topic)
	c := codec(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var members errgroup.Group
	member := func(ctx context.Context) *History {
		h := New(config.History{Batch: 40, Wait: config.Duration(5 * time.Millisecond)}, Deps{Open: func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }, Database: database, Codec: c, Prefix: settings.TopicPrefix, Connect: connect, Log: quiet})
		a := h.Applier(member.NewMetrics(prometheus.NewRegistry()))
		members.Go(func() error {
			defer h.Close()
			return a.Run(ctx)
		})
		return h
	}
	first, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	member(first)
	var want int
	produce := func(n int) {
		var records []*kgo.Record
		for range n {
			r := record(t, c, int64(want))
			r.Topic, r.Key = topic, []byte(fmt.Sprint(want))
			records = append(records, r)
			want++
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := engine.OpenClickHouse(endpoint, database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stored := func() (n uint64) {
		// Before a member has made the table there is nothing.
		if err := conn.QueryRow(t.Context(), "SELECT count() FROM log").Scan(&n); err != nil {
			return 0
		}
		return n
	}
	await := func() {
		t.Helper()
		deadline := time.After(wait.Patience())
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for stored() < uint64(want) {
			select {
			case <-deadline:
				t.Fatalf("%d of %d records", stored(), want)
			case <-tick.C:
			}
		}
	}
	produce(200)
	await()
	member(ctx)
	produce(200)
	stopFirst()
	produce(200)
	await()
	stop()
	if err := members.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM log"); n != uint64(want) {
		t.Errorf("%d records, want %d", n, want)
	}
	if gaps := scan[uint64](t, conn, "SELECT count() FROM (SELECT partition FROM log GROUP BY partition HAVING max(offset) + 1 != count())"); gaps != 0 {
		t.Errorf("%d partitions lack records", gaps)
	}
}
