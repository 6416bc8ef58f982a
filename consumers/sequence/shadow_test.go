//go:build !race

package sequence

import (
	"testing"
	"time"

	"tributary/schemas"
)

// A shadow's verdicts are kept and its attempts end, but nothing of it is
// ordered, in no batch; and a session's batch waits for no shadow.
func TestShadowsAreNotOrdered(t *testing.T) {
	b := newBench(t)
	session := b.session()
	f := b.extracted(session, "H", "add", "2026-01-01", 1, 1)
	b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.release()
	b.ordered()
	b.now = b.now.Add(time.Minute)
	done, under := b.shadow(), b.shadow()
	b.replayed(f, done, 7)
	b.read(of(done, 8, f.verdict("specimen", "2026-01-01", 1, schemas.FailedEnd)))
	if got := b.text("SELECT state, result, batch FROM control.acquisition WHERE run = $1", done); got != "(ended,complete,)" {
		t.Errorf("the shadow's attempt is %s", got)
	}
	if got := b.text("SELECT result FROM control.document WHERE run = $1", done); got != "(failed)" {
		t.Errorf("its verdicts are %s", got)
	}
	// The file's next look, in a session of its own, has it under way beside a
	// shadow.
	later := b.session()
	live := b.extracted(later, "H", "add", "2026-02-01", 1, 1)
	b.replayed(live, under, 8)
	b.read(live.verdict("specimen", "2026-02-01", 1, schemas.Valid))
	b.now = b.now.Add(time.Hour)
	b.release()
	for _, o := range b.ordered() {
		if o.Run != schemas.LiveRun {
			t.Errorf("a shadow is ordered: %+v", o)
		}
	}
	if got := b.text("SELECT released_at IS NOT NULL FROM control.batch WHERE session = $1", later); got != "(t)" {
		t.Error("the session's batch waits for a shadow")
	}
	if got := b.text("SELECT count(*) FROM control.batch WHERE session IS NULL"); got != "(0)" {
		t.Errorf("%s late batches were opened", got)
	}
}

// shadow is the id of a new shadow run.
func (b *bench) shadow() string {
	b.t.Helper()
	id, err := schemas.NewShadowRun()
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}
