//go:build !race

package replay

import (
	"testing"

	"tributary/schemas"
)

// A file that a person holds is not replayed; released, it is as any.
func TestAHeldFileIsNotReplayed(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	m.Exec("UPDATE control.file SET held_at = $1, held_by = 'ann', held_why = 'wrong mice'", m.Clock)
	for _, phase := range []string{schemas.FromDownload, schemas.FromUnzip, schemas.FromXSD} {
		m.ask(phase, 0, version("f.zip", d.SHA256))
	}
	m.turns()
	const held = "the file is held by ann: wrong mice; release it (tributary files release add/f.zip), and replay it then"
	if got := m.Text("SELECT DISTINCT state, refusal, message FROM control.replay_item"); got != `(refused,held_by_hand,"`+held+`")` {
		t.Errorf("items are %s", got)
	}
	m.Exec("UPDATE control.file SET held_at = NULL, held_by = '', held_why = ''")
	m.ask(schemas.FromUnzip, 0, version("f.zip", d.SHA256))
	m.turns()
	if got := m.numbers(); got != `({4})` {
		t.Errorf("attempts are those of the replays %s", got)
	}
}
