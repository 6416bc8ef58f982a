package scale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/producers/publish"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/test/wait"
)

const (
	outboxKeys    = 64
	outboxWriters = 8
	// backlog is how many events may wait, where whoever publishes gets less of a busy
	// machine than those who write: more would be another reason for a large table.
	backlog = 10_000
	// outboxMost is how large the table may become, in bytes, with its indexes:
	// room for the backlog and for what is deleted between two vacuums.
	outboxMost = 6_000_000
)

// outboxBench is control's outbox, a broker, and what reads its topic.
type outboxBench struct {
	t       *testing.T
	pool    *pgxpool.Pool
	codec   *schemas.Codec
	connect kafka.Factory
	cfg     config.Publish

	mu   sync.Mutex
	last map[string]int64 // by key: the number read last
	read atomic.Int64
}

func newOutboxBench(t *testing.T) *outboxBench {
	t.Helper()
	b := &outboxBench{t: t, last: map[string]int64{}, cfg: config.Default().Publish}
	var err error
	if b.pool, err = pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "bench", outboxWriters+4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	b.exec("CREATE TABLE numbers (key int PRIMARY KEY, last bigint NOT NULL)")
	b.exec("INSERT INTO numbers SELECT k, 0 FROM generate_series(0, $1 - 1) k", outboxKeys)
	b.codec = schemastest.Codec(t)
	b.connect = kafka.NewFactory(config.Kafka{}, enginetest.Cluster(t).ListenAddrs(), slog.New(slog.DiscardHandler))
	client := b.client()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 3, 1, nil, kafka.TopicName("p", schemas.StatusChangedTopic)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *outboxBench) client(extra ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	c, err := b.connect(extra...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *outboxBench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// publisher runs a publisher on a pool of its own until the test ends.
func (b *outboxBench) publisher() {
	b.t.Helper()
	cfg := b.pool.Config()
	cfg.ConnConfig.RuntimeParams["application_name"] = "publisher"
	pool, err := pgxpool.NewWithConfig(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	p := publish.New(b.cfg, publish.Deps{Prefix: "p", Schema: control.Schema, Pool: pool, Client: b.client(), Holder: "one",
		Log: slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Metrics: prometheus.NewRegistry()})
	b.role(p.Run)
}

func (b *outboxBench) role(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			b.t.Error(err)
		}
	}()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// reader reads what is published: each key's numbers must come one by one, which
// shows that they are in order, all there, and there once.
func (b *outboxBench) reader() {
	client := b.client(kgo.ConsumeTopics(kafka.TopicName("p", schemas.StatusChangedTopic)))
	b.role(func(ctx context.Context) error {
		for {
			fetches := client.PollFetches(ctx)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was told to end
			}
			for _, r := range fetches.Records() {
				m, err := b.codec.Decode(kafka.FromKgo(r))
				if err != nil {
					return err
				}
				n := m.Body.(*schemas.StatusChanged).Number
				b.mu.Lock()
				if last := b.last[m.Key]; n != last+1 || m.ID != fmt.Sprint(m.Key, "/", n) {
					b.mu.Unlock()
					return fmt.Errorf("event %s, number %d, comes after number %d of %s", m.ID, n, last, m.Key)
				}
				b.last[m.Key] = n
				b.mu.Unlock()
				b.read.Add(1)
			}
		}
	})
}

var errUndone = errors.New("undone on purpose")

// write adds n events of one key in one transaction, under the lock of the key's
// row. One transaction in a hundred stays open for a while, when its rows have
// their ids already, and as many are undone.
func (b *outboxBench) write(ctx context.Context, key, n, chance int) error {
	err := pg.InTx(ctx, b.pool, func(tx pgx.Tx) error {
		var last int64
		if err := tx.QueryRow(ctx, "UPDATE numbers SET last = last + $2 WHERE key = $1 RETURNING last - $2", key, n).Scan(&last); err != nil {
			return err
		}
		var events []schemas.Message
		name := fmt.Sprint("key-", key)
		for i := range n {
			number := last + int64(i) + 1
			events = append(events, schemas.Message{ID: fmt.Sprint(name, "/", number), Topic: schemas.StatusChangedTopic, Key: name, Stage: "test", Subject: "add/" + name + ".zip",
				Time: time.Unix(number, 0), Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: schemas.LiveRun, Centre: "H", Source: "source"}, Entity: schemas.EntityFile,
					Phase: string(schemas.Download), Status: string(schemas.Running), Number: number}})
		}
		if err := (outbox.Outbox{Schema: control.Schema, Codec: b.codec}).Append(ctx, tx, events...); err != nil {
			return err
		}
		switch chance {
		case 0:
			_, err := tx.Exec(ctx, "SELECT pg_sleep(0.02)")
			return err
		case 1:
			return errUndone
		}
		return nil
	})
	if errors.Is(err, errUndone) {
		return nil
	}
	return err
}

