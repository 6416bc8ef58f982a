// Package poll lists sources and records what is new, changed or gone.
//
// A poll is taken by lease under its server's credit. The listing is streamed
// into a temporary table and compared with what is known as sets; what differs
// is recorded in chunks, each with its events in the outbox, and a crash may
// repeat a chunk: events have the same ids again. A poll always ends, as
// complete, minimal, broken off or failed, and only a complete one tells what is gone.
// An entry that the database refuses ends by itself, and the others go on.
package poll

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/remote"
	"tributary/internal/throttle"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

const stage = "poll"

// Deps are what a Poller works with.
type Deps struct {
	Profile *profile.Profile
	Centres profile.Centres
	Pool    *pgxpool.Pool
	Outbox  outbox.Outbox
	Holder  string        // who takes polls: host and process
	TTL     time.Duration // of a poll's lease
	Log     *slog.Logger
	Now     func() time.Time
	Limits  config.Limits // of what servers send
	Dial    func(context.Context, remote.Config) (remote.Session, error)
	// Gate keeps to the pace at which a source, as it is defined, and its server may be
	// asked, with all other sessions. Nil: nobody does.
	Gate  func(src config.Source, server string) *throttle.Gate
	Blobs blob.Store  // where is kept what listings show; nil: nowhere
	Space *blob.Space // room for that
	// Opened tells that a session was opened in this process, so that its polls don't wait
	// to be found; nil: none is.
	Opened <-chan struct{}
	// Metrics tells how local directories are watched; nil: nobody asks.
	Metrics prometheus.Registerer
}

// Poller lists sources. Any number may run: each poll is taken by one, by lease.
type Poller struct {
	cfg  config.Poll
	deps Deps
	took lasted
	read reads
	are  definitions

	local *prometheus.GaugeVec // local directories, by how they are watched

	dropped atomic.Pointer[time.Time] // when it was last looked for old listings
}

// New makes a Poller.
func New(cfg config.Poll, d Deps) *Poller {
	return &Poller{cfg: cfg, deps: d, local: newLocal(d.Metrics)}
}

const (
	// idle is how long is waited when no poll can be taken while others of the poller's run,
	// whose end may give credit back.
	idle = 200 * time.Millisecond
	// rest is how long is waited while none runs: a session that opens in this process is
	// told of.
	rest = time.Second
	// leaveEvery is the time between two looks for what sources left that are
	// removed or in maintenance.
	leaveEvery = time.Second
	// spare is how many of a pool's connections no poll holds: one renews
	// leases, one takes polls.
	spare = 2
	// grace is what a poll may take beyond its three budgets, to connect to the
	// database and to record its end, before its lease is given up.
	grace = 30 * time.Second
)

// Run lists due sources until ctx ends, and ends what removed ones left.
func (s *Poller) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.work(ctx, g) })
	g.Go(func() error { return s.leaveLoop(ctx) })
	return g.Wait()
}

// work takes due polls while there are slots for them, of which one server has
// its share at most.
func (s *Poller) work(ctx context.Context, g *errgroup.Group) error {
	slots := newSlots(s.atOnce())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-s.deps.Opened:
		}
		if !slots.wait(ctx) {
			return nil
		}
		p, ok, err := control.TakePoll(ctx, s.deps.Pool, s.deps.Holder, slots.full(), s.deps.Now(), s.deps.TTL)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				s.deps.Log.Warn("no poll can be taken now; trying again", "error", err)
			}
			slots.release()
			timer.Reset(5 * idle)
		case !ok:
			slots.release()
			pause := rest
			if slots.used() {
				pause = idle
			}
			timer.Reset(pause)
		default:
			end := slots.occupy(p.Server)
			g.Go(func() error {
				defer end()
				s.one(ctx, p)
				return nil
			})
			timer.Reset(0)
		}
	}
}

// atOnce is how many polls run at once: each holds a connection to the database
// while it lists, and some must be left to keep its lease.
func (s *Poller) atOnce() int {
	return max(1, min(s.cfg.Parallelism, int(s.deps.Pool.Config().MaxConns)-spare))
}

// one runs a poll and records how it ended. What goes wrong is the poll's
// outcome, recorded and logged here, and never stops the poller.
func (s *Poller) one(ctx context.Context, p control.Poll) {
	log := s.deps.Log.With("source", p.Source, "session", p.Session)
	bounded, cancel := context.WithTimeout(ctx, 3*s.cfg.Timeout.D()+grace)
	defer cancel()
	held, lost := context.WithCancelCause(bounded)
	defer lost(nil)
	go s.renew(held, lost, p)

	began := time.Now()
	err := s.poll(held, p, log)
	s.took.set(p.Source, time.Since(began))
	switch {
	case err == nil:
	case errors.Is(err, pg.ErrLeaseLost) || errors.Is(context.Cause(held), pg.ErrLeaseLost):
		log.Warn("the poll was taken over by another member, or its source was removed; this member stops")
	case ctx.Err() != nil:
		// Stopping: the poll is given back at once rather than when its lease ends.
		back, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		if err := control.PostponePoll(back, s.deps.Pool, p, s.deps.Now(), "", ""); err != nil {
			log.Warn("the poll could not be given back; its lease will end", "error", err)
		}
	default:
		log.Warn("the poll could not be recorded; it will be taken again when its lease ends", "error", err)
	}
}

func (s *Poller) renew(ctx context.Context, lost context.CancelCauseFunc, p control.Poll) {
	pg.Renew(ctx, s.deps.TTL, lost, func() error { return control.RenewPoll(ctx, s.deps.Pool, p, s.deps.TTL) })
}
