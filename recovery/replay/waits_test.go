//go:build !race

package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/schemas"
	"tributary/sql/control"
)

// A file that is under way is waited for, and the replay says what for, until it
// is taken up.
func TestAReplaySaysWhatItWaitsFor(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	ask := func(want ...control.ReplayWait) {
		t.Helper()
		r := m.runs[len(m.runs)-1]
		got, err := control.ReplayWaitsFor(t.Context(), m.Pool, r.ID)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	first := m.turns()
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.turns()
	ask(control.ReplayWait{Items: 1, Message: "the file is under way: received", Example: "add/f.zip"})
	m.finish(first)
	m.Clock = m.Clock.Add(time.Minute)
	m.turns()
	ask()
	// What is to be fetched waits with its source.
	m.Exec("UPDATE control.source SET state = 'maintenance'")
	m.Exec("ALTER TABLE control.acquisition DISABLE TRIGGER guard") // it is as if its attempt had not ended
	m.Exec("UPDATE control.acquisition SET state = 'wanted', result = '', ended_at = NULL WHERE attempt = 1")
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.turns()
	ask(control.ReplayWait{Items: 1, Message: "the file is to be fetched, and no source of it is available now: make one available, or remove it", Example: "add/f.zip"})
}
