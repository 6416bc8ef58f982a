// Package insert loads documents into the warehouse, in exactly the order that
// document.ordered says: one position after another, and only the next.
//
// One member acts at a time, by a lease in the warehouse's database. A
// transaction holds the rows of some positions, what the world is told of them
// (in the warehouse's outbox), and the next position, so that a crash repeats
// or loses nothing. Every claim that a document makes on a natural key is kept;
// which one is current follows from the set of claims and withdrawals, whatever
// came first (versionkey.go, currency.go).
package insert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/internal/retry"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

// Stage is the name that insert's events carry.
const Stage = "insert"

// Bounds that need no setting.
const (
	smallDocument  = 2 << 20  // a larger document is read while it is written
	aheadBytes     = 16 << 20 // of documents read ahead
	aheadPositions = 1024
	chunkBytes     = 2 << 20 // of one COPY while a document is read
	maxErrors      = 100     // told of one document; the rest is counted
	eventChunk     = 1000    // documents whose events are made at once
	maxTries       = 10      // deaths of members at one position before it is poison
	maxPanics      = 3
	deathPause     = 100 * time.Millisecond // before the second try, doubling
	deathPauseMax  = 30 * time.Second
)

// Config is what insert needs.
type Config struct {
	Insert  config.Insert
	Prefix  string // of the topics' names
	Profile string // whose data checks, context and overview run at batch ends
	Holder  string // names this member in the lease: host, process and role
}

