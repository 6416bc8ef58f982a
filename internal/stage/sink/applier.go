package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/backoff"
	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
)

// Range is what a batch holds of one partition.
type Range struct {
	Topic     string // logical name
	Partition int32
	From      int64 // the position before the batch: what Store.Position or the last batch said
	To        int64 // the position after it: the next offset to read
	// Records are all records of [From, To), in order and at least one.
	// Offsets without a record exist: transactions and compaction leave them.
	Records []*kgo.Record
}

// Store is a store that keeps offsets beside the results.
type Store interface {
	// Position returns the offset from which to read a partition; 0 if it was
	// never read.
	Position(ctx context.Context, topic string, partition int32) (int64, error)

	// Apply stores the results of a batch and the positions after it, all or
	// nothing. It returns pg.ErrMoved (by errors.Is) if a stored position is
	// not the range's From: then the batch is dropped and read again from
	// where the store says. After any other error the same batch comes again,
	// for ever. An error about one record is a *RecordError (by errors.As).
	Apply(ctx context.Context, batch []Range) error
}

// Config says what an Applier reads. Zero values get the defaults
// named.
type Config struct {
	Name   string // of the consumer, such as tracker
	Prefix string // of topics and groups
	Group  string // consumer group, which only shares out partitions; default Prefix.Name
	Topics []string

	MaxRecords int           // in one batch, over all partitions; default 5000
	MaxWait    time.Duration // longest wait to fill one, from its first record on; default 100ms
	Lull       time.Duration // how long nothing may come before one is applied as it is; default MaxWait / 10

	Now func() time.Time // default time.Now
}

// Applier feeds the records of its share of partitions to a Store.
type Applier struct {
	cfg     Config
	connect kafka.Factory
	store   Store
	log     *slog.Logger
	metrics *member.Metrics
	quiet   *kafka.Quiet
	client  *kgo.Client     // set once, before started is closed
	started chan struct{}   // callbacks may come before NewClient has returned
	hurried context.Context // ends when somebody waits for what there is
	hurry   func()
	joined  member.Joined
	applying,
	beginning,
	fetching member.Trouble
	logical map[string]string // by full name

	mu    sync.Mutex
	feeds map[topicPartition]*feed
}

type topicPartition struct {
	topic string // full name
	id    int32
}

// feed is one assigned partition; guarded by the applier's mutex.
type feed struct {
	topicPartition
	position  int64         // as stored
	committed int64         // to the group since the partition was assigned; -1: nothing
	records   []*kgo.Record // read and not yet in a batch
	size      int           // of them, in bytes
	applying  int           // records of it in the batch being applied
	since     time.Time     // when the oldest record in hand came
	end       int64         // of the log, as last heard; -1: not yet
	blocked   bool          // its log is not the one that was read before
}

// New makes an Applier, which does nothing until Run.
func New(cfg Config, connect kafka.Factory, store Store, log *slog.Logger, metrics *member.Metrics) *Applier {
	member.Default(&cfg.MaxRecords, 5000)
	member.Default(&cfg.MaxWait, 100*time.Millisecond)
	member.Default(&cfg.Lull, cfg.MaxWait/lullShare)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Group == "" {
		cfg.Group = kafka.GroupName(cfg.Prefix, cfg.Name)
	}
	hurried, hurry := context.WithCancel(context.Background())
	a := &Applier{
		hurried: hurried, hurry: hurry,
		cfg: cfg, connect: connect, store: store, metrics: metrics,
		log:     log.With("stage", cfg.Name),
		quiet:   kafka.NewQuiet(cfg.Now),
		started: make(chan struct{}),
		logical: map[string]string{},
		feeds:   map[topicPartition]*feed{},
	}
	for _, t := range cfg.Topics {
		a.logical[kafka.TopicName(cfg.Prefix, t)] = t
	}
	return a
}

// Run applies batches until ctx ends. A batch being applied then is cancelled
// with it: the store knows how far it came. Brokers and stores that cannot be
// reached are waited for. It may be called once, and errors only if the
// client's settings cannot work.
func (a *Applier) Run(ctx context.Context) error {
	topics := make([]string, 0, len(a.logical))
	for t := range a.logical {
		topics = append(topics, t)
	}
	life, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	client, err := a.connect(
		kgo.WithContext(life),
		kgo.ConsumerGroup(a.cfg.Group),
		kgo.ConsumeTopics(topics...),
		kgo.DisableAutoCommit(),
		// No partition of an applier rests and goes on, which would have to wait for this.
		kgo.FetchMaxWait(groupCommitInterval),
		kgo.BlockRebalanceOnPoll(), // what is polled is buffered before its partition may go
		kgo.AdjustFetchOffsetsFn(a.start),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, which map[string][]int32) {
			a.metrics.Rebalanced(a.cfg.Name, "assigned", which)
		}),
		kgo.OnPartitionsRevoked(a.revoked),
		kgo.OnPartitionsLost(a.lost),
	)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", a.cfg.Name, err)
	}
	a.client = client
	close(a.started)
	defer member.CloseClient(client)

	defer a.metrics.Report(a)()
	defer member.FollowEnds(ctx, client, topics, a.endOf)()
	committed := a.cfg.Now()
	for ctx.Err() == nil {
		a.gather(ctx)
		ranges, feeds := a.batch()
		a.apply(ctx, ranges, feeds)
		if now := a.cfg.Now(); now.Sub(committed) >= groupCommitInterval {
			a.commitToGroup(ctx)
			committed = now
		}
	}
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), member.LeaveTimeout)
	defer done()
	a.commitToGroup(ending)
	if err := member.LeaveGroup(ending, client, hangUp); err != nil {
		a.log.Debug("cannot leave the group; it will notice by itself", "error", err)
	}
	return nil
}

// apply gives a batch to the store until it is stored, or has been by another
// member.
func (a *Applier) apply(ctx context.Context, batch []Range, feeds []*feed) {
	var held *RecordError
	defer func() { a.hold(held, nil) }()
	for n := 1; len(batch) > 0 && ctx.Err() == nil; n++ {
		start := time.Now()
		crashpoint.At(a.cfg.Name, "apply", "before")
		err := a.store.Apply(ctx, batch)
		a.metrics.Seconds.WithLabelValues(a.cfg.Name).Observe(time.Since(start).Seconds())
		if err != nil && ctx.Err() == nil {
			a.metrics.Errors.WithLabelValues(a.cfg.Name, kindOf(err)).Inc()
		}
		switch {
		case err == nil:
			crashpoint.At(a.cfg.Name, "apply", "after")
			a.applying.Over()
			a.applied(batch, feeds)
			return
		case errors.Is(err, pg.ErrMoved):
			a.applying.Over()
			a.log.Info("a stored position was moved by another member; reading it again", "error", err)
			a.reload(ctx, batch)
			return
		}
		a.applying.Is(err)
		if newer := newerRecord(err); newer != nil {
			a.hold(held, newer)
			held = newer
			a.pause(ctx, n)
			continue
		}
		a.warn("cannot apply; trying again", err, "attempt", n)
		a.pause(ctx, n)
	}
}

// pause waits before the next attempt.
func (a *Applier) pause(ctx context.Context, n int) {
	_ = backoff.Sleep(ctx, member.Reconnects().Jittered(n))
}

// warn logs a fault that passes, at most once in a while.
func (a *Applier) warn(msg string, err error, args ...any) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if missed, ok := a.quiet.Due(msg); ok {
		a.log.Warn(msg, append(args, "error", err, "not_logged", missed)...)
	}
}
