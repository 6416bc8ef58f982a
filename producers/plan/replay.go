package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
)

// ReplayOptions say how dead letters are replayed.
type ReplayOptions struct {
	By, Reason string // who asks, and why
	Fetch      bool   // fetch the bytes again instead of using those stored
	Force      bool   // also what died again too often, was dropped, or whose replay failed
	DryRun     bool   // only say what would be
	MaxDeaths  int    // after so many replays that died again of the same cause a letter is refused
	Blobs      blob.Store
}

// Replayed is what became of the wish to replay one dead letter.
type Replayed struct {
	Letter    *deadletter.Letter
	Refused   string // why it is not replayed; empty: it is
	Attempt   int32  // the new attempt
	Documents int32  // documents that are processed again, as far as known; those of one attempt count once
	Deaths    int    // replays of the same file or document that had died of the same cause
}

// errDry ends a transaction that must not be.
var errDry = errors.New("dry run")

// Replay requests new attempts for dead letters: in one transaction with what
// is told of it, so that each is replayed once. Where bytes had been accepted,
// the new attempt begins with the stored ones, which become a new acceptance of
// the same version; else the file is fetched. All documents of an archive are
// processed again, since an attempt has all of them or none, so letters of one
// attempt share the new one. Give it a few hundred letters at a time.
func (p *Planner) Replay(ctx context.Context, letters []*deadletter.Letter, o ReplayOptions) ([]Replayed, error) {
	// What would be refused anyway need not have its bytes looked at, and they
	// must not be looked at while files are locked.
	_, archives, err := p.replay(ctx, letters, o, nil, true)
	if err != nil {
		return nil, err
	}
	bad := map[string]string{}
	for sha := range archives {
		if bad[sha], err = stored(ctx, o, sha); err != nil {
			return nil, err
		}
	}
	out, _, err := p.replay(ctx, letters, o, bad, o.DryRun)
	return out, err
}

// stored says what keeps an archive's stored bytes from being used, or from
// being fetched again.
func stored(ctx context.Context, o ReplayOptions, sha string) (string, error) {
	err := blob.Verify(ctx, o.Blobs, sha)
	switch {
	case blob.Unusable(err) && o.Fetch:
		return "", nil
	case errors.Is(err, blob.ErrDamaged):
		return "its stored bytes are damaged: tributary blobs verify --repair has the blob " + sha + " fetched again where a source has it; or replay with --fetch", nil
	case errors.Is(err, fs.ErrNotExist):
		return "its stored bytes are not there: put them back as the blob " + sha + ", or replay with --fetch", nil
	}
	return "", err
}

func (p *Planner) replay(ctx context.Context, letters []*deadletter.Letter, o ReplayOptions, bad map[string]string, dry bool) (out []Replayed, archives map[string]bool, err error) {
	now := p.Now()
	err = pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
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
		w, err := load(ctx, tx, p.Outbox.Codec, files, p.settings(), now)
		if err != nil {
			return err
		}
		r := &replaying{world: w, ReplayOptions: o, bad: bad, archives: map[string]bool{}, made: map[int64]*control.Acquisition{}}
		// Read after the files are locked: what was decided before is seen.
		if r.known, err = control.DeadLetters(ctx, tx, keys); err != nil {
			return err
		}
		if r.deaths, err = control.Deaths(ctx, tx, lineages); err != nil {
			return err
		}
		if r.replays, err = control.Replays(ctx, tx, files); err != nil {
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
		return p.storeReplays(ctx, tx, r)
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("replay dead letters: %w", err)
	}
	return out, archives, nil
}

// storeReplays writes the new attempts, what was decided about the letters, and
// the events.
func (p *Planner) storeReplays(ctx context.Context, tx pgx.Tx, r *replaying) error {
	for _, a := range r.fresh {
		if err := control.AddReplay(ctx, tx, a); err != nil {
			return err
		}
		if t := r.attempts[control.AttemptKey{Run: a.Run, File: a.File, Attempt: a.Attempt}]; t != nil {
			t.Acquisition = a.ID
		}
	}
	for _, d := range r.letters {
		d.Acquisition = d.by.ID
		if err := control.StoreReplay(ctx, tx, d.DeadLetter); err != nil {
			return err
		}
	}
	return p.store(ctx, tx, r.world)
}

// Dropped is what became of the wish to drop one dead letter.
type Dropped struct {
	Letter  *deadletter.Letter
	Refused string // why it is not dropped; empty: it is
}

// Drop hides dead letters, with a reason. Nothing is deleted, and one that
// says so can still be replayed.
func (p *Planner) Drop(ctx context.Context, letters []*deadletter.Letter, by, reason string) ([]Dropped, error) {
	var out []Dropped
	now := p.Now()
	err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		var told []schemas.Message
		for _, l := range letters {
			d := decided(l)
			d.Drop = control.Decision{By: by, Reason: reason, At: now}
			dropped, err := control.StoreDrop(ctx, tx, d)
			if err != nil {
				return err
			}
			if !dropped {
				out = append(out, Dropped{l, "it was dropped before"})
				continue
			}
			out = append(out, Dropped{Letter: l})
			if l.File != "" {
				told = append(told, letterEvent(l, "dropped", l.Attempt, d.Drop, now))
			}
		}
		return p.Outbox.Append(ctx, tx, told...)
	})
	if err != nil {
		return nil, fmt.Errorf("drop dead letters: %w", err)
	}
	return out, nil
}
