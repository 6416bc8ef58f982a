package poll

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// Whichever way our clock is set, and by however much, no file is new and none is gone. One
// that has not settled does not wait until a clock that was set back has come there again,
// nor is it taken at once then.
func TestOurClockIsSetWhileAFileSettles(t *testing.T) {
	b := newBench(t)
	settle := b.cfg.Settle.D()
	b.server.show("H.2026-01-01.1.impc.zip", 10)
	b.listing()
	b.now = b.now.Add(settle)
	b.listing()
	const year = 365 * 24 * time.Hour
	for i, by := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, year, -year, -year, year} {
		name := []string{"H.2026-01-02.1.impc.zip", "H.2026-01-02.2.impc.zip", "H.2026-01-02.3.impc.zip", "H.2026-01-02.4.impc.zip",
			"H.2026-01-02.5.impc.zip", "H.2026-01-02.6.impc.zip", "H.2026-01-02.7.impc.zip", "H.2026-01-02.8.impc.zip"}[i]
		b.server.show(name, int64(i))
		b.listing()
		b.now = b.now.Add(by)
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error { // as whoever opens sessions does
			was, err := control.WaitNoLonger(t.Context(), tx, b.now)
			if (was > 0) != (by < 0) {
				t.Errorf("set by %s, it is found to be set back by %s", by, was)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if b.listing(); by < 0 && b.text("SELECT settled FROM control.hosting WHERE name = $1", name) != "false" {
			t.Errorf("set by %s: what was shown a moment ago has settled", by)
		}
		b.now = b.now.Add(settle)
		b.listing()
		if got := b.text("SELECT count(*), count(*) FILTER (WHERE settled AND state = 'present'), max(look) FROM control.hosting"); got != b.text("SELECT $1::int + 2, $1::int + 2, 1", i) {
			t.Errorf("set by %s: files, those that have settled, and the greatest look are %s", by, got)
		}
		if got := b.text("SELECT class, count(*) FROM control.look GROUP BY 1"); got != b.text("SELECT 'announced', $1::int + 2", i) {
			t.Errorf("set by %s: looks are %s", by, got)
		}
	}
}
