// Package insert loads documents into the warehouse, in exactly the order that
// document.ordered says: one position after another, and only the next.
//
// One member acts at a time, by a lease in the warehouse's database. A
// transaction holds the rows of some positions, what the world is told of them
// (in the warehouse's outbox), and the next position, so that a crash repeats
// or loses nothing. The work of a batch's end, checks, context and overview of
// its centre, is a transaction of its own beside them: other centres' documents
// needn't wait for it (ends.go).
//
// Every claim that a document makes on a natural key is kept; which one is
// current follows from the set of claims and withdrawals, whatever came first
// (elect.go, currency.go).
package insert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"tributary/internal/backoff"
	"tributary/internal/blob"
	"tributary/internal/chain"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/internal/profile"
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
	chunkBytes     = 4 << 20  // of rows written at once while a document is read
	maxRecord      = 32 << 20 // of rows of a record that are kept until it has been read
	maxShared      = 1 << 16  // keys of a large document that others claim, too, which are noted
	maxErrors      = 100      // told of one document; the rest is counted
	eventChunk     = 1000     // documents whose events are made at once
	maxTries       = 10       // deaths of members at one position before it is poison
	maxPanics      = 3
	maxEnds        = 64                     // batch ends that may be due while others load
	deathPause     = 100 * time.Millisecond // before the second try, doubling
	deathPauseMax  = 30 * time.Second
)

// Deps are what an Inserter works with.
type Deps struct {
	Prefix     string        // of the topics' names
	Holder     string        // names this member in the lease: host, process and role
	Pool       *pgxpool.Pool // of the warehouse's database
	Blobs      blob.Store
	Damaged    blob.Report // tells control of stored bytes that can't be used; nil: nobody can have them anew
	Mapping    *mapping.Mapping
	Statements *warehouse.Statements // what runs at batch ends
	Versions   profile.Versions      // of Mapping and Statements, told with what they judge
	Codec      *schemas.Codec
	// LearnDecisions has Decided know all that was decided by now about records of
	// document.ordered; it is called before any is read. Both may be nil.
	LearnDecisions func(context.Context) error
	Decided        chain.Decided
	Connect        kafka.Factory
	Log            *slog.Logger
	Metrics        prometheus.Registerer
}

// Inserter applies positions.
type Inserter struct {
	cfg     config.Insert
	deps    Deps
	metrics *metrics

	settings string // of transactions, besides those that are always made
	target   target
	ahead    *semaphore.Weighted
	workers  *semaphore.Weighted
	renewed  atomic.Pointer[time.Time] // when the lease was asked for last
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
}

// New makes an Inserter; limits that are 0 get their defaults. It fails only for
// checks that don't fit the mapping.
func New(cfg config.Insert, d Deps) (*Inserter, error) {
	if err := d.Statements.Fit(d.Mapping); err != nil {
		return nil, err
	}
	fill := config.Default().Insert
	if cfg.Batch <= 0 {
		cfg.Batch = fill.Batch
	}
	if cfg.BatchRows <= 0 {
		cfg.BatchRows = fill.BatchRows
	}
	if cfg.Parallelism <= 0 {
		cfg.Parallelism = fill.Parallelism
	}
	if cfg.LeaseTTL <= 0 {
		cfg.LeaseTTL = fill.LeaseTTL
	}
	return &Inserter{cfg: cfg, deps: d, target: target{first: true}, metrics: newMetrics(d.Metrics), ahead: semaphore.NewWeighted(aheadBytes),
		workers: semaphore.NewWeighted(int64(cfg.Parallelism)), now: time.Now, after: time.After}, nil
}

// AppliedPosition is the last position up to which all are applied, batch ends
// included; 0 before the first.
func AppliedPosition(ctx context.Context, q pg.Querier) (int64, error) {
	var next int64
	err := q.QueryRow(ctx, "SELECT least(next_position, (SELECT min(position) FROM warehouse.batch_end)) FROM warehouse.state").Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("read the warehouse's position: %w", err)
	}
	return next - 1, nil
}

// FailedPhase is the earliest phase in which a document of some batches failed:
// before it was ordered, while it was loaded, or by the checks of its data that
// hold now. Empty: none did.
func FailedPhase(ctx context.Context, q pg.Querier, batches []string) (first schemas.Phase, err error) {
	phases, err := pg.List(ctx, q, "ask the warehouse which documents failed", pgx.RowTo[string], `SELECT DISTINCT phase FROM warehouse.document WHERE batch = ANY($1) AND state = 'failed'
		UNION SELECT $2 WHERE EXISTS (SELECT FROM warehouse.document d JOIN warehouse.finding f ON f.position = d.position
			WHERE d.batch = ANY($1) AND f.open AND f.level = 'error')`, batches, string(schemas.Data))
	if err != nil {
		return "", err
	}
	for _, p := range phases {
		if p := schemas.Phase(p); first == "" || p.ID() < first.ID() {
			first = p
		}
	}
	return first, nil
}

