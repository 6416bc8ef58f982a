package exception

import (
	"strings"
	"testing"
)

// What a centre has to correct is told in words for it, and nothing else is: what is for
// others to do would only worry it. No words are those of the program's people.
func TestPlain(t *testing.T) {
	own := plain()
	for _, e := range All() {
		p, ok := PlainOf(e.Name)
		if !ok || p.Title == "" || strings.HasSuffix(p.Title, ".") || !strings.HasSuffix(p.Do, ".") {
			t.Errorf("%s is told as %+v", e.Name, p)
		}
		if _, has := own[e.Name]; has != (MoveOf(e.Name) == Centre) {
			t.Errorf("%s is for %s, and has words for the centre: %v", e.Name, MoveOf(e.Name), has)
		}
		for _, inner := range []string{"tributary ", "producer", "replay", "limits.", "max_"} {
			if strings.Contains(p.Title+p.Do, inner) {
				t.Errorf("%s: %q is no word of a centre: %+v", e.Name, inner, p)
			}
		}
		delete(own, e.Name)
	}
	for name := range own {
		t.Errorf("%s is no exception", name)
	}
	if p, ok := PlainOf("specimen_unknown"); ok {
		t.Errorf("a finding is told as %+v", p)
	}
}
