//go:build !race

package schedule

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// A source for which once is enough is polled until a poll was complete, never counted
// as an overrun meanwhile, and from then on when a person asks, or defines it
// otherwise, however it is defined.
func TestPolledOnce(t *testing.T) {
	b := timed(t, func(s *config.Source) { s.Cron = "@once" })
	complete := func() {
		t.Helper()
		b.exec("UPDATE control.poll SET state = 'complete'")
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			return control.Rest(t.Context(), tx, control.Poll{Source: "a", Definition: b.standing().Definition})
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := b.standing(); !s.OnDemand || s.Due != nil {
			t.Errorf("after a complete poll it stands as %+v", s)
		}
	}
	order := func() {
		t.Helper()
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			said, err := sourcestate.Poll(t.Context(), tx, b.deps.Outbox, []string{"a"}, sourcestate.Cause{}, b.now)
			if len(said) != 1 || !said[0].Done || said[0].Detail != "it is due at once" {
				t.Errorf("ordered at once, it says %+v", said)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		what    string
		happens func()
		at      string
		opens   string
	}{
		{"the first poll is at once", func() {}, "2026-03-28T12:00:00", "(a)"},
		{"it goes on for long", func() {}, "2026-03-28T18:00:00", ""},
		{"it was not complete", func() { b.exec("UPDATE control.poll SET state = 'failed'") }, "2026-03-28T18:01:00", "(a)"},
		{"it was complete", complete, "2026-03-29T12:00:00", ""},
		{"months later", func() {}, "2026-07-29T12:00:00", ""},
		{"somebody asks", order, "2026-07-29T12:00:01", "(a)"},
		{"it rests again", complete, "2026-07-30T12:00:00", ""},
		{"it is defined as it was", b.sync, "2026-07-30T12:00:01", ""},
		{"it is reached in another way", func() { b.cfg.Sources[0].URL += "/new"; b.sync() }, "2026-07-30T12:00:02", "(a)"},
		{"and rests again", complete, "2026-07-31T12:00:00", ""},
		{"it is taken out, and in again", func() {
			all := b.cfg.Sources
			b.cfg.Sources = nil
			b.sync()
			b.cfg.Sources = all
			b.sync()
		}, "2026-07-31T12:00:01", "(a)"},
		{"and rests once more", complete, "2026-08-01T12:00:00", ""},
		{"it is to be polled by interval", func() { b.cfg.Sources[0].Cron = ""; b.sync() }, "2026-08-01T12:00:01", "(a)"},
	} {
		step.happens()
		if got := b.look(step.at); got != step.opens {
			t.Errorf("%s: polled %q, want %q", step.what, got, step.opens)
		}
	}
	if got := b.text("SELECT overruns FROM control.source"); got != "(0)" {
		t.Errorf("overruns are %s", got)
	}
}

// standing is how the source a stands.
func (b *bench) standing() control.Standing {
	b.t.Helper()
	all, err := control.Standings(b.t.Context(), b.deps.Pool, "a")
	if err != nil || len(all) != 1 {
		b.t.Fatalf("%d sources, %v", len(all), err)
	}
	return all[0]
}
