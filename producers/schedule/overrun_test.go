//go:build !race

package schedule

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/schemas"
)

// A poll that has not ended when the next is due is an overrun: it is counted and
// told, the source is due again an interval later, and is never polled twice at
// once.
func TestAnOverrunIsCountedAndPushedOut(t *testing.T) {
	for name, state := range map[string]string{"it runs": "running", "it waits for its turn": "due"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, two()...)
			b.cfg.Schedule.Jitter = 0
			b.sync()
			if _, err := b.Open(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			b.exec("UPDATE control.poll SET state = CASE WHEN source = 'a' THEN $1 ELSE 'complete' END", state)
			b.events()
			synced := true
			turn := func(after time.Duration) {
				t.Helper()
				b.now = noon.Add(after)
				b.exec("UPDATE control.source SET next_due = 'infinity' WHERE id = 'b'")
				if err := b.turn(t.Context(), &synced); err != nil {
					t.Fatal(err)
				}
			}
			overruns := func() (out []string) {
				t.Helper()
				for _, e := range b.events() {
					if e.Entity != schemas.EntitySource || e.Source != "a" || e.Attributes["state"] != "available" || e.Message != overrun {
						t.Errorf("the event is %+v", e)
					}
					out = append(out, e.Attributes["overruns"])
				}
				return out
			}
			turn(59 * time.Minute)
			if got := overruns(); len(got) != 0 {
				t.Errorf("before the source is due: %v", got)
			}
			for i, want := range []string{"1", "2"} {
				at := time.Duration(i+1) * time.Hour
				turn(at)
				turn(at + time.Minute) // and once only
				if d := cmp.Diff([]string{want}, overruns()); d != "" {
					t.Errorf("overruns told (- want, + got):\n%s", d)
				}
				if got := b.text("SELECT overruns, next_due = $1 FROM control.source WHERE id = 'a'", noon.Add(at+time.Hour)); got != "("+want+",t)" {
					t.Errorf("overruns and whether it is due an interval later: %s", got)
				}
			}
			if got := b.text("SELECT count(*) FROM control.poll WHERE source = 'a'"); got != "(1)" {
				t.Errorf("polls of the source: %s", got)
			}
			b.exec("UPDATE control.poll SET state = 'complete'")
			turn(3 * time.Hour)
			if got := b.text("SELECT count(*) FROM control.poll WHERE source = 'a'"); got != "(2)" {
				t.Errorf("after the poll has ended: %s polls", got)
			}
			if events := b.events(); len(events) != 1 || events[0].Entity != schemas.EntitySession {
				t.Errorf("after the poll has ended: %+v", events)
			}
		})
	}
}

// A suspended source is probed when it is due, and not before, also by a round
// with --once, whatever the configuration says of it otherwise.
func TestASuspendedSourceIsOnlyProbed(t *testing.T) {
	b := newBench(t, two()[0])
	b.sync()
	since := noon.Add(-time.Hour)
	b.exec("UPDATE control.source SET state = 'suspended', suspended_at = $1, suspended_why = 'why', next_due = $2", since, noon.Add(time.Minute))
	b.events()
	for _, once := range []bool{false, true} {
		if _, err := b.Open(t.Context(), once); !errors.Is(err, ErrNothingDue) {
			t.Errorf("before a probe is due, once %v: %v", once, err)
		}
	}
	b.cfg.Sources[0].Interval = config.Duration(2 * time.Hour)
	b.sync()
	told := b.events()
	if len(told) != 1 || told[0].Attributes["state"] != "suspended" || told[0].Attributes["suspended_why"] != "why" || told[0].Attributes["suspended_at"] != since.Format(time.RFC3339Nano) {
		t.Errorf("a suspended source with another interval is told as %+v", told)
	}
	b.now = noon.Add(time.Minute)
	if _, err := b.Open(t.Context(), false); err != nil {
		t.Errorf("when a probe is due: %v", err)
	}
	if got := b.text("SELECT state FROM control.source"); got != "(suspended)" {
		t.Errorf("while it is probed it is %s", got)
	}
}
