package chdb

import (
	"os"
	"path/filepath"
	"testing"
)

// A view's definition that a crash or a full disk has left empty keeps nobody
// from anything but the view, until that is made again.
func TestAnEmptyDefinitionIsRemoved(t *testing.T) {
	o := options(t)
	s := start1(t, o)
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE DATABASE d")
	mustExec(t, c, "CREATE TABLE d.kept (n UInt8) ENGINE = MergeTree ORDER BY n")
	mustExec(t, c, "INSERT INTO d.kept VALUES (7)")
	mustExec(t, c, "CREATE VIEW d.spoilt AS SELECT n FROM d.kept")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(o.DataDir, "store/*/*/spoilt.sql"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("the view's definition is in %v (%v)", paths, err)
	}
	if err := os.Truncate(paths[0], 0); err != nil {
		t.Fatal(err)
	}
	c = connect(t, start1(t, o), nil)
	mustExec(t, c, "CREATE OR REPLACE VIEW d.spoilt AS SELECT n FROM d.kept")
	if n := count(t, c, "SELECT sum(n) FROM d.spoilt"); n != 7 {
		t.Errorf("the view shows %d, want 7", n)
	}
}
