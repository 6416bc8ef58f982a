//go:build !race

package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
)

// numbers are the replays that have requested something of the file, in the order
// of its attempts: of two runs of one version the higher number counts for the
// warehouse, and the later attempt is what the tracker shows.
func (m *bench) numbers() string {
	m.t.Helper()
	return m.Text("SELECT coalesce(array_agg(r.number ORDER BY a.attempt), '{}') FROM control.acquisition a JOIN control.replay r ON r.id = a.run")
}

// However long an earlier replay's file is waited for, a later replay's comes
// after it.
func TestReplaysOfAFileComeInTheirOrder(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	first := m.turns()
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.turns() // the second waits for the first's, and is looked at again in a while
	m.finish(first)
	third := m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.turns()
	if got := m.numbers(); got != `({1})` {
		t.Fatalf("attempts are those of the replays %s", got)
	}
	waits, err := control.ReplayWaitsFor(t.Context(), m.Pool, third.ID)
	if diff := cmp.Diff([]control.ReplayWait{{Items: 1, Message: "replay 2, which was asked for before, is to process the file first; to go on without it: tributary replay stop 2", Example: "add/f.zip"}}, waits); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for range 4 {
		m.Clock = m.Clock.Add(time.Minute)
		m.finish(m.turns())
	}
	if got := m.numbers(); got != `("{1,2,3}")` {
		t.Errorf("attempts are those of the replays %s", got)
	}
}

// A replay that was stopped is not waited for. Resumed, it leaves alone what a
// later replay has processed meanwhile: nobody would be shown its results.
func TestAStoppedReplayIsOvertaken(t *testing.T) {
	m := newBench(t)
	f, g := m.inserted("f.zip", 1, "an archive"), m.inserted("g.zip", 1, "another")
	m.ask(schemas.FromUnzip, 0, version("f.zip", f.SHA256), version("g.zip", g.SHA256))
	if _, _, err := m.manager.Stop(t.Context(), "1", "somebody", "a test"); err != nil {
		t.Fatal(err)
	}
	m.ask(schemas.FromUnzip, 0, version("f.zip", f.SHA256))
	m.finish(m.turns())
	if got := m.Text("SELECT count(*) FROM control.acquisition a JOIN control.replay r ON r.id = a.run WHERE r.number = 2"); got != "(1)" {
		t.Fatalf("the second replay has requested %s", got)
	}
	if _, _, err := m.manager.Resume(t.Context(), "1", "somebody", "a test"); err != nil {
		t.Fatal(err)
	}
	m.finish(m.turns())
	if got := m.Text("SELECT array_agg(refusal || '/' || i.state ORDER BY ordinal) FROM control.replay_item i JOIN control.replay r ON r.id = i.run WHERE r.number = 1"); got != `("{overtaken/refused,/requested}")` {
		t.Errorf("the items of the first replay are %s", got)
	}
}
