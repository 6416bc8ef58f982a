//go:build !race

package main

import (
	"fmt"
	"strings"
	"testing"

	"tributary/internal/config"
	"tributary/internal/engine"
)

// The history of a round that was run is what its log says; each row that is
// changed, taken away or put in by hand is named by its place in the log; a
// rebuild puts all right, also where the database is gone.
func TestHistoryVerifyAndRebuild(t *testing.T) {
	path := filledPlace(t)
	serve(t, path, engine.Options{Broker: true, Postgres: true, ClickHouse: true})
	cfg, err := config.Load(path, nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ep, running, err := engine.Attach(cfg.DataDir)
	if err != nil || !running {
		t.Fatal(running, err)
	}
	db, err := engine.OpenClickHouse(ep.ClickHouse, cfg.ClickHouse.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(sql string) {
		t.Helper()
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	expect := func(code int, args []string, says ...string) {
		t.Helper()
		got, stdout, stderr := at(t, path, append([]string{"history"}, args...)...)
		for _, text := range says {
			if !strings.Contains(stdout+stderr, text) {
				t.Errorf("history %s does not say %q", strings.Join(args, " "), text)
			}
		}
		if got != code || t.Failed() {
			t.Fatalf("history %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
		}
	}
	verify, csv := []string{"verify", "--complete"}, []string{"verify", "-o", "csv"}
	expect(exitOK, verify, "the history is equal to the log")
	// One file's rows are in one partition, since the file is their key.
	var partition int32
	var first, last int64
	if err := db.QueryRow(t.Context(), "SELECT partition, min(offset), max(offset) FROM event WHERE topic = 'status.changed' AND file_name = 'H.2012-10-02.01.impc.zip' GROUP BY partition").
		Scan(&partition, &first, &last); err != nil {
		t.Fatal(err)
	}
	row := func(offset int64) string {
		return fmt.Sprintf(" WHERE topic = 'status.changed' AND partition = %d AND offset = %d", partition, offset)
	}
	exec("ALTER TABLE event UPDATE message = 'forged'" + row(first) + " SETTINGS mutations_sync = 2")
	exec("INSERT INTO event SELECT * REPLACE (100000 AS offset) FROM (SELECT * FROM event FINAL" + row(last) + ")")
	exec("DELETE FROM event" + row(last))
	place := func(offset int64) string { return fmt.Sprintf("status.changed,%d,%d,", partition, offset) }
	expect(exitFailed, csv, "changed,"+place(first), `history ""forged""`, "missing,"+place(last), "extra,"+place(100000), "DIFFERS from the log", "\ntributary history rebuild fills the history again from the log")
	expect(exitOK, []string{"rebuild", "--force"}, " rows in ")
	expect(exitOK, verify, "the history is equal to the log")
	exec("DROP DATABASE " + cfg.ClickHouse.Database)
	expect(exitOK, []string{"rebuild"}, " rows in ")
	expect(exitOK, verify, "the history is equal to the log")
	expect(exitUsage, []string{"verify", "--range", "0"}, "--range and --limit")
}
