package exception

import (
	"slices"
	"strings"
	"testing"
)

// TestClasses holds that what goes wrong with sources is in one class each, but for
// what is no fault of a source.
func TestClasses(t *testing.T) {
	faultless := []string{"gone", "not_tried", "cancelled", "source_removed", "source_unavailable", "centre_not_hosted_here", "name_too_long", "held_by_hand", "cancelled_by_hand"}
	in := map[string]int{}
	bits := map[int]bool{}
	for _, c := range Classes() {
		if bits[c.Bit] || !snake.MatchString(c.Name) {
			t.Errorf("class %s: its bit %d is another's, or its name is none", c.Name, c.Bit)
		}
		bits[c.Bit] = true
		for _, name := range c.Exceptions {
			in[name]++
			if got, ok := ClassOf(name); !ok || got.Name != c.Name {
				t.Errorf("%s counts as %q", name, got.Name)
			}
		}
	}
	for _, e := range All() {
		if e.Group != Source {
			continue
		}
		want := 1
		if slices.Contains(faultless, e.Name) || strings.HasPrefix(e.Name, "announced_") {
			want = 0
		}
		if in[e.Name] != want {
			t.Errorf("%s is in %d classes, want %d", e.Name, in[e.Name], want)
		}
		delete(in, e.Name)
	}
	for name := range in {
		t.Errorf("%s is no exception of a source", name)
	}
	if _, ok := ClassOf("xsd_invalid"); ok {
		t.Error("what is wrong with a document counts against its source")
	}
}
