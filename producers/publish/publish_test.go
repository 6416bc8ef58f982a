package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/outbox"
	"tributary/test/wait"
)

// bench is an outbox on a real Postgres and a broker.
type bench struct {
	t       *testing.T
	pool    *pgxpool.Pool
	addrs   []string
	cluster *kfake.Cluster // nil on Apache Kafka, which does not fail on command
	outbox  outbox.Outbox
	client  *kgo.Client
	n       int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	if enginetest.KafkaAddrs() != nil {
		b.addrs = enginetest.Broker(t)
	} else {
		b.cluster = enginetest.Cluster(t)
		b.addrs = b.cluster.ListenAddrs()
	}
	var err error
	if b.pool, err = pg.Open(t.Context(), enginetest.Postgres(t), "test", 10); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	b.exec("CREATE SCHEMA s")
	b.exec(fmt.Sprintf(outbox.DDL, "s"))
	b.exec(fmt.Sprintf(pg.LeaseDDL, "s"))
	codec := schemastest.Codec(t)
	b.outbox = outbox.Outbox{Schema: "s", Codec: codec}
	b.client = b.connect()
	for _, topic := range []string{schemas.StatusChangedTopic, schemas.DocumentOrderedTopic} {
		enginetest.Topics(t, b.client, 3, nil, kafka.TopicName("p", topic))
	}
	return b
}

// needMemory skips a test that makes the broker in memory fail.
func (b *bench) needMemory() {
	b.t.Helper()
	if b.cluster == nil {
		b.t.Skip("Apache Kafka does not fail on command")
	}
}

func (b *bench) connect(extra ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	c, err := kafka.NewClient(config.Kafka{}, b.addrs, slog.New(slog.NewTextHandler(io.Discard, nil)), extra...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bench) left() (n int) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.t.Context(), "SELECT coalesce(sum(events), 0) FROM s.outbox").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// append adds n events, over five keys, in one transaction.
func (b *bench) append(n int) {
	b.t.Helper()
	var all []schemas.Message
	for range n {
		b.n++
		all = append(all, schemas.Message{ID: fmt.Sprint("id-", b.n), Topic: schemas.StatusChangedTopic, Key: fmt.Sprint("key-", b.n%5), Stage: "test", Time: time.Unix(int64(b.n), 0),
			Body: &schemas.StatusChanged{Entity: schemas.EntityFile, Number: int64(b.n)}})
	}
	if err := pg.InTx(b.t.Context(), b.pool, func(tx pgx.Tx) error { return b.outbox.Append(b.t.Context(), tx, all...) }); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) publisher(holder string, batch int) *Publisher {
	return b.newPublisher(batch, Deps{Schema: "s", Holder: holder})
}

// newPublisher makes a publisher with what all of the bench have in common.
func (b *bench) newPublisher(batch int, d Deps) *Publisher {
	d.Prefix, d.Pool, d.Client, d.Log, d.Metrics = "p", b.pool, b.connect(kgo.ManualFlushing()), slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	cfg := config.Default().Publish
	cfg.Batch = batch
	cfg.LeaseTTL = config.Duration(5 * time.Minute) // taken away by the test alone
	return New(cfg, d)
}

// published reads n records and returns the numbers of each key in order.
func (b *bench) published(n int) map[string][]int64 {
	b.t.Helper()
	c := b.connect(kgo.ConsumeTopics(kafka.TopicName("p", schemas.StatusChangedTopic)))
	out := map[string][]int64{}
	ctx, cancel := context.WithTimeout(b.t.Context(), wait.Patience())
	defer cancel()
	for n > 0 {
		fetches := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			b.t.Fatalf("%d records are missing", n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			m, err := b.outbox.Codec.Decode(kafka.FromKgo(r))
			if err != nil {
				b.t.Fatal(err)
			}
			number := m.Body.(*schemas.StatusChanged).Number
			if m.ID != fmt.Sprint("id-", number) {
				b.t.Errorf("event %d has the id %q", number, m.ID)
			}
			out[m.Key] = append(out[m.Key], number)
			n--
		})
	}
	if n < 0 {
		b.t.Errorf("%d records too many", -n)
	}
	return out
}

// until asks again and again until something is so.
func (b *bench) until(what string, so func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), wait.Patience())
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			b.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// start runs a publisher; the function stops it and waits for its end.
func (b *bench) start(p *Publisher) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("Run: %v", err)
			}
		case <-time.After(wait.Patience()):
			b.t.Error("it does not stop")
		}
	}
	b.t.Cleanup(stop)
	return stop
}

