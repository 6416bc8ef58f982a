// Package publish sends what an outbox holds to Kafka, in order, and deletes
// what the broker has acknowledged. One publisher at a time acts on an outbox,
// by lease; what a late one still sends is a repeat with the same ids.
//
// A broker that is away is waited for. What is refused for good is told in fewer
// words or ends by name what waits for it, and is kept as a letter; the rest goes
// on. A topic that takes nothing, for whatever other reason, holds up no other.
package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// Lease names the lease under which one member publishes an outbox; it lies in the
// outbox's schema.
const Lease = "publish"

// Deps are what a Publisher works with.
type Deps struct {
	Prefix string // of topics
	Schema string // whose outbox is published
	Pool   *pgxpool.Pool
	// Client sends what is published. No other may produce with it, since it
	// forgets topics that were made anew. It must flush by hand only
	// (kgo.ManualFlushing), or what follows a refused event on its partition may be
	// sent before it.
	Client *kgo.Client
	Holder string // names this member in the lease: host and process
	// Ends says what is told to whoever waits for an event that is refused for
	// good. Nil: nobody is told.
	Ends    outbox.Ends
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Publisher empties one schema's outbox.
type Publisher struct {
	cfg     config.Publish
	deps    Deps
	log     *slog.Logger
	lease   pg.Lease
	sender  *sender
	metrics *metrics

	deleted, bytes int // rows deleted since the last vacuum, and the size of their events

	codecOnce sync.Once
	codecs    *schemas.Codec
	codecErr  error

	unsettled *batch           // was sent, and could not be settled yet
	sentIn    int64            // the epoch in which it was
	after     int64            // rows up to here hold only events of held topics, as far as they were seen
	held      map[string]error // topics that take nothing just now, and why
	until     time.Time        // when they are tried again
	quiet     *kafka.Quiet
}

// holdPause is how long a topic that takes nothing is left alone.
const holdPause = time.Second

// After so many deleted rows, or bytes of events in them, the outbox is vacuumed.
const (
	vacuumRows  = 5000
	vacuumBytes = 64 << 20
)

// New makes a Publisher.
func New(cfg config.Publish, d Deps) *Publisher {
	return &Publisher{cfg: cfg, deps: d, log: d.Log.With("outbox", d.Schema), sender: newSender(d.Client), metrics: newMetrics(d.Metrics, d.Schema),
		lease: pg.Lease{Pool: d.Pool, Schema: d.Schema, Name: Lease, Holder: d.Holder, TTL: cfg.LeaseTTL.D()},
		held:  map[string]error{}, quiet: kafka.NewQuiet(time.Now)}
}

// Run publishes while it holds the lease, until ctx ends. A database or broker
// that is away is waited for.
func (p *Publisher) Run(ctx context.Context) error {
	p.lease.Keep(ctx, func(err error) { p.log.Warn("publishing is held up; trying again", "error", err) }, p.publish)
	return nil
}

func (p *Publisher) publish(ctx context.Context, epoch int64) error {
	p.resume() // another may have been at work meanwhile
	conn, err := p.deps.Pool.Acquire(ctx)
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
	if _, err := conn.Exec(ctx, "LISTEN "+p.deps.Schema+"_outbox"); err != nil {
		return fmt.Errorf("listen to the outbox: %w", err)
	}
	woken, cut, stop := listen(ctx, conn.Conn())
	defer stop()
	idle := time.NewTimer(p.cfg.Interval.D())
	defer idle.Stop()
	for {
		if !p.until.IsZero() && !time.Now().Before(p.until) {
			p.resume()
		}
		n, err := p.batch(ctx, epoch)
		if held := (*heldError)(nil); errors.As(err, &held) {
			if missed, due := p.quiet.Due("held"); due {
				p.log.Warn("a topic takes nothing; others go on, and it is tried again", "error", err, "not_logged", missed)
			}
		} else if err != nil {
			return err
		}
		p.vacuum(ctx)
		if n >= p.cfg.Batch {
			continue
		}
		pause := p.cfg.Interval.D()
		if !p.until.IsZero() {
			pause = min(pause, holdPause)
		}
		idle.Reset(pause)
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

// batch sends the oldest events, and takes out of the outbox what is acknowledged
// or refused for good. It returns how many it has read, also with a *heldError,
// which says what had to stay.
func (p *Publisher) batch(ctx context.Context, epoch int64) (int, error) {
	if err := p.finish(ctx, epoch); err != nil {
		return 0, err
	}
	rows, err := p.read(ctx)
	if err != nil || len(rows) == 0 {
		p.metrics.depth.Set(0)
		return 0, err
	}
	b := p.gather(rows)
	n := len(b.all())
	p.metrics.depth.Set(float64(n))
	crashpoint.At("publish", p.deps.Schema, "acknowledged", "before")
	if err := p.send(ctx, b); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	crashpoint.At("publish", p.deps.Schema, "acknowledged", "after")
	if err := p.settle(ctx, epoch, b); err != nil {
		p.unsettled, p.sentIn = b, epoch
		return 0, err
	}
	return n, p.hold(b)
}

// finish settles what was sent before and could not be settled, so that this
// process does not send it again. If another had the lease meanwhile, that one
// has sent it, or it comes again.
func (p *Publisher) finish(ctx context.Context, epoch int64) error {
	b := p.unsettled
	if b == nil {
		return nil
	}
	if epoch <= p.sentIn+1 { // epochs are given one by one
		if err := p.settle(ctx, epoch, b); err != nil {
			return err
		}
	}
	p.unsettled = nil
	return nil
}

// hold notes which topics take nothing, and reads behind what waits for them
// until they are tried again.
func (p *Publisher) hold(b *batch) error {
	if !b.remains() {
		return nil
	}
	p.after = b.rows[len(b.rows)-1].ID
	if p.until.IsZero() {
		p.until = time.Now().Add(holdPause)
	}
	if len(b.held) == 0 {
		return nil // held before
	}
	maps.Copy(p.held, b.held)
	return &heldError{b.held}
}

// resume lets topics that were held be tried again, from the oldest row on.
func (p *Publisher) resume() {
	p.after, p.held, p.until = 0, map[string]error{}, time.Time{}
}

// vacuum keeps the outbox small. Without it everything works on, for longer
// reads and on more disk, until autovacuum has come: so an error stops nothing.
func (p *Publisher) vacuum(ctx context.Context) {
	if p.deleted < vacuumRows && p.bytes < vacuumBytes {
		return
	}
	p.deleted, p.bytes = 0, 0
	if err := outbox.Vacuum(ctx, p.deps.Pool, p.deps.Schema); err != nil && ctx.Err() == nil {
		p.log.Warn("the outbox could not be vacuumed; autovacuum will do it", "error", err)
	}
}

func (p *Publisher) read(ctx context.Context) ([]outbox.Row, error) {
	return outbox.Read(ctx, p.deps.Pool, p.deps.Schema, p.after, p.cfg.Batch)
}

// codec is only needed where something is refused.
func (p *Publisher) codec() (*schemas.Codec, error) {
	p.codecOnce.Do(func() { p.codecs, p.codecErr = schemas.NewCodec() })
	return p.codecs, p.codecErr
}
