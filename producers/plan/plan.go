// Package plan is the process manager of files: it takes up what polls
// announce, decides what is fetched next and from where, accepts one outcome
// per step of every attempt, and requests again what has gone silent.
//
// It has three parts. The sink reads file.discovered, download.finished and
// unzip.finished, and applies each batch in one transaction: it locks the
// files concerned, loads what is known of them, decides in plain Go
// (decide.go) and stores the result with the offsets and the events. The
// dispatcher (dispatch.go) gathers wanted files into jobs under each server's
// credit. Replays (run.go) request again what somebody chose, at their rate.
package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/stage/sink"
	"tributary/producers/poll"
	"tributary/schemas"
	"tributary/sql/control"
)

const stageName = "plan"

// Topics are what plan reads.
func Topics() []string {
	return []string{schemas.FileDiscoveredTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic}
}

// Planner decides about files. Any number may run: what one decides about a
// file is guarded by that file's row, and credit by a lock of its own.
type Planner struct {
	pg.Restartable // what comes twice is recognised, and what was lost is requested again

	Config  config.Plan
	Cutoff  time.Duration // after which looks no longer wait for a session's polls
	Once    bool          // no wait exceeds a few seconds
	Outbox  pg.Outbox
	Log     *slog.Logger
	Now     func() time.Time
	Metrics *Metrics // nil: nothing is counted
	// Dormant says why nothing is to be fetched just now, such as a disk that is
	// full: then no job is given out. Nil: nothing ever keeps it.
	Dormant func() error
	// Blobs has the bytes that replays begin with. Nil: they are not looked for,
	// and whoever needs them finds out.
	Blobs Stored
	// Applied says up to which position the warehouse has applied the order. A
	// replay is not done before that has passed all that came of it. Nil: it is
	// done when all was judged.
	Applied func(context.Context) (int64, error)
	// Naming says what is wrong with a document's name. Nil: replays say less
	// about names that were refused.
	Naming func(entry string) (exception, message string)
	// Announced judges what other programs announce. Nil: it is passed over.
	Announced Announcer
	// Versions are of the profile by which this member and those of its
	// configuration judge what is live: what promotes a shadow is only requested if
	// they are the shadow's. Nil: whatever they are.
	Versions *profile.Versions

	wake  chan struct{}
	quiet *kafka.Quiet
	held  map[string]time.Time // replays that wait for other members, and when that was last told; the loop's of replays

	served map[string]int64 // by source: when it was last given a job, in turns; the dispatcher's
	turns  int64
}

// New returns a planner; nothing runs yet.
func New(cfg config.Plan, cutoff time.Duration, once bool, pool *pgxpool.Pool, outbox pg.Outbox, offsets pg.Offsets, log *slog.Logger) *Planner {
	return &Planner{Config: cfg, Cutoff: cutoff, Once: once, Restartable: pg.Restartable{Consumed: pg.Consumed{Offsets: offsets, Pool: pool}}, Outbox: outbox, Log: log,
		Now: func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }, wake: make(chan struct{}, 1), quiet: kafka.NewQuiet(time.Now), held: map[string]time.Time{}, served: map[string]int64{}}
}

// Run reads with the given applier and dispatches until ctx ends.
func (p *Planner) Run(ctx context.Context, applier *sink.Applier) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return applier.Run(ctx) })
	g.Go(func() error { return p.dispatchLoop(ctx) })
	g.Go(func() error { return p.replayLoop(ctx) })
	return g.Wait()
}

// Apply decides about a batch of events in one transaction.
func (p *Planner) Apply(ctx context.Context, batch []sink.Range) error {
	in, err := p.decode(batch)
	if err != nil {
		return err
	}
	var verdicts []poll.Verdict
	err = pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		for _, r := range batch {
			if err := p.Offsets.Advance(ctx, tx, r.Topic, r.Partition, r.From, r.To); err != nil {
				return err
			}
		}
		verdicts, err = p.decideIn(ctx, tx, in, p.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	p.announcedCommitted(verdicts)
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
			m, err := p.Outbox.Codec.Decode(record)
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
		p.Log.Error(what, append(args, "not_logged", missed)...)
	}
}

// valid tells whether a file's id can be one: other systems announce files
// too, and a statement refuses what is no UUID.
func valid(file string) bool { return len(file) == 36 && uuid.Validate(file) == nil }

