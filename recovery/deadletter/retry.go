package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Decider decides about dead letters: they are retried, or dropped.
type Decider struct {
	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Blobs  blob.Store    // the bytes with which new attempts begin
	Now    func() time.Time
}

// RetryOptions say how dead letters are retried.
type RetryOptions struct {
	By, Reason string // who asks, and why
	Fetch      bool   // fetch the bytes again instead of using those stored
	Force      bool   // also what died again too often, was dropped, or whose retry failed
	DryRun     bool   // only say what would be
	MaxDeaths  int    // after so many retries that died again of the same cause a letter is refused
}

// Retried is what became of the wish to retry one dead letter.
type Retried struct {
	Letter    *Letter
	Refused   string // why it is not retried; empty: it is
	Attempt   int32  // the new attempt
	Documents int32  // documents that are processed again, as far as known; those of one attempt count once
	Deaths    int    // retries of the same file or document that had died of the same cause
}

// errDry rolls back a transaction that was only tried.
var errDry = errors.New("dry run")

// Retry requests new attempts for dead letters: in one transaction with what is
// told of it, so that each is retried once. Where bytes had been accepted,
// the new attempt begins with the stored ones, which become a new acceptance of
// the same version; else the file is fetched. All documents of an archive are
// processed again, since an attempt has all of them or none, so letters of one
// attempt share the new one. Give it a few hundred letters at a time.
func (d *Decider) Retry(ctx context.Context, letters []*Letter, o RetryOptions) ([]Retried, error) {
	// What would be refused anyway need not have its bytes looked at, and they
	// must not be looked at while files are locked.
	_, archives, err := d.retry(ctx, letters, o, nil, true)
	if err != nil {
		return nil, err
	}
	bad := map[string]string{}
	for sha := range archives {
		if bad[sha], err = d.stored(ctx, sha, o.Fetch); err != nil {
			return nil, err
		}
	}
	out, _, err := d.retry(ctx, letters, o, bad, o.DryRun)
	return out, err
}

// stored says what keeps an archive's stored bytes from being used, or from
// being fetched again.
func (d *Decider) stored(ctx context.Context, sha string, fetch bool) (string, error) {
	err := blob.Verify(ctx, d.Blobs, sha)
	switch {
	case blob.Unusable(err) && fetch:
		return "", nil
	case errors.Is(err, blob.ErrDamaged):
		return "its stored bytes are damaged: tributary blobs verify --repair has the blob " + sha + " fetched again where a source has it; or retry with --fetch", nil
	case errors.Is(err, fs.ErrNotExist):
		return "its stored bytes are not there: put them back as the blob " + sha + ", or retry with --fetch", nil
	}
	return "", err
}

func (d *Decider) retry(ctx context.Context, letters []*Letter, o RetryOptions, bad map[string]string, dry bool) (out []Retried, archives map[string]bool, err error) {
	now := d.Now()
	err = pg.InTx(ctx, d.Pool, func(tx pgx.Tx) error {
		var keys, lineages, files, documents []string
		for _, l := range letters {
			keys, lineages = append(keys, l.Key), append(lineages, l.Lineage())
			if l.File != "" {
				files = append(files, l.File)
			}
			if l.Document != "" {
				documents = append(documents, l.Document)
			}
		}
		w, err := plan.Load(ctx, tx, d.Outbox, files, now)
		if err != nil {
			return err
		}
		r := &retrying{World: w, now: now, options: o, bad: bad, archives: map[string]bool{}, made: map[int64]*control.Acquisition{}}
		// Read after the files are locked: what was decided before is seen.
		if r.known, err = control.DeadLetters(ctx, tx, keys); err != nil {
			return err
		}
		if r.deaths, err = control.Deaths(ctx, tx, lineages); err != nil {
			return err
		}
		if r.retries, err = control.Retries(ctx, tx, files); err != nil {
			return err
		}
		if r.verdicts, err = control.Verdicts(ctx, tx, files, documents); err != nil {
			return err
		}
		for _, l := range letters {
			out = append(out, r.letter(l))
		}
		archives = r.archives
		if dry || len(r.letters) == 0 {
			return errDry
		}
		return r.store(ctx, tx)
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("retry dead letters: %w", err)
	}
	return out, archives, nil
}

// store writes the new attempts, what was decided about the letters, and
// the events.
func (r *retrying) store(ctx context.Context, tx pgx.Tx) error {
	for _, a := range r.fresh {
		if err := r.Add(ctx, tx, a); err != nil {
			return err
		}
	}
	for _, l := range r.letters {
		l.Acquisition = l.by.ID
		if err := control.StoreRetry(ctx, tx, l.DeadLetter); err != nil {
			return err
		}
	}
	return r.Store(ctx, tx)
}

// Dropped is what became of the wish to drop one dead letter.
type Dropped struct {
	Letter  *Letter
	Refused string // why it is not dropped; empty: it is
}

// Drop hides dead letters, with a reason. Nothing is deleted, and one that
// says so can still be retried.
func (d *Decider) Drop(ctx context.Context, letters []*Letter, by, reason string) ([]Dropped, error) {
	var out []Dropped
	now := d.Now()
	err := pg.InTx(ctx, d.Pool, func(tx pgx.Tx) error {
		var told []schemas.Message
		for _, l := range letters {
			dropping := decided(l)
			dropping.Drop = control.Decision{By: by, Reason: reason, At: now}
			dropped, err := control.StoreDrop(ctx, tx, dropping)
			if err != nil {
				return err
			}
			if !dropped {
				out = append(out, Dropped{l, "it was dropped before"})
				continue
			}
			out = append(out, Dropped{Letter: l})
			if l.File != "" {
				told = append(told, letterEvent(l, "dropped", l.Attempt, dropping.Drop, now))
			}
		}
		return d.Outbox.Append(ctx, tx, told...)
	})
	if err != nil {
		return nil, fmt.Errorf("drop dead letters: %w", err)
	}
	return out, nil
}
