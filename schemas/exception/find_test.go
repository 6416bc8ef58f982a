package exception

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each entry is found by its name, as it is listed.
func TestFind(t *testing.T) {
	for _, e := range All() {
		if found, ok := Find(e.Name); !ok || !cmp.Equal(e, found) {
			t.Errorf("%s is found as %+v", e.Name, found)
		}
	}
	if e, ok := Find("specimen_unknown"); ok {
		t.Errorf("a finding is found as %+v", e)
	}
}
