//go:build !race

package replay

import "testing"

// Files are weighed as they are when they are chosen, whatever of them changes.
func TestWeighAgreesWithChoose(t *testing.T) {
	d := stored{"specimen", 10, 3, "u1", "xs1", "ls1", "d1"}
	pool := filled(t, map[string][]stored{"u1a": {d}, "u1b": {d, d}, "no": nil})
	if _, err := pool.Exec(t.Context(), "UPDATE tracker.zip_download SET documents = documents + 4, size_bytes = 1000"); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"true", "file = 'u1b'", "false"} {
		var files []string
		var documents, bytes int64
		for v, err := range Choose(t.Context(), pool, Choice{Predicate: where}) {
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, v.File)
			documents, bytes = documents+v.Documents, bytes+v.Bytes
		}
		d, b, err := Weigh(t.Context(), pool, files)
		if err != nil || d != documents || b != bytes || len(files) > 0 && (d == 0 || b == 0) {
			t.Errorf("%s: %d documents, %d bytes, %v; chosen are %d and %d", where, d, b, err, documents, bytes)
		}
	}
}
