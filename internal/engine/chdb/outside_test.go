package chdb

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tributary/internal/engine/sharedlib"
)

// TestNoFileIsATable starts an engine several times: a file is no table of it. One
// in whose database default somebody made tables before keeps them.
func TestNoFileIsATable(t *testing.T) {
	o := options(t)
	file := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(file, []byte("hidden,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(3) {
		s := start1(t, o)
		c := connect(t, s, nil)
		mustExec(t, c, "CREATE DATABASE IF NOT EXISTS d")
		mustExec(t, c, "CREATE TABLE IF NOT EXISTS d.kept (n UInt64) ENGINE = MergeTree ORDER BY n")
		mustExec(t, c, "INSERT INTO d.kept VALUES (1)")
		if n := count(t, c, "SELECT count() FROM d.kept"); n != round+1 {
			t.Errorf("start %d: %d rows", round, n)
		}
		var there uint8
		if err := c.QueryRow(t.Context(), "EXISTS TABLE default.`"+file+"`").Scan(&there); err != nil || there != 0 {
			t.Errorf("start %d: a file is a table: %d, %v", round, there, err)
		}
		rows, err := c.Query(t.Context(), "SELECT * FROM default.`"+file+"`")
		if err == nil {
			_ = rows.Close()
			t.Errorf("start %d: a file is read", round)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTablesOfOthersAreKept opens a directory in whose database default an older
// program has made a table.
func TestTablesOfOthersAreKept(t *testing.T) {
	o := options(t)
	child := exec.Command(os.Args[0], o.Library, o.DataDir)
	child.Env = append(os.Environ(), envChild+"=older")
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := connect(t, start1(t, o), nil)
	if n := count(t, c, "SELECT sum(n) FROM default.mine"); n != 7 {
		t.Errorf("the table holds %d, want 7", n)
	}
}

// asAnOlderProgram makes a table in the engine's own database.
func asAnOlderProgram(library, dir string) error {
	lib, err := load(library, sharedlib.Bind)
	if err != nil {
		return err
	}
	lib.setSignalHandlers(0)
	c, err := dial(lib, []string{"--path=" + dir}, nil)
	if err != nil {
		return err
	}
	defer c.close()
	for _, sql := range []string{"CREATE TABLE default.mine (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO default.mine VALUES (7)"} {
		if _, err := c.exec(sql, "Null", nil); err != nil {
			return err
		}
	}
	return nil
}