// decideIn loads what is known of the files concerned, decides, and stores. It
// returns what became of announcements by other programs.
func (p *Planner) decideIn(ctx context.Context, tx pgx.Tx, in input, now time.Time) ([]poll.Verdict, error) {
	if len(in.discovered)+len(in.downloads)+len(in.unzips) == 0 {
		return nil, nil
	}
	w, err := load(ctx, tx, p.Outbox.Codec, in.files(), p.settings(), now)
	if err != nil {
		return nil, err
	}
	verdicts, own, err := p.announced(ctx, tx, w, in.discovered)
	if err != nil {
		return nil, err
	}
	if in.discovered = own; len(verdicts) > 0 { // what was recorded is part of the world now
		if w, err = load(ctx, tx, p.Outbox.Codec, in.files(), p.settings(), now); err != nil {
			return nil, err
		}
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
	return verdicts, p.store(ctx, tx, w)
}

func (p *Planner) settings() settings {
	s := settings{perHosting: p.Config.Attempts, backoff: p.Config.Backoff.D(), backoffMax: p.Config.BackoffMax.D(), retry: p.Config.RetryFailed.D()}
	if p.Once {
		s.backoff, s.backoffMax = min(s.backoff, time.Second), min(s.backoffMax, 5*time.Second)
	}
	return s
}

// load reads the world of the given files under their locks.
func load(ctx context.Context, tx pgx.Tx, codec *schemas.Codec, ids []string, s settings, now time.Time) (*world, error) {
	w := &world{settings: s, codec: codec, now: now, files: map[string]*fileWorld{}, jobs: map[string]int{}, good: map[string]int{}, bad: map[string]int{}}
	files, err := control.LockFiles(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for id, f := range files {
		w.files[id] = &fileWorld{File: f}
	}
	hostings, err := control.Hostings(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, h := range hostings {
		if f := w.files[h.File]; f != nil {
			f.hostings = append(f.hostings, h)
		}
	}
	acquisitions, err := control.Acquisitions(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, a := range acquisitions {
		w.files[a.File].add(a)
	}
	if w.attempts, err = control.Attempts(ctx, tx, ids); err != nil {
		return nil, err
	}
	looks, err := control.Looks(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, k := range looks {
		w.files[k.File].looks = append(w.files[k.File].looks, k)
	}
	return w, nil
}

// store writes the decisions with their events, and what follows from files
// that have ended.
func (p *Planner) store(ctx context.Context, tx pgx.Tx, w *world) error {
	var files []*control.File
	var acquisitions []*control.Acquisition
	var looks []*control.Look
	var attempts []*control.Attempt
	var touched []string
	for _, id := range w.order() {
		f := w.files[id]
		files = append(files, f.File)
		touched = append(touched, id)
		for _, a := range f.acquisitions {
			if a.New && a.Session != nil && a.Batch == nil {
				batch, err := control.EnsureBatch(ctx, tx, *a.Session, a.Domain, w.now)
				if err != nil {
					return err
				}
				a.Batch = &batch
			}
			acquisitions = append(acquisitions, a)
		}
		acquisitions = append(append(acquisitions, f.shadows...), f.healings...)
		for _, k := range f.looks {
			if k.Class != "announced" {
				looks = append(looks, k)
			}
		}
	}
	for _, a := range w.attempts {
		if a.Changed {
			attempts = append(attempts, a)
		}
	}
	if err := control.StoreFiles(ctx, tx, files); err != nil {
		return err
	}
	if err := control.StoreAcquisitions(ctx, tx, acquisitions); err != nil {
		return err
	}
	if err := control.StoreHealings(ctx, tx, w.healings, w.now); err != nil {
		return err
	}
	if err := control.ClassLooks(ctx, tx, looks); err != nil {
		return err
	}
	if err := control.StoreAttempts(ctx, tx, attempts); err != nil {
		return err
	}
	if err := control.JobNews(ctx, tx, w.jobs); err != nil {
		return err
	}
	if err := control.CountFetches(ctx, tx, w.good, w.bad); err != nil {
		return err
	}
	if _, err := control.CompleteExtracted(ctx, tx, touched, w.now); err != nil {
		return err
	}
	if err := control.AfterEnds(ctx, tx, touched, w.now); err != nil {
		return err
	}
	return p.Outbox.Append(ctx, tx, w.out...)
}