// Run applies positions until ctx ends, and returns nil then. Whatever stops
// insertion is logged, shown by the metric tributary_insert_stopped, and tried
// again for ever, with growing pauses.
func (in *Inserter) Run(ctx context.Context) error {
	pauses := backoff.Exponential{Base: 500 * time.Millisecond, Max: 30 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		before := in.metrics.applied()
		lease := in.lease()
		lease.Renewed = func(asked time.Time) { in.renewed.Store(&asked) }
		err := lease.Hold(ctx, in.session)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // work that ended because it was told to has not failed
		}
		if err == nil || errors.Is(err, pg.ErrLeaseLost) {
			continue
		}
		if in.metrics.applied() > before {
			failures = 0
		}
		failures++
		in.metrics.stopped.Set(1)
		pause := pauses.Jittered(failures)
		in.deps.Log.Error("insertion has stopped for all centres; it is tried again", "error", err, "failures", failures, "pause", pause)
		_ = backoff.Sleep(ctx, pause)
	}
	return nil
}

func (in *Inserter) lease() pg.Lease {
	return pg.Lease{Pool: in.deps.Pool, Schema: warehouse.Schema, Name: Stage, Holder: in.deps.Holder, TTL: in.cfg.LeaseTTL.D()}
}

// progress is how far the warehouse has come.
type progress struct {
	position int64 // to be applied next
	offset   int64 // to be read next
	head     chain.Head
}

func (in *Inserter) progress(ctx context.Context, q pg.Querier, lock string) (progress, error) {
	var p progress
	err := pg.Row(ctx, q, "read the warehouse's position", []any{&p.position, &p.offset}, "SELECT next_position, next_offset FROM warehouse.state "+lock)
	return p, err
}

// session applies positions while the lease is held, and says why it stops
// when another member has taken the lease over.
func (in *Inserter) session(ctx context.Context, epoch int64) error {
	err := in.insert(ctx, epoch)
	if err == nil || !in.lost(ctx, err, epoch) {
		return in.sayStopped(ctx, epoch, err)
	}
	in.sayLost(ctx, epoch, err)
	return pg.ErrLeaseLost
}

// sayLost says that the lease is another's, and why. As long as this process
// renewed it in time nobody had to take it over: a rebuild and a verification of
// the warehouse do so for a moment.
func (in *Inserter) sayLost(ctx context.Context, epoch int64, err error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	holder := "nobody knows who"
	if err := in.deps.Pool.QueryRow(ctx, "SELECT holder FROM warehouse.lease WHERE name = $1", Stage).Scan(&holder); err != nil {
		in.deps.Log.Debug("who holds insert's lease can't be asked", "error", err)
	}
	args := []any{"holder", holder, "epoch", epoch, "lease", in.cfg.LeaseTTL.D(), "error", err}
	if renewed := in.renewed.Load(); renewed != nil && time.Since(*renewed) < in.cfg.LeaseTTL.D() {
		in.deps.Log.Info("insertion pauses in this process: its lease was taken over while it held it, as warehouse rebuild and warehouse verify do for a moment. "+
			"What was under way here has changed nothing; this process now waits for its turn", args...)
		return
	}
	in.deps.Log.Warn("insertion stops in this process: another member has taken over, since this one was stopped or cut off for longer than the lease lasts. "+
		"What was under way here has changed nothing; this process now waits for its turn", args...)
}

// lost tells whether an error came since another member has held the lease
// meanwhile: a late member is refused in many ways, depending on where it went
// on. It only looks: a lease taken here would be held for nothing. Whoever
// renews the lease may find out first, while this looks.
func (in *Inserter) lost(ctx context.Context, err error, epoch int64) bool {
	told := func() bool { return errors.Is(context.Cause(ctx), pg.ErrLeaseLost) }
	if errors.Is(err, pg.ErrLeaseLost) || told() {
		return true
	}
	err = pg.InTx(ctx, in.deps.Pool, func(tx pgx.Tx) error { return in.lease().Check(ctx, tx, epoch) })
	return errors.Is(err, pg.ErrLeaseLost) || told()
}

// insert applies positions until ctx ends.
func (in *Inserter) insert(ctx context.Context, epoch int64) error {
	if err := in.learn(ctx); err != nil {
		return err
	}
	at, err := in.progress(ctx, in.deps.Pool, "")
	if err != nil {
		return err
	}
	if err := in.chooseCompression(ctx); err != nil {
		return err
	}
	if at.head, err = in.head(ctx, at); err != nil {
		return err
	}
	in.deps.Log.Info("insertion begins", "next_position", at.position, "next_offset", at.offset, "epoch", epoch)
	in.metrics.position.Set(float64(at.position - 1))
	// Connections of their own: a connection that has never seen the checks
	// takes longer to plan than to run them.
	loading, err := in.deps.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the warehouse: %w", err)
	}
	defer loading.Release()
	ending, err := in.deps.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the warehouse: %w", err)
	}
	defer ending.Release()
	if err := in.finishEnds(ctx, ending, epoch); err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	ends := newBatchEnds(in.deps.Mapping.Separate())
	work.Go(func() error { return in.workOff(ctx, ending, epoch, ends) })
	work.Go(func() error {
		feed := in.read(ctx, at)
		defer feed.stop()
		l := loader{in: in, db: loading, epoch: epoch, at: at, ends: ends}
		return l.applyAll(ctx, feed)
	})
	return work.Wait()
}
