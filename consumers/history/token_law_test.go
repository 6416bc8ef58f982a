//go:build !race

package history

import (
	"testing"

	"tributary/internal/stage/sink"
)

// What was inserted before is told by its offsets, not by how its rows look: a
// member of another version, which reads the same records otherwise, repeats an
// insert whose answer was lost and stores nothing twice.
func TestTheSameOffsetsAreTheSameInsert(t *testing.T) {
	h, conn := fresh(t)
	c, err := h.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := span(t, h.deps.Codec, 0, 10)
	if err := h.insert(t.Context(), c, []sink.Range{first}); err != nil {
		t.Fatal(err)
	}
	again := span(t, h.deps.Codec, 0, 10)
	for _, r := range again.Records {
		r.Value = []byte("read otherwise")
	}
	if err := h.insert(t.Context(), c, []sink.Range{again}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 10 {
		t.Errorf("%d rows for 10 records", n)
	}
	// Other offsets are another insert, however alike the rows are.
	if err := h.insert(t.Context(), c, []sink.Range{span(t, h.deps.Codec, 10, 20)}); err != nil {
		t.Fatal(err)
	}
	if n := scan[uint64](t, conn, "SELECT count() FROM event"); n != 20 {
		t.Errorf("%d rows for 20 records", n)
	}
}
