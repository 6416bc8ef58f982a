// Package sequence puts documents into the one order in which they are
// inserted. Its sink keeps every verdict of document.validated in control; its
// releaser finds batches that are complete, or whose limit has come, and, where the
// profile releases early, parts of others; it gives each of their documents the next
// position, and publishes document.ordered through the outbox.
package sequence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

const stageName = "sequence"

// Deps are what a Sequencer works with.
type Deps struct {
	Kinds   []string // the profile's kinds of document, in order
	Early   bool     // whether what is complete of a batch is released before the rest is, as the profile says
	Pool    *pgxpool.Pool
	Offsets pg.Offsets // of its group, in control
	Outbox  outbox.Outbox
	Lease   pg.Lease
	Applied func(ctx context.Context) (int64, error) // the last position that the warehouse has applied
	// Failed is the earliest phase in which a document of some batches failed;
	// nil: nobody is asked.
	Failed func(ctx context.Context, batches []string) (schemas.Phase, error)
	// SilenceBudget is how long a file may be without news before it is requested
	// again: that documents of it come is noted to a tenth of it.
	SilenceBudget time.Duration
	Log           *slog.Logger
	Now           func() time.Time
}

// Sequencer keeps verdicts and releases batches. Any number may run: a lease
// says who releases.
type Sequencer struct {
	pg.Restartable // what comes twice is recognised, and what was lost is requested again

	cfg  config.Sequence
	deps Deps
	wake chan struct{} // files have ended: a batch may be complete

	nextParts time.Time // before which who releases gives out no more parts of batches
}

// New makes a Sequencer.
func New(cfg config.Sequence, d Deps) *Sequencer {
	return &Sequencer{cfg: cfg, deps: d, wake: make(chan struct{}, 1), Restartable: pg.Restartable{Consumed: pg.Consumed{Offsets: d.Offsets, Pool: d.Pool}}}
}

// Run reads verdicts with the given applier, and releases while it holds the
// lease, until ctx ends.
func (s *Sequencer) Run(ctx context.Context, applier *sink.Applier) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return applier.Run(ctx) })
	g.Go(func() error {
		s.deps.Lease.Keep(ctx, func(err error) { s.deps.Log.Warn("releasing is held up; trying again", "error", err) }, s.release)
		return nil
	})
	return g.Wait()
}

// Apply keeps a batch of verdicts and ends the files whose last document it
// brought, in one transaction.
func (s *Sequencer) Apply(ctx context.Context, batch []sink.Range) error {
	docs, files, err := s.decode(batch)
	if err != nil {
		return err
	}
	now := s.deps.Now()
	var ended []string
	err = pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		for _, r := range batch {
			if err := s.Offsets.Advance(ctx, tx, r.Topic, r.Partition, r.From, r.To); err != nil {
				return err
			}
		}
		if len(docs) == 0 {
			return nil
		}
		if err := control.StoreDocuments(ctx, tx, docs); err != nil {
			return err
		}
		// The files are locked after the documents are stored: whoever ends a
		// file then sees all of them, plan or this.
		if _, err := control.LockFiles(ctx, tx, files); err != nil {
			return err
		}
		if ended, err = control.CompleteExtracted(ctx, tx, files, now); err != nil {
			return err
		}
		if err := control.DocumentNews(ctx, tx, files, s.deps.SilenceBudget/10); err != nil {
			return err
		}
		return control.AfterEnds(ctx, tx, ended, now)
	})
	if err != nil {
		return fmt.Errorf("sequence: %w", err)
	}
	if len(ended) > 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

func (s *Sequencer) decode(batch []sink.Range) (docs []control.Document, files []string, err error) {
	seen := map[string]bool{}
	for _, r := range batch {
		for _, rec := range r.Records {
			m, err := s.deps.Outbox.Codec.Decode(kafka.FromKgo(rec))
			if errors.Is(err, schemas.ErrUnknownSchema) {
				return nil, nil, &sink.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: rec.Offset, Err: err}
			}
			v, ok := m.Body.(*schemas.DocumentValidated)
			if err == nil && !ok {
				err = fmt.Errorf("it is an event of %s", m.Topic)
			}
			if err == nil {
				err = storable(v)
			}
			if err != nil {
				s.deps.Log.Error("a record cannot be read and is passed over", "topic", r.Topic, "partition", r.Partition, "offset", rec.Offset, "error", err)
				continue
			}
			d := control.Document{Run: v.Run, File: v.File, Attempt: v.Attempt, Download: v.Download, Unzip: v.Unzip, Document: v.Document,
				Entry: v.Entry, Kind: v.Kind, DocInc: v.DocInc, SHA256: v.SHA256, Result: v.Result, Body: rec.Value}
			if v.DocDate != "" {
				d.DocDate = &v.DocDate
			}
			docs = append(docs, d)
			if !seen[v.File] {
				seen[v.File] = true
				files = append(files, v.File)
			}
		}
	}
	sort.Strings(files)
	return docs, files, nil
}

// storable says what is wrong with a verdict that can belong to no document of
// ours: control refuses what is no id and no date, together with all that was
// read beside it.
func storable(v *schemas.DocumentValidated) error {
	for _, id := range []struct{ name, value string }{{"run", v.Run}, {"file", v.File}, {"document", v.Document}} {
		if len(id.value) != 36 || uuid.Validate(id.value) != nil {
			return fmt.Errorf("its %s %q is no UUID", id.name, id.value)
		}
	}
	if v.DocDate == "" {
		return nil
	}
	if at, err := time.Parse(time.DateOnly, v.DocDate); err != nil || at.Year() < 1 {
		return fmt.Errorf("its date %q is none", v.DocDate)
	}
	return nil
}