// Very many events of concurrent writers go through control's outbox: each key's
// in order and once, while its table stays small, however much has gone through.
func TestOutboxOfManyEvents(t *testing.T) {
	b := newOutboxBench(t)
	total := int64(number(t, "TRIBUTARY_SCALE_EVENTS", 60_000))
	b.publisher()
	b.reader()
	began := time.Now()
	var given atomic.Int64
	var g sync.WaitGroup
	for w := range outboxWriters {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		g.Go(func() {
			for given.Load() < total && t.Context().Err() == nil && !t.Failed() {
				if given.Load()-b.read.Load() > backlog {
					time.Sleep(time.Millisecond) // not to wait for something: to write less
					continue
				}
				n, chance := 1+rng.IntN(50), rng.IntN(100)
				if err := b.write(t.Context(), rng.IntN(outboxKeys), n, chance); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				if chance != 1 {
					given.Add(int64(n))
				}
			}
		})
	}
	var most, dead int64
	b.role(func(ctx context.Context) error {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			var size, d int64
			err := b.pool.QueryRow(ctx, "SELECT pg_total_relation_size('control.outbox'), coalesce((SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'control.outbox'::regclass), 0)").Scan(&size, &d)
			if err != nil {
				return err
			}
			most, dead = max(most, size), max(dead, d)
		}
	})
	g.Wait()
	wrote := time.Since(began)
	eventually(t, 5*time.Minute, func() string {
		if t.Failed() {
			return ""
		}
		if n := b.read.Load(); n != given.Load() {
			return fmt.Sprintf("%d of %d events are there", n, given.Load())
		}
		return ""
	})
	took := time.Since(began)
	var left, sum int64
	if err := b.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM control.outbox), (SELECT sum(last) FROM numbers)").Scan(&left, &sum); err != nil {
		t.Fatal(err)
	}
	if sum != given.Load() {
		t.Errorf("%d events were committed, and %d written", sum, given.Load())
	}
	eventually(t, wait.Patience(), func() string {
		if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM control.outbox").Scan(&left); err != nil || left > 0 {
			return fmt.Sprintf("%d rows are left in the outbox: %v", left, err)
		}
		return ""
	})
	var vacuums string
	if err := b.pool.QueryRow(t.Context(), "SELECT vacuum_count || ' by the publisher, ' || autovacuum_count || ' by autovacuum' FROM pg_stat_user_tables WHERE relid = 'control.outbox'::regclass").Scan(&vacuums); err != nil {
		t.Fatal(err)
	}
	t.Logf("vacuums: %s", vacuums)
	// A table that is not vacuumed meanwhile would have all rows in it.
	if most > outboxMost {
		t.Errorf("the outbox grew to %.1f MB, more than %.1f", float64(most)/1e6, float64(outboxMost)/1e6)
	}
	t.Logf("%d events: written in %s, published and read in %s (%.0f/s); the outbox was at most %.1f MB, %d rows of it dead", sum, wrote.Round(time.Millisecond), took.Round(time.Millisecond),
		float64(sum)/took.Seconds(), float64(most)/1e6, dead)
}

// idleEach is how often an idle publisher may ask the database in a second: once
// for rows that nobody announced, every third second for its lease, and as often
// whether the connection still lives.
const idleEach = 4

// A publisher that has nothing to do asks seldom: counted by Postgres, from
// another database.
func TestOutboxAtRest(t *testing.T) {
	b := newOutboxBench(t)
	b.publisher()
	b.reader()
	if err := b.write(t.Context(), 1, 3, 50); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait.Patience(), func() string {
		if b.read.Load() != 3 {
			return "the first events are not there"
		}
		return ""
	})
	observer, err := pg.Open(t.Context(), enginetest.Postgres(t), "observer", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(observer.Close)
	transactions := func() (n int64) {
		t.Helper()
		err := observer.QueryRow(t.Context(), "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", b.pool.Config().ConnConfig.Database).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	reach := func(n int64) time.Time {
		for transactions() < n {
			select {
			case <-t.Context().Done():
				t.Fatal("the publisher asks nothing any more")
			case <-time.After(20 * time.Millisecond):
			}
		}
		return time.Now()
	}
	b.pool.Close()
	// Connections report what they did with a delay, so a stretch may hold older
	// ones. The slower the machine, the less is asked: only too fast is wrong.
	eventually(t, wait.Patience(), func() string {
		from := transactions()
		began := reach(from)
		reach(from + 10)
		each := 10 / time.Since(began).Seconds()
		if each > idleEach {
			return fmt.Sprintf("an idle publisher asks %.1f times a second, more than %d", each, idleEach)
		}
		t.Logf("an idle publisher asks %.0f times a minute", 60*each)
		return ""
	})
}

// Whenever the connection that listens is cut, what was announced meanwhile is
// published all the same, though the publisher looks by itself only once an hour.
func TestOutboxListensAgain(t *testing.T) {
	b := newOutboxBench(t)
	b.cfg.Interval = config.Duration(time.Hour)
	b.publisher()
	b.reader()
	var want int64
	for range 5 {
		eventually(t, wait.Patience(), func() string {
			var listening int
			err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'publisher'
				AND query LIKE 'LISTEN%' AND state = 'idle'`).Scan(&listening)
			if err != nil || listening != 1 {
				return fmt.Sprintf("%d connections listen: %v", listening, err)
			}
			return ""
		})
		b.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'publisher' AND query LIKE 'LISTEN%'`)
		if err := b.write(t.Context(), 1, 3, 50); err != nil {
			t.Fatal(err)
		}
		want += 3
		eventually(t, wait.Patience(), func() string {
			if n := b.read.Load(); n != want {
				return fmt.Sprintf("%d of %d events are there", n, want)
			}
			return ""
		})
	}
}