func ascending(t *testing.T, got map[string][]int64, total int) {
	t.Helper()
	n := 0
	for key, numbers := range got {
		for i, v := range numbers {
			n++
			if i > 0 && v <= numbers[i-1] {
				t.Errorf("%s: %d comes after %d", key, v, numbers[i-1])
			}
		}
	}
	if n != total {
		t.Errorf("%d events of %d", n, total)
	}
}

func TestEveryEventIsPublishedInItsKeysOrder(t *testing.T) {
	b := newBench(t)
	b.append(1200) // before it starts: rows larger than a batch
	for range 40 {
		b.append(3) // and batches of many rows
	}
	b.start(b.publisher("one", 50))
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	for range 30 {
		b.append(3)
	}
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	ascending(t, b.published(1410), 1410)
}

// Its commit wakes the publisher: no interval goes by.
func TestAnAppendWakesThePublisher(t *testing.T) {
	b := newBench(t)
	p := b.publisher("one", 50)
	p.cfg.Interval = config.Duration(time.Hour)
	b.start(p)
	b.append(1)
	b.until("the first event is out", func() bool { return b.left() == 0 })
	b.append(1)
	b.until("the second event is out", func() bool { return b.left() == 0 })
}

// A crash between acknowledgement and deletion repeats what was sent: the same
// ids, each key again in its order.
func TestACrashRepeats(t *testing.T) {
	b := newBench(t)
	b.append(10)
	first := b.publisher("one", 50)
	rows, err := first.read(t.Context())
	if err != nil || len(rows) != 1 || len(rows[0].Records) != 10 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if err := first.send(t.Context(), first.gather(rows)); err != nil {
		t.Fatal(err)
	}
	b.start(b.publisher("two", 50))
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	for key, numbers := range b.published(20) {
		if len(numbers) != 4 || numbers[0] != numbers[2] || numbers[1] != numbers[3] || numbers[0] >= numbers[1] {
			t.Errorf("%s: %v", key, numbers)
		}
	}
}

func TestASecondPublisherWaits(t *testing.T) {
	b := newBench(t)
	first := b.publisher("one", 50)
	stop := b.start(first)
	b.append(5)
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	second := b.publisher("two", 50)
	second.lease.TTL = 300 * time.Millisecond // how often it asks
	b.start(second)
	b.append(5)
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	ascending(t, b.published(10), 10) // none twice
	stop()
	b.append(5)
	b.until("the second has taken over", func() bool { return b.left() == 0 })
	ascending(t, b.published(15), 15)
}

// Who has lost the lease deletes nothing, though the broker has what it sent.
func TestALostLeaseDeletesNothing(t *testing.T) {
	b := newBench(t)
	p := b.publisher("one", 50)
	epoch, err := p.lease.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.append(5)
	b.exec("UPDATE s.lease SET epoch = epoch + 1, holder = 'two'")
	if _, err := p.batch(t.Context(), epoch); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("batch: %v", err)
	}
	if n := b.left(); n != 5 {
		t.Errorf("%d of 5 events are left", n)
	}
}

// While the broker refuses, events stay; afterwards all come, in order.
func TestABrokerThatIsAway(t *testing.T) {
	b := newBench(t)
	b.needMemory()
	var refused atomic.Int32
	b.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		if refused.Add(1) > 3 {
			return nil, nil, false
		}
		return nil, errors.New("away"), true
	})
	b.append(20)
	b.start(b.publisher("one", 50))
	b.until("the broker was asked", func() bool { return refused.Load() >= 1 })
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	if refused.Load() <= 3 {
		t.Error("the broker refused nothing")
	}
	ascending(t, b.published(20), 20)
}

// What a transaction with an earlier number commits later is not skipped.
func TestALateCommitIsNotSkipped(t *testing.T) {
	b := newBench(t)
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.n = 100
	late := schemas.Message{ID: "id-1", Topic: schemas.StatusChangedTopic, Key: "late", Stage: "test", Time: time.Unix(1, 0), Body: &schemas.StatusChanged{Entity: schemas.EntityFile, Number: 1}}
	if err := b.outbox.Append(t.Context(), tx, late); err != nil {
		t.Fatal(err)
	}
	b.append(5)
	b.start(b.publisher("one", 50))
	b.until("the outbox is empty", func() bool { return b.left() == 0 })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until("the late event is out", func() bool { return b.left() == 0 })
	if got := b.published(6); len(got["late"]) != 1 {
		t.Errorf("published: %v", got)
	}
}
