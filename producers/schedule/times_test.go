//go:build !race

package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
)

// timed is a bench with one source that has such times, from noon UTC on.
func timed(t *testing.T, times func(*config.Source)) *bench {
	t.Helper()
	src := two()[0]
	src.Interval = 0
	times(&src)
	b := newBench(t, src)
	b.cfg.Schedule.Jitter = 0
	b.sync()
	b.events()
	return b
}

// tick lets the scheduler look once, at a time of UTC, and tells which session it
// opens, if any. All polls end before, so that none is an overrun.
func (b *bench) tick(at string) string {
	b.t.Helper()
	b.exec("UPDATE control.poll SET state = 'complete'")
	return b.look(at)
}

func (b *bench) look(at string) string {
	b.t.Helper()
	var err error
	if b.now, err = time.Parse(time.RFC3339, at+"Z"); err != nil {
		b.t.Fatal(err)
	}
	before := b.text("SELECT max(number) FROM control.session")
	synced := true
	if err := b.turn(b.t.Context(), &synced); err != nil {
		b.t.Fatal(err)
	}
	if b.text("SELECT max(number) FROM control.session") == before {
		return ""
	}
	return b.text("SELECT string_agg(source, '+' ORDER BY source) FROM control.poll JOIN control.session s ON s.id = session AND number = (SELECT max(number) FROM control.session)")
}

func (b *bench) due() string {
	b.t.Helper()
	return b.text("SELECT to_char(next_due AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') FROM control.source WHERE id = 'a'")
}

// A source with a cron expression is polled at its times, in its time zone: what was
// missed is made up for once, and an overrun waits for the next time.
func TestPollsByCron(t *testing.T) {
	b := timed(t, func(s *config.Source) { s.Cron, s.TimeZone = "30 2 * * *", "Europe/Berlin" })
	for _, step := range []struct {
		what, at, opens, due string
		running              bool
	}{
		{"the first poll is at once", "2026-03-28T12:00:00", "(a)", `("2026-03-29 01:00")`, false},
		{"not before its time", "2026-03-29T00:59:59", "", `("2026-03-29 01:00")`, false},
		{"a time that is skipped is that of the change", "2026-03-29T01:00:00", "(a)", `("2026-03-30 00:30")`, false},
		{"what was missed for days is made up for once", "2026-04-03T09:00:00", "(a)", `("2026-04-04 00:30")`, false},
		{"once", "2026-04-03T09:00:01", "", `("2026-04-04 00:30")`, false},
		{"the next poll", "2026-04-04T00:30:00", "(a)", `("2026-04-05 00:30")`, false},
		{"an overrun waits for the next time", "2026-04-05T00:30:00", "", `("2026-04-06 00:30")`, true},
	} {
		look := b.tick
		if step.running {
			look = b.look
		}
		if got := look(step.at); got != step.opens {
			t.Errorf("%s: polled %q, want %q", step.what, got, step.opens)
		}
		if got := b.due(); got != step.due {
			t.Errorf("%s: due %s, want %s", step.what, got, step.due)
		}
	}
	if got := b.text("SELECT overruns FROM control.source"); got != "(1)" {
		t.Errorf("overruns are %s", got)
	}
}

// A source whose polls find nothing is polled ever more rarely, up to its bound.
func TestTheIntervalOfAnUnchangedSourceGrows(t *testing.T) {
	b := timed(t, func(s *config.Source) {
		s.Interval, s.MaxInterval = config.Duration(time.Hour), config.Duration(5*time.Hour)
	})
	for unchanged, want := range []string{"13:00", "14:00", "16:00", "17:00", "17:00"} {
		b.exec("UPDATE control.source SET unchanged = $1, next_due = '-infinity'", unchanged)
		b.tick("2026-03-01T12:00:00")
		if got := b.due(); got != `("2026-03-01 `+want+`")` {
			t.Errorf("after %d polls that found nothing it is due %s, want %s", unchanged, got, want)
		}
	}
}

