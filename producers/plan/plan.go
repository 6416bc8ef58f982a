// Package plan is the process manager of files: it takes up what polls
// announce, decides what is fetched next and from where, accepts one outcome
// per step of every attempt, and requests again what has gone silent.
//
// It has two parts. The sink reads file.discovered, download.finished and
// unzip.finished, and applies each batch in one transaction: it locks the
// files concerned, loads what is known of them, decides in plain Go
// (decide.go, fetched.go) and stores the result with the offsets and the events. The
// dispatcher (dispatch.go) gathers wanted files into jobs under each server's
// credit. What people order is decided on the same World (world.go), by
// recovery/replay and recovery/deadletter.
package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Stage is the name under which decisions about files are told, whoever makes
// them.
const Stage = "plan"

// Topics are what plan reads.
func Topics() []string {
	return []string{schemas.FileDiscoveredTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic}
}

// Deps are what a Planner works with.
type Deps struct {
	Pool    *pgxpool.Pool
	Offsets pg.Offsets // of its group, in control
	Outbox  outbox.Outbox
	Cutoff  time.Duration // after which looks no longer wait for a session's polls
	// Dormant says why nothing is to be fetched just now, such as a disk that is
	// full: then no job is given out. Nil: nothing ever keeps it.
	Dormant func() error
	// SkipKnown says that a file is not loaded that brings the bytes which another file of
	// its centre and action shows, under another name.
	SkipKnown bool
	// Announced judges what other programs announce. Nil: it is passed over.
	Announced Announcer
	Metrics   prometheus.Registerer // nil: nobody asks for them
	Log       *slog.Logger
	Now       func() time.Time
	// LongestRest is for how long a server is left alone that asks for it; 0: a day.
	LongestRest time.Duration
}

// Planner decides about files. Any number may run: what one decides about a
// file is guarded by that file's row, and credit by a lock of its own.
type Planner struct {
	pg.Restartable // what comes twice is recognised, and what was lost is requested again

	cfg     config.Plan
	deps    Deps
	metrics *metrics
	wake    chan struct{}
	quiet   *kafka.Quiet

	revisiting sync.Mutex
	noRetries  bool // guarded by revisiting
}

// New makes a Planner.
func New(cfg config.Plan, d Deps) *Planner {
	return &Planner{cfg: cfg, deps: d, metrics: newMetrics(d.Metrics), Restartable: pg.Restartable{Consumed: pg.Consumed{Offsets: d.Offsets, Pool: d.Pool}},
		wake: make(chan struct{}, 1), quiet: kafka.NewQuiet(time.Now)}
}

// Run reads with the given applier and dispatches until ctx ends.
func (p *Planner) Run(ctx context.Context, applier *sink.Applier) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return applier.Run(ctx) })
	g.Go(func() error { return p.dispatchLoop(ctx) })
	return g.Wait()
}

// EndRetries has no file tried again any more that failed for good: who ends when
// nothing is left to do leaves that to the next. What has begun is in control when it
// returns.
func (p *Planner) EndRetries() {
	p.revisiting.Lock()
	defer p.revisiting.Unlock()
	p.noRetries = true
}

