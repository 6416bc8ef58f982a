package recipes

import (
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

// A record that was stored twice, which ClickHouse has not merged yet, changes no answer.
func TestStoredTwice(t *testing.T) {
	conn := tale(t)
	one(t, conn, "SELECT count() FROM once")
	for _, sql := range []string{"SYSTEM STOP MERGES event", "INSERT INTO event SELECT * FROM event"} {
		if err := conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplicate": 0})), sql); err != nil {
			t.Fatal(err)
		}
	}
	if raw, log := one(t, conn, "SELECT count() FROM event"), one(t, conn, "SELECT count() FROM log"); raw != 2*log {
		t.Fatalf("%d rows for %d records: want each twice", raw, log)
	}
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if diff := gocmp.Diff(strings.Split(r.Example, "\n"), trimmed(answer(t, conn, r, r.Arguments, report.Table))); diff != "" {
			t.Errorf("report %s (-stored once +stored twice):\n%s", r.Name, diff)
		}
	}
}

// What was told twice is looked for once in a statement, before it is planned, however
// often it reads the views that leave it out.
func TestRepeatsAreLookedForOnce(t *testing.T) {
	conn := tale(t)
	for view, reads := range map[string]int{"once": 1, "told": 2} {
		plan := explained(t, conn, "SELECT max(time) FROM "+view+" UNION ALL SELECT min(time) FROM "+view)
		if got := strings.Count(plan, "ReadFromMergeTree"); got != 2*reads {
			t.Errorf("%s, read twice, reads events %d times, want %d:\n%s", view, got, 2*reads, plan)
		}
	}
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		for _, heavy := range []string{"log", "repeat"} {
			if strings.Contains(r.Statement, "FROM "+heavy+" ") && r.Name != "latest" {
				t.Errorf("report %s reads all of %s", r.Name, heavy)
			}
		}
	}
}

// one asks for one number.
func one(t *testing.T, conn driver.Conn, sql string) (n uint64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// explained is how a statement is carried out.
func explained(t *testing.T, conn driver.Conn, sql string) string {
	t.Helper()
	var lines []string
	rows, err := conn.Query(t.Context(), "EXPLAIN "+sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