// Deps are the services that insert works with.
type Deps struct {
	Pool    *pgxpool.Pool // of the warehouse's database
	Blobs   blob.Store
	Mapping *mapping.Mapping
	Codec   *schemas.Codec
	Connect kafka.Factory
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Inserter applies positions. New makes one.
type Inserter struct {
	cfg        Config
	d          Deps
	statements warehouse.Statements
	metrics    *metrics
	ahead      *semaphore.Weighted
	workers    *semaphore.Weighted
	claims     []*mapping.Table // tables with claims
	now        func() time.Time
	after      func(time.Duration) <-chan time.Time
}

// New makes an inserter; it does nothing before Run. It fails only for a
// profile without SQL for batch ends.
func New(cfg Config, d Deps) (*Inserter, error) {
	statements, err := warehouse.BatchEnd(cfg.Profile)
	if err != nil {
		return nil, err
	}
	fill := config.Default().Insert
	if cfg.Insert.Batch <= 0 {
		cfg.Insert.Batch = fill.Batch
	}
	if cfg.Insert.BatchRows <= 0 {
		cfg.Insert.BatchRows = fill.BatchRows
	}
	if cfg.Insert.Parallelism <= 0 {
		cfg.Insert.Parallelism = fill.Parallelism
	}
	if cfg.Insert.LeaseTTL <= 0 {
		cfg.Insert.LeaseTTL = fill.LeaseTTL
	}
	in := &Inserter{cfg: cfg, d: d, statements: statements, metrics: newMetrics(d.Metrics),
		ahead: semaphore.NewWeighted(aheadBytes), workers: semaphore.NewWeighted(int64(cfg.Insert.Parallelism)), now: time.Now, after: time.After}
	for _, t := range d.Mapping.Tables {
		if t.Claims {
			in.claims = append(in.claims, t)
		}
	}
	return in, nil
}

// AppliedPosition is the last position that the warehouse holds; 0 before the
// first.
func AppliedPosition(ctx context.Context, q pg.Querier) (int64, error) {
	var next int64
	if err := q.QueryRow(ctx, "SELECT next_position FROM warehouse.state").Scan(&next); err != nil {
		return 0, fmt.Errorf("read the warehouse's position: %w", err)
	}
	return next - 1, nil
}

// Run applies positions until ctx ends, and returns nil then. Whatever stops
// insertion is logged, shown by the metric tributary_insert_stopped, and tried
// again for ever, with growing pauses.
func (in *Inserter) Run(ctx context.Context) error {
	pauses := retry.Policy{Base: 500 * time.Millisecond, Max: 30 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		before := in.metrics.applied()
		err := in.lease().Hold(ctx, in.session)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil || errors.Is(err, pg.ErrLeaseLost) {
			continue
		}
		if in.metrics.applied() > before {
			failures = 0
		}
		failures++
		in.metrics.stopped.Set(1)
		pause := pauses.Pause(failures)
		in.d.Log.Error("insertion has stopped for all centres; it is tried again", "error", err, "failures", failures, "pause", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (in *Inserter) lease() pg.Lease {
	return pg.Lease{Pool: in.d.Pool, Schema: warehouse.Schema, Name: Stage, Holder: in.cfg.Holder, TTL: in.cfg.Insert.LeaseTTL.D()}
}

// progress is how far the warehouse has come.
type progress struct {
	position int64 // to be applied next
	offset   int64 // to be read next
}

func (in *Inserter) progress(ctx context.Context, q pg.Querier, lock string) (progress, error) {
	var p progress
	err := q.QueryRow(ctx, "SELECT next_position, next_offset FROM warehouse.state "+lock).Scan(&p.position, &p.offset)
	if err != nil {
		return p, fmt.Errorf("read the warehouse's position: %w", err)
	}
	return p, nil
}

// session applies positions while the lease is held.
func (in *Inserter) session(ctx context.Context, epoch int64) error {
	at, err := in.progress(ctx, in.d.Pool, "")
	if err != nil {
		return err
	}
	in.d.Log.Info("insertion begins", "next_position", at.position, "next_offset", at.offset, "epoch", epoch)
	in.metrics.position.Set(float64(at.position - 1))
	feed := in.read(ctx, at)
	defer feed.stop()
	return in.applyAll(ctx, epoch, at, feed)
}

// applyAll applies what feed brings, as many positions at a time as are there
// and allowed. After a death at a position it goes one by one, until it is past
// the place.
func (in *Inserter) applyAll(ctx context.Context, epoch int64, at progress, feed *feed) error {
	noted, careful := false, int64(0)
	for {
		group, err := in.gather(ctx, feed)
		if err != nil {
			return err
		}
		if !noted {
			if careful, err = in.begin(ctx, at.position); err != nil {
				release(group)
				return err
			}
		}
		parts := [][]*item{group}
		if group[0].ev.Position < careful {
			parts = parts[:0]
			for i := range group {
				parts = append(parts, group[i:i+1])
			}
		}
		for _, part := range parts {
			if part[0].ev.Position < careful && noted {
				if _, err := in.begin(ctx, at.position); err != nil {
					release(group)
					return err
				}
			}
			noted = true
			if err := in.guarded(ctx, epoch, at, part); err != nil {
				release(group)
				if !errors.Is(err, errPanic) {
					err = errors.Join(err, in.forget(at.position)) // no fault of the position's
				}
				return err
			}
			last := part[len(part)-1]
			at = progress{position: last.ev.Position + 1, offset: last.offset + 1}
			in.metrics.stopped.Set(0)
		}
		release(group)
	}
}

// gather waits for the next position, and takes what else is ready.
func (in *Inserter) gather(ctx context.Context, feed *feed) ([]*item, error) {
	var group []*item
	var rows int64
	for len(group) < in.cfg.Insert.Batch && rows < int64(in.cfg.Insert.BatchRows) {
		var it *item
		var ok bool
		if len(group) == 0 {
			select {
			case it, ok = <-feed.items:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		} else {
			select {
			case it, ok = <-feed.items:
			default:
				return group, nil
			}
		}
		if !ok {
			if len(group) > 0 {
				return group, nil // the cause comes with the next call
			}
			return nil, feed.err
		}
		select {
		case <-it.ready:
		case <-ctx.Done():
			release(append(group, it))
			return nil, context.Cause(ctx)
		}
		if it.err != nil {
			err := it.err
			release(append(group, it))
			return nil, err
		}
		group = append(group, it)
		if it.done != nil {
			rows += it.done.rows
		}
		if it.large() {
			return group, nil
		}
	}
	return group, nil
}

// errPanic marks an error that was a panic.
var errPanic = errors.New("panic")

// guarded applies a group in one transaction and turns a panic into an error.
func (in *Inserter) guarded(ctx context.Context, epoch int64, at progress, group []*item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w at positions %d to %d: %v", errPanic, group[0].ev.Position, group[len(group)-1].ev.Position, p)
		}
	}()
	return in.apply(ctx, epoch, at, group)
}

// apply is the transaction of a group.
func (in *Inserter) apply(ctx context.Context, epoch int64, at progress, group []*item) error {
	w := &writer{in: in, applied: in.now()}
	err := pg.InTx(ctx, in.d.Pool, func(tx pgx.Tx) error {
		w.tx = tx
		// Plans must not depend on statistics of tables that have just begun
		// to fill.
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off; SET LOCAL jit = off"); err != nil {
			return fmt.Errorf("prepare transaction: %w", err)
		}
		stored, err := in.progress(ctx, tx, "FOR UPDATE")
		if err != nil {
			return err
		}
		if stored.position != at.position {
			return fmt.Errorf("the warehouse is at position %d, not %d: %w", stored.position, at.position, pg.ErrMoved)
		}
		for i, it := range group {
			if it.ev.Position != at.position+int64(i) {
				return fmt.Errorf("position %d does not follow %d", it.ev.Position, at.position+int64(i)-1)
			}
			if err := w.take(ctx, it); err != nil {
				return fmt.Errorf("position %d (%s of %s): %w", it.ev.Position, it.ev.What, it.subject(), err)
			}
		}
		if err := w.flush(ctx); err != nil {
			return fmt.Errorf("positions %d to %d: %w", at.position, at.position+int64(len(group))-1, err)
		}
		if err := pg.AppendOutbox(ctx, tx, warehouse.Schema, w.records); err != nil {
			return err
		}
		last := group[len(group)-1]
		_, err = tx.Exec(ctx, "UPDATE warehouse.state SET next_position = $1, next_offset = $2, epoch = $3", last.ev.Position+1, last.offset+1, epoch)
		if err != nil {
			return fmt.Errorf("store the position: %w", err)
		}
		if _, err := tx.Exec(ctx, "DELETE FROM warehouse.try WHERE position <= $1", last.ev.Position); err != nil {
			return fmt.Errorf("clear tries: %w", err)
		}
		return in.lease().Check(ctx, tx, epoch)
	})
	if err != nil {
		return err
	}
	in.metrics.count(group, w.rows)
	return nil
}
