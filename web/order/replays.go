package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tributary/recovery/replay"
	"tributary/sql/control"
	"tributary/web/access"
)

// replays are the orders about replays that run.
func replays(d Deps) Table {
	one := func(from, dry string, change func(m *replay.Manager, ctx context.Context, name, by, reason string) (control.ReplayRun, bool, error)) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (Outcome, error) {
			m := &replay.Manager{Pool: d.Control, Outbox: d.Outbox, Now: func() time.Time { return a.At }}
			give := change
			if a.Dry {
				give = func(_ *replay.Manager, ctx context.Context, name, _, _ string) (control.ReplayRun, bool, error) {
					r, err := control.ReadReplayRun(ctx, d.Control, name)
					return r, r.State == from, err
				}
			}
			r, changed, err := give(m, ctx, a.Subject, a.By, a.Reason)
			switch {
			case errors.Is(err, control.ErrNoReplay), errors.Is(err, control.ErrLost):
				return Outcome{Subject: a.Subject, Done: false, Detail: err.Error()}, nil
			case err != nil:
				return Outcome{}, err
			case !changed:
				return Outcome{Subject: a.Subject, Done: false, Detail: fmt.Sprintf("it is %s, since %s by %s", r.State, r.ChangedAt.UTC().Format(time.RFC3339), r.ChangedBy)}, nil
			}
			return Outcome{Subject: a.Subject, Done: true, Detail: dry}, nil
		}
	}
	t := Table{
		{
			Name: "stop", Verb: "Stop replay", About: "It requests nothing more until it is resumed. What is under way goes on to its end.",
			Offered: func(state string) bool { return state == control.ReplayRunning }, Otherwise: "it is not running",
			give: one(control.ReplayRunning, "it requests nothing more until it is resumed", (*replay.Manager).Stop),
		},
		{
			Name: "resume", Verb: "Resume replay", About: "It goes on with what it has left.",
			Offered: func(state string) bool { return state == control.ReplayStopped }, Otherwise: "it is not stopped",
			give: one(control.ReplayStopped, "it goes on with what it has left", (*replay.Manager).Resume),
		},
	}
	for i := range t {
		name := t[i].Name
		t[i].On, t[i].Least = Replays, access.Wrangler
		t[i].Command = func(a Asked) string { return "tributary replay " + name + " " + quoted(a.Subject) }
	}
	return append(t, promote(d))
}
