package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
)

// sharedSQL tells whether a claim c shares its content with another.
const sharedSQL = `EXISTS (SELECT FROM warehouse.claim k JOIN warehouse.claim o ON o.claim = k.claim AND o.fingerprint = k.fingerprint AND (o.position, o.ordinal) <> (k.position, k.ordinal)
	WHERE k.position = c.position AND k.ordinal = c.record)`

// rowsSQL asks for the lines that the oracle has of a table.
func rowsSQL(table string) string {
	words := []string{placeSQL}
	if table != "submission" {
		words = append(words, "c.record")
	}
	words = append(words, "c.ordinal")
	if corpus.Nested[table] {
		words = append(words, "c.parent")
	}
	if table != "submission" {
		words = append(words, "c.tombstone::text", "c.is_current::text")
	}
	for _, name := range corpus.Columns[table] {
		words = append(words, fmt.Sprintf("coalesce('=' || c.%s::text, '-')", name))
	}
	from, line := "claimed_"+table, "CASE WHEN "+sharedSQL+" THEN '?' ELSE c.line::text END"
	if table == "submission" {
		from, line = table, "c.line"
	}
	return fmt.Sprintf("SELECT concat_ws('|', %s, %s) FROM warehouse.%s c JOIN warehouse.document d USING (position)", strings.Join(words, ", "), line, from)
}

const (
	claimsSQL = `SELECT concat_ws('|', ` + placeSQL + `, c.record_type, c.ordinal, replace(array_to_string(c.natural_key, ' ', '-'), '"', ''), c.subject, c.line, c.col, c.byte_from, c.byte_to,
		c.tombstone::text, c.is_current::text, d.withdrawn::text) FROM warehouse.claim c JOIN warehouse.document d USING (position)`
	findingsSQL = `SELECT concat_ws('|', c.test, c.level, ` + placeSQL + `, c.record, c.ordinal, c.record_type, c.centre, c.subject,
		CASE WHEN ` + sharedSQL + ` THEN '?' ELSE c.line::text END) FROM warehouse.finding c JOIN warehouse.document d USING (position) WHERE c.open`
	contextSQL = `SELECT concat_ws('|', centre, pipeline, project, strain_id, colony_id, zygosity, sex, procedure_id, parameter_id, runs, measurements,
		coalesce(first_date::text, ''), coalesce(last_date::text, '')) FROM warehouse.context`
	overviewSQL = `SELECT concat_ws('|', centre, procedure_id, specimens, experiments, lines, housings, measurements, findings_info, findings_warn, findings_error,
		coalesce(last_change, '')) FROM warehouse.overview`
)

// warehouse connects to the warehouse of running engines.
func (s *system) warehouse(at engine.Endpoints, do func(*pgxpool.Pool)) {
	s.t.Helper()
	pool, err := pgxpool.New(s.t.Context(), at.Postgres)
	if err != nil {
		s.t.Fatal(err)
	}
	defer pool.Close()
	do(pool)
}

// compareWarehouse compares every claim, every row, how often each is stored,
// every open finding, context and overview with the oracle.
func compareWarehouse(t testing.TB, pool *pgxpool.Pool, want *corpus.Warehouse) {
	t.Helper()
	compareLines(t, pool, "claims", claimsSQL, want.Claims)
	for _, table := range slices.Sorted(maps.Keys(corpus.Columns)) {
		compareLines(t, pool, table, rowsSQL(table), want.Rows[table])
		if n := lines(t, pool, "SELECT count(*)::text FROM warehouse."+table); n[0] != fmt.Sprint(want.Stored[table]) {
			t.Errorf("%s stores %s rows, the oracle says %d", table, n[0], want.Stored[table])
		}
	}
	compareLines(t, pool, "open findings", findingsSQL, want.Findings)
	compareLines(t, pool, "context", contextSQL, want.Context)
	compareLines(t, pool, "overview", overviewSQL, want.Overview)
}

// compareLines compares the lines that a query gives with the oracle's.
func compareLines(t testing.TB, pool *pgxpool.Pool, what, query string, want []string) {
	t.Helper()
	got := lines(t, pool, query)
	if missing, extra := only(want, got), only(got, want); len(missing)+len(extra) > 0 {
		t.Errorf("%s: %d of %d lines are missing, %d are too many (-oracle +seen):\n%s%s", what, len(missing), len(want), len(extra), listed("-", missing), listed("+", extra))
	}
}

// lines are the rows of a query of one column, sorted.
func lines(t testing.TB, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, err := pool.Query(context.Background(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	slices.Sort(out)
	return out
}

// only are those of a that b has not, one for one; a difference of many
// thousand lines would otherwise take its time.
func only(a, b []string) []string {
	n := map[string]int{}
	for _, s := range b {
		n[s]++
	}
	var out []string
	for _, s := range a {
		if n[s]--; n[s] < 0 {
			out = append(out, s)
		}
	}
	return out
}

// listed are the first of some lines, marked.
func listed(mark string, lines []string) string {
	var b strings.Builder
	for i, l := range lines {
		if i == 8 {
			fmt.Fprintln(&b, mark, "…")
			break
		}
		fmt.Fprintln(&b, mark, l)
	}
	return b.String()
}
