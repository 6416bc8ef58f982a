package schedule

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// No source is due whose server has asked to be left alone, until then, or until a person
// wants it. Whoever runs once asks all.
func TestWhatIsLeftAloneIsNotDue(t *testing.T) {
	b := newBench(t, two()...)
	b.sync()
	open := func(once bool) string {
		t.Helper()
		b.exec("UPDATE control.poll SET state = 'complete'")
		id, err := b.Open(t.Context(), once)
		if errors.Is(err, ErrNothingDue) {
			return "nothing"
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.text("SELECT string_agg(source, '+' ORDER BY source) FROM control.poll WHERE session = $1", id)
	}
	due := func() { b.exec("UPDATE control.source SET next_due = $1", b.now) }
	rest := func(server string) {
		t.Helper()
		if err := control.LeaveAlone(t.Context(), b.deps.Pool, server, b.now, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	rest("files.example.org:22")
	due()
	for _, tt := range []struct {
		about string
		after time.Duration
		once  bool
		want  string
	}{
		{"one is left alone", 0, false, "(b)"}, {"the other is not due again", time.Minute, false, "nothing"},
		{"once", 2 * time.Minute, true, "(a+b)"}, {"the time is over", time.Hour, false, "(a+b)"},
	} {
		b.now = noon.Add(tt.after)
		if tt.after == time.Hour {
			due()
		}
		if got := open(tt.once); got != tt.want {
			t.Errorf("%s: %s is due, want %s", tt.about, got, tt.want)
		}
	}
	rest("files.example.org:22")
	rest("ftp.example.org:21")
	due()
	b.exec("UPDATE control.poll SET state = 'complete'")
	if err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		_, err := sourcestate.Poll(t.Context(), tx, b.deps.Outbox, []string{"a"}, sourcestate.Cause{Done: "now"}, b.now)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := open(false); got != "(a)" {
		t.Errorf("a person wants one of two that are left alone: %s is due", got)
	}
}
