package tracker

import (
	"io/fs"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
)

// The rows of the lookups are what package schemas says.
func TestLookups(t *testing.T) {
	pool := database(t)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for _, p := range schemas.Phases() {
		want["tracker.phase"] = append(want["tracker.phase"], string(p))
	}
	for _, s := range schemas.Statuses() {
		want["tracker.a_status"] = append(want["tracker.a_status"], string(s))
	}
	for table, names := range want {
		rows, err := pool.Query(t.Context(), "SELECT id::int, short_name FROM "+table+" ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			ID   int
			Name string
		}
		got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if err != nil {
			t.Fatal(err)
		}
		var expected []row
		for i, name := range names {
			expected = append(expected, row{i + 1, name})
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%s (-schemas +rows):\n%s", table, diff)
		}
	}
}

// Views and statements name phases and statuses; none compares with a digit.
func TestPhasesByName(t *testing.T) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d migrations: %v", len(names), err)
	}
	digit := regexp.MustCompile(`(?:phase|status)_id\s*(?:[<>=]+|IN\s*\(|BETWEEN)\s*\d`)
	for _, name := range names {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		if found := digit.FindString(string(text)); found != "" {
			t.Errorf("%s compares with a number: %q; write {phase …} or {status …}", name, found)
		}
	}
}
