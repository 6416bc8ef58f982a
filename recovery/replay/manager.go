package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// ErrNothingChosen says that a replay would have nothing to do.
var ErrNothingChosen = errors.New("nothing is chosen: no file fits")

// Manager requests, stops and resumes replays. Runners do what is requested.
type Manager struct {
	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Now    func() time.Time
}

// Request stores a replay with what it processes again, and tells of it: all
// or nothing, so that one that was asked for is whole. No transaction is open
// while next is asked for items. Runners take it up.
// Its phase, what chose the items, rate, By and Reason are given; the rest is
// filled in. It returns how many items there are.
func (m *Manager) Request(ctx context.Context, r *control.ReplayRun, next func() (control.ReplayItem, bool, error)) (items int64, err error) {
	if err := check(r); err != nil {
		return 0, err
	}
	// Found here it need not be chosen for nothing; whoever takes the name meanwhile
	// is found when the replay is stored.
	if named, err := control.ShadowNamed(ctx, m.Pool, r.Shadow); err != nil || named {
		return 0, fmt.Errorf("request the replay: %w", cmp.Or(err, control.ErrShadowName))
	}
	chosen, err := control.Gather(ctx, m.Pool, next)
	if err != nil {
		return 0, fmt.Errorf("request the replay: %w", err)
	}
	defer chosen.Close(ctx)
	if chosen.Empty() {
		return 0, fmt.Errorf("request the replay: %w", ErrNothingChosen)
	}
	r.At, r.State = m.Now(), control.ReplayRunning
	r.ChangedBy, r.ChangedAt, r.PacedAt = r.By, r.At, r.At
	err = pg.InTx(ctx, chosen, func(tx pgx.Tx) error {
		if items, err = control.AddReplayRun(ctx, tx, r); err != nil {
			return err
		}
		if err := m.promoted(ctx, tx, r, items); err != nil {
			return err
		}
		return m.Outbox.Append(ctx, tx, replayEvent(r, schemas.ReplayRequested, r.Reason, items))
	})
	if err != nil {
		return 0, fmt.Errorf("request the replay: %w", err)
	}
	return items, nil
}

// promoted tells of the shadow that a replay promotes, if it does. A shadow that
// still runs is not promoted.
func (m *Manager) promoted(ctx context.Context, tx pgx.Tx, r *control.ReplayRun, items int64) error {
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
	return m.Outbox.Append(ctx, tx, replayEvent(shadow, "promoted", r.Reason, items))
}

// Errors of shadows that cannot be.
var (
	ErrShadowUndone   = errors.New("the shadow is not done: let it run to its end, then compare")
	ErrShadowDownload = errors.New("a shadow does not begin with download: other bytes are news, which no shadow can keep from the sources; begin with unzip")
	ErrShadowData     = errors.New("a shadow does not begin with data: checks judge what the warehouse holds, and have no result beside it; begin with upload to see which rows would differ, or replay from data without a shadow")
)

// CheckShadow judges the name of a shadow that begins with a phase; no name is a replay
// that is live.
func CheckShadow(name, from string) error {
	switch {
	case name == "":
		return nil
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,62}$`).MatchString(name):
		return fmt.Errorf("the shadow %q is no name: use a letter, then letters, digits and any of . _ -, 63 at most", name)
	case from == schemas.FromDownload:
		return ErrShadowDownload
	case from == schemas.FromData:
		return ErrShadowData
	}
	return nil
}

// check refuses a run that cannot be: the ids of shadows, and no others, say
// that they are.
func check(r *control.ReplayRun) error {
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

// Stop lets a replay request nothing more until it is resumed; what is under
// way goes on to its end. It returns the replay, and whether that changed it.
func (m *Manager) Stop(ctx context.Context, name, by, reason string) (control.ReplayRun, bool, error) {
	return m.change(ctx, name, by, reason, control.ReplayRunning, control.ReplayStopped)
}

// Resume lets a replay that was stopped go on. Of one that was lost with
// control, and of which nothing is left, it is an error: it would be done at
// once, with nothing done.
func (m *Manager) Resume(ctx context.Context, name, by, reason string) (control.ReplayRun, bool, error) {
	return m.change(ctx, name, by, reason, control.ReplayStopped, control.ReplayRunning)
}

func (m *Manager) change(ctx context.Context, name, by, reason, from, to string) (out control.ReplayRun, changed bool, err error) {
	if out, err = control.ReadReplayRun(ctx, m.Pool, name); err != nil {
		return out, false, err
	}
	err = pg.InTx(ctx, m.Pool, func(tx pgx.Tx) error {
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
		r.State, r.ChangedBy, r.ChangedAt, r.PacedAt = to, by, m.Now(), m.Now()
		if err := control.ChangeReplayRun(ctx, tx, r); err != nil {
			return err
		}
		out, changed = *r, true
		what := "stopped"
		if to == control.ReplayRunning {
			what = "resumed"
		}
		return m.Outbox.Append(ctx, tx, replayEvent(r, what, reason, 0))
	})
	if err != nil {
		return out, false, fmt.Errorf("change replay %d: %w", out.Number, err)
	}
	return out, changed, nil
}