// Outside of its window nothing of a source is polled, also at once; what was due
// meanwhile is when it opens. A window that nobody moves on has closed.
func TestPollsKeepToWindows(t *testing.T) {
	b := timed(t, func(s *config.Source) {
		s.Interval, s.TimeZone = config.Duration(time.Hour), "America/New_York"
		s.Windows = []config.Window{{Cron: "0 22 * * *", For: config.Duration(2 * time.Hour)}}
	})
	for _, step := range []struct{ what, at, opens string }{
		{"before it opens", "2026-03-02T02:59:59", ""},
		{"when it opens", "2026-03-02T03:00:00", "(a)"},
		{"an hour later", "2026-03-02T04:00:00", "(a)"},
		{"when it closes", "2026-03-02T05:00:00", ""},
		{"the next night", "2026-03-03T03:00:00", "(a)"},
	} {
		if got := b.tick(step.at); got != step.opens {
			t.Errorf("%s: polled %q, want %q", step.what, got, step.opens)
		}
	}
	if got := b.look("2026-03-03T05:30:00"); got != "" || b.text("SELECT overruns FROM control.source") != "(0)" {
		t.Errorf("a poll that goes on beyond the window is an overrun, or another is opened: %s", got)
	}
	b.exec("UPDATE control.poll SET state = 'complete'")
	if _, err := b.Open(t.Context(), true); !errors.Is(err, ErrNothingDue) {
		t.Errorf("outside of its window, at once: %v", err)
	}
	err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		said, err := sourcestate.Poll(t.Context(), tx, b.deps.Outbox, []string{"a"}, sourcestate.Cause{}, b.now)
		if len(said) != 1 || !said[0].Done || said[0].Detail != "it is outside of its window, and due when that opens, at 2026-03-04T03:00:00Z" {
			t.Errorf("ordered at once, it says %+v", said)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	unlisted := func() control.Listing {
		t.Helper()
		all, err := control.Unlisted(t.Context(), b.deps.Pool, uuid.Nil.String(), b.now)
		if err != nil || len(all) != 1 {
			t.Fatalf("not listed are %+v, %v", all, err)
		}
		return all[0]
	}
	if l := unlisted(); l.Opens == nil || l.Opens.UTC().Format(time.RFC3339) != "2026-03-04T03:00:00Z" {
		t.Errorf("it is not listed, as %+v says", l)
	}
	b.exec("UPDATE control.source SET state = 'suspended', suspended_at = now(), next_due = '-infinity'")
	if got := b.tick("2026-03-03T05:31:00"); got != "" {
		t.Error("it is probed outside of its window")
	}
	if l := unlisted(); l.Opens != nil || l.Exception != "source_suspended" {
		t.Errorf("suspended, it is not listed, as %+v says", l)
	}
	b.exec("UPDATE control.source SET state = 'available'")
	b.now = b.now.Add(48 * time.Hour)
	if _, err := b.Open(t.Context(), false); !errors.Is(err, ErrNothingDue) {
		t.Errorf("though nobody has moved the window on: %v", err)
	}
	if got := b.tick("2026-03-05T04:00:00"); got != "(a)" {
		t.Errorf("once somebody does: %q", got)
	}
	b.events()
	b.cfg.Sources[0].Windows = nil
	b.sync()
	if got := b.tick("2026-03-05T06:00:00"); got != "(a)" {
		t.Errorf("without a window: %q", got)
	}
}

// A source whose times can't be computed is taken out, with the reason, and the
// others are polled: when it is due, when its poll takes too long, and when its
// window closes.
func TestATimetableThatCannotBeComputed(t *testing.T) {
	const bad = `{"id": "a", "cron": "0 3 * * *", "time_zone": "Mars/Olympus"}`
	for name, happens := range map[string]func(b *bench){
		"it is due": func(b *bench) { b.exec("UPDATE control.source SET definition = $1::text::jsonb WHERE id = 'a'", bad) },
		"its poll takes too long": func(b *bench) {
			b.tick("2026-03-01T11:00:00")
			b.events()
			b.exec("UPDATE control.poll SET state = 'complete' WHERE source <> 'a'")
			b.exec("UPDATE control.source SET next_due = '-infinity', definition = CASE id WHEN 'a' THEN $1::text::jsonb ELSE definition END", bad)
		},
		"its window closes": func(b *bench) {
			b.exec("UPDATE control.source SET opens = $2, closes = $2, definition = $1::text::jsonb WHERE id = 'a'", bad, b.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, two()...)
			b.sync()
			b.events()
			happens(b)
			if got := b.look("2026-03-01T12:00:00"); got != "(b)" {
				t.Errorf("polled are %s", got)
			}
			if got := b.text("SELECT state FROM control.source ORDER BY id"); got != "(maintenance) (available)" {
				t.Errorf("the sources are %s", got)
			}
			var told []string
			for _, e := range b.events() {
				if e.Entity == schemas.EntitySource {
					told = append(told, e.Source+" "+e.Exception+" "+e.Attributes["state"])
					if !strings.Contains(e.Message, `time_zone: "Mars/Olympus" is no time zone`) {
						t.Errorf("the reason is %q", e.Message)
					}
				}
			}
			if len(told) != 1 || told[0] != "a schedule_invalid maintenance" {
				t.Errorf("told is %q", told)
			}
			b.look("2026-03-01T12:00:01")
			if e := b.events(); len(e) != 0 {
				t.Errorf("told again: %+v", e)
			}
		})
	}
}

