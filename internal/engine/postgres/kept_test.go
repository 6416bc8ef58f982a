package postgres

import (
	"os"
	"path/filepath"
	"testing"
)

// A cluster begins as a copy of the one that is kept of its kind, and each goes its own
// way from there.
func TestKeptClustersAreCopied(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	begun := func(sync bool) *Server {
		o := options(t)
		o.Kept, o.NoSync = kept, !sync
		return start(t, o)
	}
	identifier := func(s *Server) int64 {
		return query[int64](t, s, "SELECT system_identifier FROM pg_control_system()")
	}
	first := begun(false)
	exec1(t, first, "CREATE TABLE kept AS SELECT 42 AS n")
	second, another := begun(false), begun(true)
	if identifier(second) != identifier(first) {
		t.Error("the second of a kind is no copy of the first")
	}
	if identifier(another) == identifier(first) {
		t.Error("what initdb is told otherwise is a copy too")
	}
	if n := query[int](t, second, "SELECT count(*) FROM pg_class WHERE relname = 'kept'"); n != 0 {
		t.Error("a copy has what was done in another")
	}
	entries, err := os.ReadDir(kept)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("%d clusters are kept, want one of each kind: %v", len(entries), entries)
	}
}
