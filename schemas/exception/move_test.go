package exception

import "testing"

// TestMoves holds that after each exception it is one's turn, and that no other name
// has one.
func TestMoves(t *testing.T) {
	in := map[string]int{}
	for _, move := range Moves() {
		for _, name := range moves()[move] {
			in[name]++
			if got := MoveOf(name); got != move {
				t.Errorf("after %s it is the turn of %q, want %q", name, got, move)
			}
		}
	}
	for _, e := range All() {
		if in[e.Name] != 1 {
			t.Errorf("after %s it is the turn of %d, want 1", e.Name, in[e.Name])
		}
		delete(in, e.Name)
	}
	for name := range in {
		t.Errorf("%s is no exception", name)
	}
	if got := MoveOf("given_by_a_newer_program"); got != Us {
		t.Errorf("what nobody knows is for %q", got)
	}
}
