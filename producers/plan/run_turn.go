package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/recovery/shadow"
	"tributary/schemas"
	"tributary/sql/control"
)

// Bounds of replay runs that need no setting.
const (
	runUnderWay  = 256    // attempts of a replay that may be under way at once, whatever its rate
	runAtOnce    = 64     // files that one turn decides about
	runDocuments = 5000   // documents, after which a turn takes no further file
	runTold      = 20_000 // events that wait to be published, beyond which replays wait
	runBusy      = time.Second
	runHeld      = time.Minute // after which it is told again that a replay waits for other members
)

// replayLoop requests what replays have chosen, until ctx ends.
func (p *Planner) replayLoop(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := p.Rerun(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("replays are held up; trying again", "error", err)
		}
		timer.Reset(pause)
	}
}

// Rerun requests what the running replays may have requested now. They take
// turns.
func (p *Planner) Rerun(ctx context.Context) error {
	ids, err := control.RunningReplays(ctx, p.Pool)
	if err != nil {
		return err
	}
	var errs []error
	for len(ids) > 0 {
		full, err := p.outboxFull(ctx)
		if err != nil || full {
			return errors.Join(append(errs, err)...)
		}
		var again []string
		for _, id := range ids {
			more, err := p.rerun(ctx, id)
			if err != nil {
				errs = append(errs, fmt.Errorf("replay %s: %w", id, err)) // the others go on
			} else if more {
				again = append(again, id)
			}
		}
		ids = again
	}
	return errors.Join(errs...)
}

// outboxFull tells whether so much waits to be published that replays wait too:
// what needs no work, from upload, would else be told as fast as Postgres takes
// it.
func (p *Planner) outboxFull(ctx context.Context) (bool, error) {
	d, err := pg.MeasureOutbox(ctx, p.Pool, control.Schema)
	return d.Events > runTold, err
}

// rerun is one turn of a replay. More says that it requested or refused
// something, so that another turn is worth while.
func (p *Planner) rerun(ctx context.Context, id string) (more bool, err error) {
	now := p.Now()
	seen, err := control.WaitingItems(ctx, p.Pool, id, now, runAtOnce, nil)
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
		allowed := min(runUnderWay-underWay, allowance(r, now))
		if len(seen) == 0 && underWay == 0 {
			return p.finishRun(ctx, tx, r, applied, now)
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
func (p *Planner) hold(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, now time.Time) error {
	if last, told := p.held[r.ID]; told && now.Sub(last) < runHeld {
		return nil
	}
	if err := control.HoldReplayRun(ctx, tx, r, otherProfile); err != nil {
		return err
	}
	p.held[r.ID] = now
	p.Log.Warn("a replay that promotes a shadow waits", "replay", r.Number, "run", r.ID, "because", otherProfile)
	return nil
}

// finishRun ends a replay that has nothing left to request, once the warehouse
// has applied what came of it.
func (p *Planner) finishRun(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, applied int64, now time.Time) error {
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
	return p.Outbox.Append(ctx, tx, runEvent(r, "done", "", 0))
}

// window is how much of its rate a replay may use at once: a second's, or one
// file's.
func window(rate float64) time.Duration {
	return max(time.Second, time.Duration(float64(time.Second)/rate))
}

// allowance is how many files a replay's rate allows now.
func allowance(r *control.ReplayRun, now time.Time) int64 {
	if r.Rate <= 0 {
		return runUnderWay
	}
	unused := min(now.Sub(r.PacedAt), window(r.Rate))
	return int64(unused.Seconds()*r.Rate + 1e-6)
}

// spend notes what a replay has used of its rate.
func spend(r *control.ReplayRun, requested int, now time.Time) {
	if r.Rate <= 0 {
		r.PacedAt = now
		return
	}
	if from := now.Add(-window(r.Rate)); r.PacedAt.Before(from) {
		r.PacedAt = from
	}
	r.PacedAt = r.PacedAt.Add(time.Duration(float64(requested) / r.Rate * float64(time.Second)))
}

// lost finds the versions whose bytes are not stored.
func (p *Planner) lost(ctx context.Context, items []control.ReplayItem) (map[string]bool, error) {
	out := map[string]bool{}
	if p.Blobs == nil {
		return out, nil
	}
	for _, i := range items {
		if i.Archive == "" {
			continue
		}
		if _, err := p.Blobs.Stat(ctx, i.Archive); errors.Is(err, fs.ErrNotExist) {
			out[i.Archive] = true
		} else if err != nil {
			return nil, fmt.Errorf("look for the stored bytes %s: %w", i.Archive, err)
		}
	}
	return out, nil
}

func ordinals(items []control.ReplayItem) []int64 {
	out := make([]int64, len(items))
	for i, it := range items {
		out[i] = it.Ordinal
	}
	return out
}

// requestItems decides about items, and stores that with the events.
func (p *Planner) requestItems(ctx context.Context, tx pgx.Tx, run *control.ReplayRun, items []control.ReplayItem, lost map[string]bool, now time.Time) (requested int, err error) {
	if run.Phase == schemas.FromData {
		return p.requestChecks(ctx, tx, run, items, now)
	}
	var files []string
	for _, i := range items {
		files = append(files, i.File)
	}
	w, err := load(ctx, tx, p.Outbox.Codec, files, p.settings(), now)
	if err != nil {
		return 0, err
	}
	r := &rerunning{world: w, run: run, lost: lost, naming: p.Naming,
		documents: func(a *control.Acquisition) ([]control.Document, error) { return control.AcceptedDocuments(ctx, tx, a) }}
	var decided []control.ReplayItem
	for _, i := range items {
		if len(r.verdicts) > runDocuments || r.extracted > runDocuments {
			break // the others wait for the next turn
		}
		a, err := r.item(&i)
		if err != nil {
			return 0, err
		}
		if a != nil {
			if err := control.AddReplay(ctx, tx, a); err != nil {
				return 0, err
			}
			if t := r.attempts[control.AttemptKey{Run: a.Run, File: a.File, Attempt: a.Attempt}]; t != nil {
				t.Acquisition = a.ID
			}
			i.Acquisition = &a.ID
			requested++
		}
		decided = append(decided, i)
	}
	if len(r.verdicts) > 0 {
		if err := control.StoreDocuments(ctx, tx, r.verdicts); err != nil {
			return 0, err
		}
	}
	if err := control.StoreItems(ctx, tx, run.ID, decided); err != nil {
		return 0, err
	}
	return requested, p.store(ctx, tx, w)
}

// requestChecks has the records of centres judged again.
func (p *Planner) requestChecks(ctx context.Context, tx pgx.Tx, run *control.ReplayRun, items []control.ReplayItem, now time.Time) (int, error) {
	for n := range items {
		op, err := control.RequestCheck(ctx, tx, run.ID, items[n].Domain, run.By, run.Reason, now)
		if err != nil {
			return 0, err
		}
		items[n].Operation = &op.ID
	}
	return len(items), control.StoreItems(ctx, tx, run.ID, items)
}

// Stored is what a planner needs to know of stored bytes.
type Stored interface {
	Stat(ctx context.Context, sha256 string) (int64, error)
}

var _ Stored = blob.Store(nil)
