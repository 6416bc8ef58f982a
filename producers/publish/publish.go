// Package publish sends what an outbox holds to Kafka, in order, and deletes
// what the broker has acknowledged. One publisher at a time acts on an outbox,
// by lease; what a late one still sends is a repeat with the same ids.
package publish

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/pg"
)

// Publisher empties one schema's outbox.
type Publisher struct {
	cfg    config.Publish
	prefix string
	schema string
	pool   *pgxpool.Pool
	client *kgo.Client
	lease  pg.Lease
	log    *slog.Logger

	published prometheus.Counter
	depth     prometheus.Gauge

	deleted, bytes int // rows deleted since the last vacuum, and the size of their events
}

// After so many deleted rows, or bytes of events in them, the outbox is vacuumed.
const (
	vacuumRows  = 5000
	vacuumBytes = 64 << 20
)

// New returns a publisher of the outbox of a schema; nothing runs yet. No other
// may produce with its client, which forgets topics that were made anew.
func New(cfg config.Publish, prefix, schema string, pool *pgxpool.Pool, client *kgo.Client, holder string, log *slog.Logger, reg prometheus.Registerer) *Publisher {
	labels := prometheus.Labels{"outbox": schema}
	p := &Publisher{cfg: cfg, prefix: prefix, schema: schema, pool: pool, client: client, log: log.With("outbox", schema),
		lease:     pg.Lease{Pool: pool, Schema: schema, Name: "publish", Holder: holder, TTL: cfg.LeaseTTL.D()},
		published: prometheus.NewCounter(prometheus.CounterOpts{Name: "tributary_outbox_published_total", Help: "Events acknowledged by the broker.", ConstLabels: labels}),
		depth:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_outbox_batch_events", Help: "Events in the batch read last; a full batch means that more wait.", ConstLabels: labels}),
	}
	reg.MustRegister(p.published, p.depth)
	return p
}

// Run publishes while it holds the lease, until ctx ends. A database or broker
// that is away is waited for.
func (p *Publisher) Run(ctx context.Context) error {
	p.lease.Keep(ctx, func(err error) { p.log.Warn("publishing is held up; trying again", "error", err) }, p.publish)
	return nil
}

func (p *Publisher) publish(ctx context.Context, epoch int64) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("listen to the outbox: %w", err)
	}
	defer func() {
		// A listening connection is not fit for anybody else.
		raw := conn.Hijack()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		raw.Close(closing)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+p.schema+"_outbox"); err != nil {
		return fmt.Errorf("listen to the outbox: %w", err)
	}
	woken, cut, stop := listen(ctx, conn.Conn())
	defer stop()
	idle := time.NewTimer(p.cfg.Interval.D())
	defer idle.Stop()
	for {
		n, err := p.batch(ctx, epoch)
		if err != nil {
			return err
		}
		p.vacuum(ctx)
		if n >= p.cfg.Batch {
			continue
		}
		idle.Reset(p.cfg.Interval.D())
		select {
		case <-ctx.Done():
			return nil
		case <-woken:
		case <-idle.C:
		case err := <-cut:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("wait for the outbox: %w", err)
		}
	}
}

// listen takes notifications as they come, also while a batch is under way: a
// server that cannot get rid of them waits in a transaction, which keeps every
// deleted row of the database from being vacuumed. Any number of them wake once;
// cut gets the error that ends the listening. stop waits for its end.
func listen(ctx context.Context, conn *pgx.Conn) (woken <-chan struct{}, cut <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	wake, failed, done := make(chan struct{}, 1), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				failed <- err
				return
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	return wake, failed, func() {
		cancel()
		<-done
	}
}

// batch sends the oldest events and deletes their rows once all are
// acknowledged. It returns how many they were.
func (p *Publisher) batch(ctx context.Context, epoch int64) (int, error) {
	ids, records, err := p.read(ctx)
	if err != nil || len(ids) == 0 {
		p.depth.Set(0)
		return 0, err
	}
	p.depth.Set(float64(len(records)))
	crashpoint.At("publish", p.schema, "acknowledged", "before")
	if err := produce(ctx, p.client, records); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	crashpoint.At("publish", p.schema, "acknowledged", "after")
	err = pg.InTx(ctx, p.pool, func(tx pgx.Tx) error {
		if err := p.lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		return pg.DeleteOutbox(ctx, tx, p.schema, ids)
	})
	if err != nil {
		return 0, fmt.Errorf("delete what was published: %w", err)
	}
	p.published.Add(float64(len(records)))
	p.deleted += len(ids)
	for _, r := range records {
		p.bytes += len(r.Value)
	}
	return len(records), nil
}

// vacuum keeps the outbox small. Without it everything works on, for longer
// reads and on more disk, until autovacuum has come: so an error stops nothing.
func (p *Publisher) vacuum(ctx context.Context) {
	if p.deleted < vacuumRows && p.bytes < vacuumBytes {
		return
	}
	p.deleted, p.bytes = 0, 0
	if err := pg.VacuumOutbox(ctx, p.pool, p.schema); err != nil && ctx.Err() == nil {
		p.log.Warn("the outbox could not be vacuumed; autovacuum will do it", "error", err)
	}
}

func (p *Publisher) read(ctx context.Context) ([]int64, []*kgo.Record, error) {
	ids, events, err := pg.ReadOutbox(ctx, p.pool, p.schema, p.cfg.Batch)
	if err != nil {
		return nil, nil, err
	}
	records := make([]*kgo.Record, len(events))
	for i, e := range events {
		records[i] = kafka.ToKgo(p.prefix, e)
	}
	return ids, records, nil
}
