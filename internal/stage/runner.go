package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

// Runner carries records of one topic through a Stage.
type Runner struct {
	cfg     Config
	connect kafka.Factory
	codec   *schemas.Codec
	stage   Stage
	log     *slog.Logger
	metrics *member.Metrics
	quiet   *kafka.Quiet
	client  *kgo.Client // set once, before started is closed
	anew    *kafka.Anew // of client
	lone    *lone
	joined  member.Joined
	reading member.Trouble // a right to read that is missing
	writing member.Trouble // a right to write that is missing
	started chan struct{}  // callbacks may come before NewClient has returned

	work context.Context // of all work: ends when the grace period has passed

	mu         sync.Mutex
	partitions map[int32]*partition
	lanes      map[lane][]*item
	ready      []lane // lanes whose first item may run, oldest first
	running    int    // records worked on
	limit      int    // of them
	open       int    // and those that wait for acknowledgements
	stopping   bool
	idle       chan struct{}    // closed when stopping and nothing is open any more
	detached   map[string]*item // by key: records whose work goes on without their partition
	giveBack   chan struct{}    // closed when stopping, for those

	abandoned atomic.Int32 // attempts left behind that still run

	finished   chan struct{} // holds one when something was finished since the last regular commit
	committing chan struct{} // holds one: one commit at a time, from what is collected to what is answered
}

// NewRunner makes a Runner, which does nothing until Run.
func NewRunner(cfg Config, connect kafka.Factory, codec *schemas.Codec, s Stage, log *slog.Logger, metrics *member.Metrics) *Runner {
	cfg = cfg.withDefaults()
	if cfg.Group == "" {
		cfg.Group = kafka.GroupName(cfg.Prefix, cfg.Name)
	}
	return &Runner{
		cfg: cfg, limit: cfg.Parallelism, connect: connect, lone: newLone(connect), codec: codec, stage: s, metrics: metrics,
		log:        log.With("stage", cfg.Name),
		quiet:      kafka.NewQuiet(cfg.Now),
		partitions: map[int32]*partition{},
		lanes:      map[lane][]*item{},
		started:    make(chan struct{}),
		idle:       make(chan struct{}),
		detached:   map[string]*item{},
		giveBack:   make(chan struct{}),
		committing: make(chan struct{}, 1),
		finished:   make(chan struct{}, 1),
	}
}

// endTimeout is how long work may take to end once it is cancelled. It must
// be well below the group's rebalance timeout, which is a minute.
func (r *Runner) endTimeout() time.Duration { return min(r.cfg.Grace, 10*time.Second) }

// ErrStuck ends Run when too many attempts have stalled and do not end when
// told to: nothing but a new process gets rid of them.
var ErrStuck = errors.New("too much stalled work does not end: restart this process")

// Run works until ctx ends, then lets running work end within the grace
// period, commits what is finished and leaves the group. Brokers that cannot
// be reached are waited for. It may be called once, and errors only if the
// client's settings cannot work, or with ErrStuck.
func (r *Runner) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r.work = work
	life, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	client, err := r.connect(
		kgo.WithContext(life),
		kgo.ConsumerGroup(r.cfg.Group),
		kgo.ConsumeTopics(kafka.TopicName(r.cfg.Prefix, r.cfg.Topic)),
		kgo.DisableAutoCommit(),
		// Records that were polled are in hand before their partition may go:
		// else they could be taken for those of its next assignment.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(r.assigned),
		kgo.OnOffsetsFetched(r.fetched),
		kgo.AdjustFetchOffsetsFn(r.from),
		kgo.OnPartitionsRevoked(r.revoked),
		kgo.OnPartitionsLost(r.lost),
	)
	if err != nil {
		return fmt.Errorf("stage %s: %w", r.cfg.Name, err)
	}
	r.client, r.anew = client, kafka.NewAnew(client)
	close(r.started)
	defer member.CloseClient(client)
	defer r.lone.close()

	defer r.metrics.Report(r)()
	stopEnds := member.FollowEnds(ctx, client, []string{kafka.TopicName(r.cfg.Prefix, r.cfg.Topic)}, r.ends)
	stopCommits := r.commitRegularly()
	r.poll(ctx)
	r.drain()
	stopCommits()
	stopEnds()

	ending, done := context.WithTimeout(work, member.LeaveTimeout)
	defer done()
	r.leave(ending, hangUp)
	if r.stuck() {
		return fmt.Errorf("stage %s: %w", r.cfg.Name, ErrStuck)
	}
	return nil
}

// stuck bounds the goroutines that abandoned work may hold.
func (r *Runner) stuck() bool { return int(r.abandoned.Load()) > 4*r.cfg.Parallelism }

// pollTurn is how often an idle Runner looks around.
const pollTurn = 5 * time.Second

// poll takes records from the client until ctx ends.
func (r *Runner) poll(ctx context.Context) {
	for ctx.Err() == nil && !r.stuck() {
		turn, cancel := context.WithTimeout(ctx, pollTurn)
		fetches := r.client.PollRecords(turn, r.cfg.Window)
		over := turn.Err() != nil
		cancel()
		for _, e := range fetches.Errors() {
			if !over {
				r.warn("cannot fetch; trying again", kafka.Lacking(e.Err, "Read", e.Topic, r.cfg.Group), "topic", e.Topic, "partition", e.Partition)
			}
		}
		r.reading.Fetching(fetches.Errors(), r.cfg.Group)
		r.retake()
		r.intake(fetches)
		r.client.AllowRebalance()
		member.Rejoin(r.client, fetches.Errors())
	}
}

// drain waits for running work: for the grace period and then, cancelled, a
// little longer.
func (r *Runner) drain() {
	r.mu.Lock()
	r.stopping = true
	r.signalIdle()
	r.mu.Unlock()
	defer time.AfterFunc(r.cfg.Grace/2, func() { close(r.giveBack) }).Stop()
	grace := time.NewTimer(r.cfg.Grace)
	defer grace.Stop()
	select {
	case <-r.idle:
		return
	case <-grace.C:
	}
	r.cancelWork()
	grace.Reset(r.endTimeout() + time.Second) // what does not end is left behind before that
	select {
	case <-r.idle:
	case <-grace.C:
		r.log.Warn("work did not end when told to; leaving it behind")
	}
}

// warn logs a fault that passes, at most once in a while.
func (r *Runner) warn(msg string, err error, args ...any) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if missed, ok := r.quiet.Due(msg); ok {
		r.log.Warn(msg, append(args, "error", quoted(err), "not_logged", missed)...)
	}
}
