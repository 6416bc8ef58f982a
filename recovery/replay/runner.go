package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/recovery/shadow"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Bounds of replays that need no setting.
const (
	turnPause      = 250 * time.Millisecond // between two looks for what may be requested
	restPause      = time.Second            // between two looks for replays, while none runs
	maxUnderWay    = 256                    // attempts of a replay at once, whatever its rate
	turnFiles      = 64                     // files that one turn decides about
	turnDocuments  = 5000                   // documents, after which a turn takes no further file
	maxUnpublished = 20_000                 // events that wait to be published, beyond which replays wait
	busyPause      = time.Second            // before a file that is under way is asked for again
	heldPause      = time.Minute            // after which it is told again that a replay waits for other members
)

// Deps is what a Runner works with.
type Deps struct {
	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Log    *slog.Logger
	Now    func() time.Time
	// Blobs has the bytes that replays begin with. Nil: they are not looked for,
	// and stages find out that they are missing.
	Blobs Stored
	// Applied says up to which position the warehouse has applied the order. A
	// replay is not done before that has passed all that came of it. Nil: it is
	// done when all was judged.
	Applied func(context.Context) (int64, error)
	// Naming says what is wrong with a document's name. Nil: replays say less
	// about names that were refused.
	Naming func(entry string) (exception, message string)
	// Versions are of the profile by which this member and those of its
	// configuration judge what is live: what promotes a shadow is only requested if
	// they are the shadow's. Nil: whatever they are.
	Versions *profile.Versions
}

// Stored is what a Runner needs to know of stored bytes.
type Stored interface {
	Stat(ctx context.Context, sha256 string) (int64, error)
}

// Runner has files processed again that replays have chosen, at each replay's
// rate. Any number may run: a replay is one's at a time.
type Runner struct {
	Deps

	held map[string]time.Time // replays that wait for other members, and when that was last told
}

// NewRunner returns a Runner; nothing runs yet.
func NewRunner(d Deps) *Runner { return &Runner{Deps: d, held: map[string]time.Time{}} }

// Run requests what replays have chosen, until ctx ends.
func (p *Runner) Run(ctx context.Context) error {
	for pause := turnPause; backoff.Sleep(ctx, pause) == nil; {
		running, err := p.turns(ctx)
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("replays are held up; trying again", "error", err)
		}
		if pause = restPause; running {
			pause = turnPause
		}
	}
	return nil
}

// turns requests what the running replays may have requested now. They take
// turns. It tells whether any runs.
func (p *Runner) turns(ctx context.Context) (running bool, err error) {
	ids, err := control.RunningReplays(ctx, p.Pool)
	if err != nil {
		return false, err
	}
	running = len(ids) > 0
	var errs []error
	for len(ids) > 0 {
		full, err := p.outboxFull(ctx)
		if err != nil || full {
			return running, errors.Join(append(errs, err)...)
		}
		var again []string
		for _, id := range ids {
			more, err := p.turn(ctx, id)
			if err != nil {
				errs = append(errs, fmt.Errorf("replay %s: %w", id, err)) // the others go on
			} else if more {
				again = append(again, id)
			}
		}
		ids = again
	}
	return running, errors.Join(errs...)
}

// outboxFull tells whether so much waits to be published that replays wait too:
// what needs no work, from upload, would else be told as fast as Postgres takes
// it.
func (p *Runner) outboxFull(ctx context.Context) (bool, error) {
	d, err := outbox.Measure(ctx, p.Pool, control.Schema)
	return d.Events > maxUnpublished, err
}

// turn is one turn of a replay. More says that it requested or refused
// something, so that another turn is worth while.
func (p *Runner) turn(ctx context.Context, id string) (more bool, err error) {
	now := p.Now()
	seen, err := control.WaitingItems(ctx, p.Pool, id, now, turnFiles, nil)
	if err != nil {
		return false, err
	}
	// Bytes are looked for before anything is locked.
	lost, err := p.lost(ctx, seen)
	if err != nil {
		return false, err
	}
	var applied int64
	if len(seen) == 0 && p.Applied != nil { // it may be done
		if applied, err = p.Applied(ctx); err != nil {
			return false, err
		}
	}
	err = pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		more = false
		r, err := control.TakeReplayRun(ctx, tx, id, false)
		if err != nil || r == nil {
			return err
		}
		if len(seen) > 0 && r.Promotes != "" && p.Versions != nil {
			switch same, err := shadow.Equal(r, *p.Versions); {
			case err != nil:
				return err
			case !same:
				return p.hold(ctx, tx, r, now)
			}
		}
		underWay, err := control.ReplayUnderWay(ctx, tx, id)
		if err != nil {
			return err
		}
		allowed := min(maxUnderWay-underWay, allowance(r, now))
		if len(seen) == 0 && underWay == 0 {
			return p.finish(ctx, tx, r, applied, now)
		}
		if len(seen) == 0 || allowed <= 0 {
			return nil
		}
		items, err := control.WaitingItems(ctx, tx, id, now, allowed, ordinals(seen))
		if err != nil || len(items) == 0 {
			return err
		}
		requested, err := p.requestItems(ctx, tx, r, items, lost, now)
		if err != nil {
			return err
		}
		spend(r, requested, now)
		more = true
		return control.PaceReplayRun(ctx, tx, r)
	})
	return more, err
}

// otherProfile is why a member leaves a promotion to others.
const otherProfile = "members that judge by another profile than the shadow did leave it alone: restart them all with the profile that it was made with, and without shadow_profile"

// hold notes and logs, once in a while, that a replay waits for other members:
// what this one's judge by would not come to what was compared.
func (p *Runner) hold(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, now time.Time) error {
	if last, told := p.held[r.ID]; told && now.Sub(last) < heldPause {
		return nil
	}
	if err := control.HoldReplayRun(ctx, tx, r, otherProfile); err != nil {
		return err
	}
	p.held[r.ID] = now
	p.Log.Warn("a replay that promotes a shadow waits", "replay", r.Number, "run", r.ID, "because", otherProfile)
	return nil
}

// finish ends a replay that has nothing left to request, once the warehouse
// has applied what came of it.
func (p *Runner) finish(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, applied int64, now time.Time) error {
	waits, err := control.ReplayWaits(ctx, tx, r.ID)
	if err != nil || waits {
		return err
	}
	if p.Applied != nil {
		if left, err := control.ReplayUnapplied(ctx, tx, r.ID, applied); err != nil || left > 0 {
			return err
		}
	}
	delete(p.held, r.ID)
	r.State, r.ChangedAt = control.ReplayDone, now
	if err := control.ChangeReplayRun(ctx, tx, r); err != nil {
		return err
	}
	p.Log.Info("replay done", "replay", r.Number, "run", r.ID)
	return p.Outbox.Append(ctx, tx, replayEvent(r, "done", "", 0))
}