// A maintenance with an end is over then, without anybody, and can get another end.
func TestMaintenanceUntil(t *testing.T) {
	b := timed(t, func(*config.Source) {})
	order := func(until string) string {
		t.Helper()
		var end *time.Time
		if until != "" {
			at, err := time.Parse(time.RFC3339, until)
			if err != nil {
				t.Fatal(err)
			}
			end = &at
		}
		var said string
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			out, err := sourcestate.MaintainUntil(end)(t.Context(), tx, b.deps.Outbox, []string{"a"}, sourcestate.Cause{}, b.now)
			for _, o := range out {
				said = o.Detail
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	if got := order("2026-03-01T18:00:00+01:00"); !strings.Contains(got, "until 2026-03-01T17:00:00Z, or until it is resumed") {
		t.Errorf("it says %q", got)
	}
	if e := b.events(); len(e) != 1 || e[0].Attributes["maintained_until"] != "2026-03-01T17:00:00Z" {
		t.Errorf("told is %+v", e)
	}
	if got := order("2026-03-01T17:00:00Z"); got != "it is in maintenance already" {
		t.Errorf("the same again: %q", got)
	}
	order("2026-03-01T16:00:00Z")
	b.events()
	if got := b.look("2026-03-01T15:59:59"); got != "" {
		t.Error("it is polled before the end")
	}
	if got := b.look("2026-03-01T16:00:00"); got != "(a)" {
		t.Errorf("at the end it is not polled: %q", got)
	}
	if e := b.events(); len(e) != 2 || e[0].Attributes["state"] != "available" || e[0].Attributes["maintained_until"] != "" || e[0].Message != "its maintenance was until 2026-03-01T16:00:00Z" {
		t.Errorf("told is %+v", e)
	}
	order("2026-03-01T20:00:00Z")
	if order(""); b.text("SELECT maintained_until IS NULL FROM control.source") != "(t)" {
		t.Error("without an end it has one")
	}
	// An older member ends a maintenance and begins another, and knows no ends.
	order("2026-03-01T20:00:00Z")
	b.exec("UPDATE control.source SET state = 'available'")
	b.tick("2026-03-01T16:00:01")
	b.exec("UPDATE control.source SET state = 'maintenance'")
	if b.tick("2026-03-01T20:00:00"); b.text("SELECT state FROM control.source") != "(maintenance)" {
		t.Error("a maintenance without an end is over")
	}
}
