//go:build !race

package history

import "testing"

// The first id of a topic counts; another one is answered with it.
func TestTopicIDIsKept(t *testing.T) {
	h, _ := fresh(t)
	first, second := [16]byte{1}, [16]byte{2}
	for _, id := range [][16]byte{first, second, first} {
		stored, err := h.TopicID(t.Context(), "status.changed", id)
		if err != nil {
			t.Fatal(err)
		}
		if stored != first {
			t.Errorf("asked with %v: %v is stored, want %v", id, stored, first)
		}
	}
	if stored, err := h.TopicID(t.Context(), "file.discovered", second); err != nil || stored != second {
		t.Errorf("another topic has id %v, %v; want its own, %v", stored, err, second)
	}
}
