package order

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/profile"
	"tributary/queries/asof"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
)

// Wanted is a replay that somebody asks for.
type Wanted struct {
	From         string // the phase to begin with
	Where        string // a condition in SQL on the tracker's view file; empty: none
	Since, Until string // bounds of a file's last event, as asof.Moments; empty: none
	Shadow       string // keep the results beside the live ones, under this name
	Stale        bool   // only files of which something was judged or loaded by other versions than those of now; From may then be empty
}

// Command is how the command line asks for it, but for the reason.
func (w Wanted) Command() string {
	command := "tributary replay --from " + or(w.From, "PHASE")
	if w.Stale {
		command = "tributary replay --stale"
		if w.From != "" {
			command += " --from " + w.From
		}
	}
	for _, flag := range [][2]string{{"where", w.Where}, {"since", w.Since}, {"until", w.Until}, {"shadow", w.Shadow}} {
		if flag[1] != "" {
			command += " --" + flag[0] + " " + quoted(flag[1])
		}
	}
	return command
}

// choice is what is wanted, if it can be.
func (w Wanted) choice(now time.Time) (c replay.Choice, err error) {
	c.Predicate = strings.TrimSpace(w.Where)
	switch {
	case w.Stale && w.From != "" && !slices.Contains(profile.VersionedPhases(), w.From):
		return c, bad("nothing is stale in %q: begin with one of %s, or leave it out", w.From, strings.Join(profile.VersionedPhases(), ", "))
	case !w.Stale && !slices.Contains(schemas.ReplayPhases(), w.From):
		return c, bad("from which phase? %q is none of %s", w.From, strings.Join(schemas.ReplayPhases(), ", "))
	case !w.Stale && c.Predicate == "" && w.Since == "" && w.Until == "":
		return c, bad("which files? Write a condition, or since and until when something was heard of them; true means all")
	}
	for _, bound := range []struct {
		text string
		at   **time.Time
	}{{w.Since, &c.Since}, {w.Until, &c.Until}} {
		if bound.text == "" {
			continue
		}
		at, err := asof.ParseMoment(bound.text, now)
		if err != nil {
			return c, bad("%v", err)
		}
		*bound.at = &at
	}
	if c.Since != nil && c.Until != nil && !c.Since.Before(*c.Until) {
		return c, bad("%s is not before %s, so no file is meant", w.Since, w.Until)
	}
	if err := errors.Join(replay.CheckShadow(w.Shadow, w.From), c.Check()); err != nil {
		return c, bad("%v", err)
	}
	return c, nil
}

// Replay asks for a replay, or only says what it would be.
func (d Deps) Replay(ctx context.Context, w Wanted, by control.Decision, dry bool) (replay.Requested, error) {
	choice, err := w.choice(by.At)
	if err != nil {
		return replay.Requested{}, err
	}
	var r *control.ReplayRun
	if w.Stale || !dry {
		if r, err = d.Run(w.Shadow != ""); err != nil {
			return replay.Requested{}, err
		}
		r.By, r.Reason = by.By, by.Reason
	}
	var found []replay.StalePhase
	if w.Stale {
		if found, err = d.stale(ctx, &w, &choice, r); err != nil || choice.Stale == nil {
			return replay.NothingStale(w.From, found), err
		}
	}
	t := replay.NewTally(w.From, w.Shadow)
	t.Stale = found
	items := t.Items(replay.Choose(ctx, d.Tracker, choice))
	if dry {
		for _, err := range items {
			if err != nil {
				return replay.Requested{}, chosenBadly(err)
			}
		}
		return t.Requested(nil), nil
	}
	r.Phase, r.Predicate, r.Since, r.Until, r.Shadow = w.From, choice.Predicate, choice.Since, choice.Until, w.Shadow
	next, stop := iter.Pull2(items)
	defer stop()
	m := &replay.Manager{Pool: d.Control, Outbox: d.Outbox, Now: func() time.Time { return by.At }}
	if _, err := m.Request(ctx, r, func() (control.ReplayItem, bool, error) {
		item, err, ok := next()
		return item, ok && err == nil, err
	}); err != nil {
		return replay.Requested{}, chosenBadly(err)
	}
	return t.Requested(r), nil
}

// stale looks for what is stale by the profile of a run that is asked for, and chooses that
// and the phase to begin with. Where nothing is stale in it, nothing is chosen.
func (d Deps) stale(ctx context.Context, w *Wanted, c *replay.Choice, r *control.ReplayRun) ([]replay.StalePhase, error) {
	var now profile.Versions
	if err := json.Unmarshal(r.Versions, &now); err != nil {
		return nil, fmt.Errorf("versions of the profile: %w", err)
	}
	found, err := replay.FindStale(ctx, d.Tracker, *c, w.From, now)
	if err != nil {
		return nil, chosenBadly(err)
	}
	if len(found) == 0 || w.From != "" && found[0].Phase != w.From {
		return found, nil
	}
	w.From = found[0].Phase
	if err := replay.CheckShadow(w.Shadow, w.From); err != nil {
		return nil, bad("%v", err)
	}
	c.Stale = &replay.Stale{Phase: w.From, Versions: now}
	r.Reason = cmp.Or(r.Reason, "stale in "+w.From)
	return found, nil
}

// chosenBadly is an error of choosing, of which who asks is told where it is theirs to
// mend.
func chosenBadly(err error) error {
	p := (*pgconn.PgError)(nil)
	switch {
	case errors.Is(err, replay.ErrNothingChosen), errors.Is(err, control.ErrShadowName), errors.Is(err, context.DeadlineExceeded):
		return bad("%v", err)
	case errors.As(err, &p) && (strings.HasPrefix(p.Code, "42") || strings.HasPrefix(p.Code, "22") || p.Code == "25006" || p.Code == "53400" || p.Code == "57014"):
		return bad("%v", err)
	}
	return err
}
