//go:build !race

package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/profile"
)

// Whatever a condition says, Postgres keeps it from writing, from becoming
// another role, from the server's files and sessions, and from what is not for
// people.
func TestConditionsOnlyRead(t *testing.T) {
	pool := filled(t, map[string][]stored{"one": {{"specimen", 10, 3, "u1", "xs1", "ls1", "d1"}}})
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA control; CREATE TABLE control.secret (n int); INSERT INTO control.secret VALUES (1); CREATE SEQUENCE tracker.s; CREATE TABLE tracker.t (n int); INSERT INTO tracker.t VALUES (1);
		CREATE FUNCTION tracker.writes() RETURNS int LANGUAGE sql AS 'INSERT INTO tracker.t VALUES (2) RETURNING n';
		CREATE FUNCTION tracker.raises() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'INSERT INTO tracker.t VALUES (3) RETURNING n';
		SELECT lo_from_bytea(76, 'x')`); err != nil {
		t.Fatal(err)
	}
	other, err := pool.Acquire(t.Context()) // a session that conditions would end
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	choose := func(condition string) (n int, err error) {
		for _, err := range Choose(t.Context(), pool, Choice{Predicate: condition}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	for condition, want := range map[string]int{"current_user = 'tributary_reader' AND session_user = 'tributary_reader' AND current_setting('transaction_read_only') = 'on'": 1,
		"current_setting('work_mem') = '64MB' AND current_setting('lock_timeout') = '10s' AND current_setting('temp_file_limit') = '4GB' AND current_setting('statement_timeout') = '5min'": 1,
		"id IN (SELECT file_id FROM document)": 1, "false": 0} {
		if n, err := choose(condition); err != nil || n != want {
			t.Errorf("%s: %d files, %v; want %d", condition, n, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "out")
	const reads = "only reads"
	for condition, want := range map[string]string{
		"set_config('role', 'none', true) IS NOT NULL AND query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '') IS NOT NULL": reads,
		"set_config('role', 'none', true) IS NOT NULL AND query_to_xml('SELECT * FROM control.secret', true, true, '') IS NOT NULL":         reads,
		"set_config('role', 'tributary', false) IS NOT NULL":                                                                                reads,
		"set_config('session_authorization', 'tributary', true) IS NOT NULL":                                                                reads,
		"set_config('transaction_read_only', 'off', false) IS NOT NULL":                                                                     "before any query",
		"set_config('temp_file_limit', '-1', false) IS NOT NULL":                                                                            reads,
		"query_to_xml('DELETE FROM tracker.t', true, true, '') IS NOT NULL":                                                                 "",
		"query_to_xml('SELECT pg_ls_dir(''/'')', true, true, '') IS NOT NULL":                                                               reads,
		"pg_read_file('/etc/passwd') IS NOT NULL":                                                                                           reads,
		"pg_read_binary_file('/etc/passwd') IS NOT NULL":                                                                                    reads,
		"EXISTS (SELECT pg_ls_dir('/'))":                                                                                                    reads,
		"pg_stat_file('/etc/passwd') IS NOT NULL":                                                                                           reads,
		"lo_import('/etc/passwd') IS NOT NULL":                                                                                              reads,
		"lo_export(76, '" + file + "') IS NOT NULL":                                                                                         reads,
		"lo_unlink(76) IS NOT NULL":                                                                                                         "",
		"pg_reload_conf()":                                                                                                                  reads,
		"(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()) > 0":                                 reads,
		"(SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()) > 0":                                    reads,
		"EXISTS (SELECT n FROM control.secret)":                                                                                             reads,
		"EXISTS (SELECT rolpassword FROM pg_authid)":                                                                                        reads,
		"EXISTS (WITH d AS (DELETE FROM t RETURNING 1) SELECT * FROM d)":                                                                    "",
		"nextval('s') > 0":   reads,
		"setval('s', 9) > 0": reads,
		"writes() > 0":       reads,
		"raises() > 0":       reads,
		"dblink_connect('dbname=postgres') IS NOT NULL": "refused",
		"true) OR (true":      "bracket",
		"true; DELETE FROM t": "semicolon",
	} {
		n, err := choose(condition)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d files, %v; want %q", condition, n, err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: a file was written", condition)
		}
	}
	if _, err := FindStale(t.Context(), pool, Choice{Predicate: "set_config('role', 'none', true) IS NOT NULL AND pg_read_file('/etc/passwd') IS NOT NULL"}, "", profile.Versions{}); err == nil || !strings.Contains(err.Error(), reads) {
		t.Errorf("looking for what is stale: %v", err)
	}
	// These are allowed, and must have left nothing.
	for _, condition := range []string{"pg_advisory_lock(42) IS NOT NULL", "lo_from_bytea(77, 'x') IS NOT NULL", "pg_notify('c', 'x') IS NOT NULL", "set_config('statement_timeout', '0', false) IS NOT NULL", "set_config('role', 'none', false) IS NOT NULL"} {
		_, err := choose(condition)
		t.Logf("%s: %v", condition, err)
	}
	var rows, secrets, objects, free int
	if err := other.QueryRow(t.Context(), `SELECT (SELECT sum(n) FROM tracker.t), (SELECT count(*) FROM control.secret), (SELECT count(*) FROM pg_largeobject_metadata WHERE oid IN (76, 77)),
		pg_try_advisory_xact_lock(42)::int`).Scan(&rows, &secrets, &objects, &free); err != nil {
		t.Fatal(err)
	}
	if rows != 1 || secrets != 1 || objects != 1 || free != 1 {
		t.Errorf("afterwards: rows %d, secrets %d, large objects %d, lock free %d; want 1 each", rows, secrets, objects, free)
	}
}