// Apply decides about a batch of events in one transaction.
func (p *Planner) Apply(ctx context.Context, batch []sink.Range) error {
	in, err := p.decode(batch)
	if err != nil {
		return err
	}
	var judged []control.Judgement
	err = pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		for _, r := range batch {
			if err := p.Offsets.Advance(ctx, tx, r.Topic, r.Partition, r.From, r.To); err != nil {
				return err
			}
		}
		judged, err = p.decideIn(ctx, tx, in, p.deps.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	p.announcedCommitted(judged)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// input is what a batch holds, by kind, each in the order read.
type input struct {
	discovered []discovery
	downloads  []received[schemas.DownloadFinished]
	unzips     []received[schemas.UnzipFinished]
}

// received is an event with the bytes it came in, which are repeated if what
// it caused goes silent.
type received[T any] struct {
	body   T
	record schemas.Record
}

func (in input) files() []string {
	seen := map[string]bool{}
	var out []string
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	for _, d := range in.discovered {
		if valid(d.File) {
			add(d.File)
		}
	}
	for _, d := range in.downloads {
		add(d.body.File)
	}
	for _, u := range in.unzips {
		add(u.body.File)
	}
	return out
}

// decode reads a batch's records. One that cannot be read is logged and
// passed over: nothing here waits for it, and what has no news is requested
// again. A schema that this binary does not know stops it instead.
func (p *Planner) decode(batch []sink.Range) (input, error) {
	var in input
	for _, r := range batch {
		for _, rec := range r.Records {
			record := kafka.FromKgo(rec)
			m, err := p.deps.Outbox.Codec.Decode(record)
			if errors.Is(err, schemas.ErrUnknownSchema) {
				return in, &sink.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: rec.Offset, Err: err}
			}
			if err != nil {
				p.passedOver("a record cannot be read and is passed over", "topic", r.Topic, "partition", r.Partition, "offset", rec.Offset, "error", err)
				continue
			}
			record.Topic = m.Topic
			file := ""
			switch b := m.Body.(type) {
			case *schemas.FileDiscovered:
				in.discovered = append(in.discovered, discovery{id: m.ID, FileDiscovered: *b})
				continue // one without an id of its file is refused by name
			case *schemas.DownloadFinished:
				if file = b.File; valid(file) {
					in.downloads = append(in.downloads, received[schemas.DownloadFinished]{*b, record})
				}
			case *schemas.UnzipFinished:
				if file = b.File; valid(file) {
					in.unzips = append(in.unzips, received[schemas.UnzipFinished]{*b, record})
				}
			}
			if !valid(file) {
				p.passedOver("a record names no file and is passed over", "topic", r.Topic, "partition", r.Partition, "offset", rec.Offset)
			}
		}
	}
	return in, nil
}

// passedOver logs a record that nobody can use, once in a while: who writes such
// writes many.
func (p *Planner) passedOver(what string, args ...any) {
	if missed, ok := p.quiet.Due(what); ok {
		p.deps.Log.Error(what, append(args, "not_logged", missed)...)
	}
}

// valid tells whether a file's id can be one: other systems announce files
// too, and a statement refuses what is no UUID.
func valid(file string) bool { return len(file) == 36 && uuid.Validate(file) == nil }

// decideIn loads what is known of the files concerned, decides, and stores. It
// returns what became of announcements by other programs.
func (p *Planner) decideIn(ctx context.Context, tx pgx.Tx, in input, now time.Time) ([]control.Judgement, error) {
	if len(in.discovered)+len(in.downloads)+len(in.unzips) == 0 {
		return nil, nil
	}
	w, err := p.load(ctx, tx, in.files(), now)
	if err != nil {
		return nil, err
	}
	judged, own, err := p.announced(ctx, tx, w, in.discovered)
	if err != nil {
		return nil, err
	}
	if in.discovered = own; len(judged) > 0 { // what was recorded is part of the world now
		if w, err = p.load(ctx, tx, in.files(), now); err != nil {
			return nil, err
		}
	}
	if err := p.findOrigins(ctx, tx, w, in); err != nil {
		return nil, err
	}
	for _, d := range in.discovered {
		w.discovered(d.FileDiscovered)
	}
	for _, d := range in.downloads {
		w.downloaded(d.body, d.record)
	}
	for _, u := range in.unzips {
		w.unzipped(u.body, u.record)
	}
	return judged, w.Store(ctx, tx)
}

// load reads the world of the given files, to be decided about by the planner's
// settings.
func (p *Planner) load(ctx context.Context, tx pgx.Tx, ids []string, now time.Time) (*World, error) {
	w, err := Load(ctx, tx, p.deps.Outbox, ids, now)
	if err != nil {
		return nil, err
	}
	w.settings = p.settings()
	return w, nil
}

func (p *Planner) settings() settings {
	return settings{perHosting: p.cfg.Attempts, backoff: backoff.Exponential{Base: p.cfg.Backoff.D(), Max: p.cfg.BackoffMax.D()}, retry: p.cfg.RetryFailed.D(), retries: p.cfg.MaxRetries, longestRest: p.deps.LongestRest}
}
