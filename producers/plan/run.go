package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// ErrNothingChosen says that a replay would have nothing to do.
var ErrNothingChosen = errors.New("nothing is chosen: no file fits")

// RequestRun stores a replay with what it processes again, and tells of it: all
// or nothing, so that one that was asked for is whole. No transaction is open
// while next is asked for items. The planners take it up.
// Its phase, what chose the items, rate, By and Reason are given; the rest is
// filled in. It returns how many items there are.
func (p *Planner) RequestRun(ctx context.Context, r *control.ReplayRun, next func() (control.ReplayItem, bool, error)) (items int64, err error) {
	if err := checkRun(r); err != nil {
		return 0, err
	}
	// Found here it need not be chosen for nothing; whoever takes the name meanwhile
	// is found when the replay is stored.
	if named, err := control.ShadowNamed(ctx, p.Pool, r.Shadow); err != nil || named {
		return 0, fmt.Errorf("request the replay: %w", cmp.Or(err, control.ErrShadowName))
	}
	chosen, err := control.Gather(ctx, p.Pool, next)
	if err != nil {
		return 0, fmt.Errorf("request the replay: %w", err)
	}
	defer chosen.Close(ctx)
	if chosen.Empty() {
		return 0, fmt.Errorf("request the replay: %w", ErrNothingChosen)
	}
	r.At, r.State = p.Now(), control.ReplayRunning
	r.ChangedBy, r.ChangedAt, r.PacedAt = r.By, r.At, r.At
	err = pg.InTx(ctx, chosen, func(tx pgx.Tx) error {
		if items, err = control.AddReplayRun(ctx, tx, r); err != nil {
			return err
		}
		if err := p.promoted(ctx, tx, r, items); err != nil {
			return err
		}
		return p.Outbox.Append(ctx, tx, runEvent(r, schemas.ReplayRequested, r.Reason, items))
	})
	if err != nil {
		return 0, fmt.Errorf("request the replay: %w", err)
	}
	return items, nil
}

// promoted tells, where a replay promotes a shadow, that this was done. A shadow
// that still runs is not promoted.
func (p *Planner) promoted(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, items int64) error {
	if r.Promotes == "" {
		return nil
	}
	shadow, err := control.TakeReplayRun(ctx, tx, r.Promotes, true)
	switch {
	case err != nil:
		return err
	case shadow == nil:
		return control.ErrNoReplay
	case shadow.State != control.ReplayDone:
		return fmt.Errorf("%w: it is %s", ErrShadowUndone, shadow.State)
	case shadow.Phase != r.Phase:
		return fmt.Errorf("a shadow from %s is not promoted from %s", shadow.Phase, r.Phase)
	}
	shadow.ChangedBy, shadow.ChangedAt = r.By, r.At
	if err := control.ChangeReplayRun(ctx, tx, shadow); err != nil {
		return err
	}
	return p.Outbox.Append(ctx, tx, runEvent(shadow, "promoted", r.Reason, items))
}

// Errors of shadows that cannot be.
var (
	ErrShadowUndone   = errors.New("the shadow is not done: let it run to its end, then compare")
	ErrShadowDownload = errors.New("a shadow does not begin with download: other bytes are news, which no shadow can keep from the sources; begin with unzip")
	ErrShadowData     = errors.New("a shadow does not begin with data: checks judge what the warehouse holds, and have no result beside it; begin with upload to see which rows would differ, or replay from data without a shadow")
)

// checkRun refuses a run that cannot be: the ids of shadows, and no others, say
// that they are.
func checkRun(r *control.ReplayRun) error {
	switch shadow := r.Shadow != ""; {
	case shadow != schemas.IsShadow(r.ID):
		return fmt.Errorf("the run %s cannot have the shadow %q: its id says otherwise", r.ID, r.Shadow)
	case shadow && r.Phase == schemas.FromDownload:
		return ErrShadowDownload
	case shadow && r.Phase == schemas.FromData:
		return ErrShadowData
	}
	return nil
}

// StopRun lets a replay request nothing more until it is resumed; what is under
// way goes on to its end. It returns the replay, and whether that changed it.
func (p *Planner) StopRun(ctx context.Context, name, by, reason string) (control.ReplayRun, bool, error) {
	return p.changeRun(ctx, name, by, reason, control.ReplayRunning, control.ReplayStopped)
}

// ResumeRun lets a replay that was stopped go on. Of one that was lost with
// control, and of which nothing is left, it is an error: it would be done at
// once, with nothing done.
func (p *Planner) ResumeRun(ctx context.Context, name, by, reason string) (control.ReplayRun, bool, error) {
	return p.changeRun(ctx, name, by, reason, control.ReplayStopped, control.ReplayRunning)
}

func (p *Planner) changeRun(ctx context.Context, name, by, reason, from, to string) (out control.ReplayRun, changed bool, err error) {
	if out, err = control.ReadReplayRun(ctx, p.Pool, name); err != nil {
		return out, false, err
	}
	err = pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		r, err := control.TakeReplayRun(ctx, tx, out.ID, true)
		if err != nil || r == nil {
			return err
		}
		if out = *r; r.State != from {
			return nil
		}
		if to == control.ReplayRunning && r.Lost > 0 {
			if waits, err := control.ReplayWaits(ctx, tx, r.ID); err != nil {
				return err
			} else if !waits {
				return fmt.Errorf("%w, and nothing tells which %d of its items were: ask for a new replay, by what chose them: see tributary replay show %d", control.ErrLost, r.Lost, r.Number)
			}
		}
		r.State, r.ChangedBy, r.ChangedAt, r.PacedAt = to, by, p.Now(), p.Now()
		if err := control.ChangeReplayRun(ctx, tx, r); err != nil {
			return err
		}
		out, changed = *r, true
		what := "stopped"
		if to == control.ReplayRunning {
			what = "resumed"
		}
		return p.Outbox.Append(ctx, tx, runEvent(r, what, reason, 0))
	})
	if err != nil {
		return out, false, fmt.Errorf("change replay %d: %w", out.Number, err)
	}
	return out, changed, nil
}
