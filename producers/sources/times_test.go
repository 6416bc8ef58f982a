package sources

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
)

// A source's window is stored with its definition, and one that opens by that has
// its files tried at once that failed since it was closed.
func TestAWindowIsStoredWithTheDefinition(t *testing.T) {
	night := byHand
	night.Windows = []config.Window{{Cron: "0 22 * * *", For: config.Duration(8 * time.Hour)}}
	day := night
	day.Windows = []config.Window{{Cron: "0 10 * * *", For: config.Duration(4 * time.Hour)}}
	b := newBench(t, inFile)
	window := func(want string) {
		t.Helper()
		if got := b.text("SELECT to_char(opens AT TIME ZONE 'UTC', 'DD HH24:MI'), to_char(closes AT TIME ZONE 'UTC', 'DD HH24:MI') FROM control.source WHERE id = 'b'"); got != want {
			t.Errorf("the window is %s, want %s", got, want)
		}
	}
	must(b.put(night))
	window(`("01 22:00","02 06:00")`)
	b.exec(`INSERT INTO control.file (id, name, action) VALUES (md5('f')::uuid, 'f', 'add')`)
	b.exec(`INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) VALUES ('b', md5('f')::uuid, 'add', 'f', 1, 1, now(), true, 'present')`)
	b.exec(`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, exception, retry_at) VALUES (md5('run')::uuid, md5('f')::uuid, 'H', 'b', 1, 1, 'ended', 'source_unavailable', 'infinity')`)
	retried := func(want string) {
		t.Helper()
		if got := b.text("SELECT retry_at = $1 FROM control.acquisition", b.now); got != want {
			t.Errorf("tried at once: %s, want %s", got, want)
		}
	}
	night.MaxSessions = 7
	must(b.put(night))
	retried("(f)")
	must(b.put(day))
	window(`("01 12:00","01 14:00")`)
	retried("(t)")
	b.exec("UPDATE control.acquisition SET retry_at = 'infinity'")
	b.declare(inFile, night)
	window(`("01 22:00","02 06:00")`)
	retried("(f)")
	b.declare(inFile, day)
	retried("(t)")
	b.declare(inFile)
	must(b.put(byHand))
	window("(,)")

	// A definition whose times can't be computed is no reason to poll it at all times.
	bad := night
	bad.TimeZone = "Mars/Olympus"
	must(b.put(bad))
	window(`("01 12:00","01 12:00")`)
}

// What the configuration declares stays declared as it is, however late it is when a
// member starts.
func TestTheTimeIsNoChangeOfADeclaration(t *testing.T) {
	night := inFile
	night.Windows = []config.Window{{Cron: "0 22 * * *", For: config.Duration(8 * time.Hour)}}
	b := newBench(t, night)
	b.told()
	digest := b.text("SELECT count(*) FROM control.declaration")
	b.now = b.now.Add(36 * time.Hour)
	b.declare(night)
	if got := b.told(); len(got) > 0 || b.text("SELECT count(*) FROM control.declaration") != digest {
		t.Errorf("a day later it is another: %q", got)
	}
}

// An interval that a longest one stands beside is kept, though it is the
// configuration's default: what is exported can be applied.
func TestAnIntervalBesideItsBoundIsKept(t *testing.T) {
	b := newBench(t, inFile)
	grows := byHand
	grows.Interval, grows.MaxInterval = b.Config.Schedule.Interval, 4*b.Config.Schedule.Interval
	must(b.put(grows))
	b.do(func(tx pgx.Tx) error {
		st, err := Find(t.Context(), tx, "b")
		if err != nil {
			return err
		}
		src, err := config.ParseDefinition(st.Definition)
		if err == nil && src.Interval != grows.Interval {
			t.Errorf("it is stored as %s", st.Definition)
		}
		return err
	})
}
