package chdb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Views whose definitions a crash or a full disk has left empty or cut keep
// nobody from anything but them, until they are made again.
func TestADamagedDefinitionIsRemoved(t *testing.T) {
	o := options(t)
	s := start1(t, o)
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE DATABASE d")
	mustExec(t, c, "CREATE TABLE d.kept (n UInt8) ENGINE = MergeTree ORDER BY n")
	mustExec(t, c, "INSERT INTO d.kept VALUES (7)")
	damage := map[string]func(text []byte) []byte{
		"emptied":         func([]byte) []byte { return nil },
		"cut_in_quotes":   func(text []byte) []byte { return text[:bytes.Index(text, []byte("even'"))] },
		"cut_in_brackets": func(text []byte) []byte { return append(text[:bytes.Index(text, []byte(", 8)"))], '\n') },
		"cut_in_a_line":   func(text []byte) []byte { return bytes.TrimSuffix(text, []byte("\n")) },
		"zeroed":          func(text []byte) []byte { clear(text[len(text)-4 : len(text)-1]); return text },
	}
	for view := range damage {
		mustExec(t, c, "CREATE VIEW d."+view+" AS SELECT n FROM d.kept WHERE n IN (7, 8) OR 'seven' = 'eight'")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for view, damaged := range damage {
		paths := definitions(t, o, view)
		text, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[0], damaged(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c = connect(t, start1(t, o), nil)
	if n := count(t, c, "SELECT count() FROM system.tables WHERE database = 'd'"); n != 1 {
		t.Errorf("%d tables and views are left, want 1", n)
	}
	for view := range damage {
		mustExec(t, c, "CREATE VIEW d."+view+" AS SELECT n FROM d.kept")
		if n := count(t, c, "SELECT sum(n) FROM d."+view); n != 7 {
			t.Errorf("the view %s shows %d, want 7", view, n)
		}
	}
}

// What the engine writes is whole, whatever it holds, and what is cut is not.
func TestWholeDefinitions(t *testing.T) {
	o := options(t)
	s := start1(t, o)
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE DATABASE d COMMENT 'a (database`s'")
	mustExec(t, c, "CREATE TABLE d.odd (`a ' \" (` String DEFAULT '(''\\'`\"' COMMENT 'it''s \\\\', b Array(String) DEFAULT ['(', ')\\n']) ENGINE = MergeTree ORDER BY b COMMENT ''''")
	mustExec(t, c, "CREATE VIEW d.`vi\"ew` AS SELECT \"b\", '--(' AS x, /* ( */ $$('$$ AS y FROM d.odd -- (")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, path := range definitions(t, o, "*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !isWhole(text) {
			t.Errorf("held for damaged:\n%s", text)
		}
		for cut := 1; cut < len(text)-1; cut++ {
			if isWhole(text[:cut]) && text[cut-1] != '\n' {
				t.Errorf("held for whole:\n%s", text[:cut])
			}
		}
	}
}

// definitions are the paths of the tables' and views' definitions.
func definitions(t *testing.T, o Options, name string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(o.DataDir, "store/*/*", name+".sql"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no definitions of %s (%v)", name, err)
	}
	return paths
}
