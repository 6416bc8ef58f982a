package sql

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tools that are attached to the door.
const (
	psql    = "psql"
	jdbc    = "JDBC driver 42.7.10, as DBeaver and Metabase use it"
	psycopg = "psycopg2"
	odbc    = "isql with psqlODBC"
	grafana = "Grafana's queries"
	goPgx   = "pgx"
)

// row is an operation of a tool, which its test does.
type row struct {
	tool, operation string
	// says is in what the tool prints when it has done it, or been refused.
	says string
	// refused is for what nobody may do.
	refused bool
}

// table has every cell of the page, in the page's order. The tests look at each
// tool's rows, so a row without a run fails.
func table() []row {
	return []row{
		{psql, "`\\dn`", "tracker|tributary", false},
		{psql, "`\\dv tracker.*`", "tracker|file|view", false},
		{psql, "`\\d tracker.phase`", "short_name", false},
		{psql, "`\\l`", "tributary|", false},
		{psql, "a statement", "11 phases", false},
		{psql, "`\\copy … TO`", "copied: zip_name", false},
		{psql, "by a cursor (FETCH_COUNT)", "qc", false},
		{psql, "DELETE", "permission denied", true},
		{jdbc, "schemas", "schemas: tracker", false},
		{jdbc, "views", "view: file", false},
		{jdbc, "tables", "table: phase", false},
		{jdbc, "columns with their types", "column: phase.last_update timestamptz", false},
		{jdbc, "primary keys", "key: phase.id", false},
		{jdbc, "foreign keys", "reference: zip_download", false},
		{jdbc, "rows by a portal (setFetchSize)", "rows by portal: 11", false},
		{jdbc, "prepared at the server", "prepared: 11", false},
		{jdbc, "moments with their zone", "zone: true", false},
		{jdbc, "cancel", "cancelled: 57014", false},
		{jdbc, "DELETE", "written: refused", true},
		{psycopg, "by a cursor at the server", "rows: 11", false},
		{psycopg, "moments with their zone", "zone: True", false},
		{psycopg, "a parameter", "parameter: zip_name", false},
		{psycopg, "cancel", "cancelled: True", false},
		{psycopg, "DELETE", "refused: True", true},
		{odbc, "tables (`help`)", "tracker,phase,TABLE", false},
		{odbc, "an answer's columns", "short_name,last_update", false},
		{odbc, "a statement", "overview", false},
		{odbc, "DELETE", "permission denied", true},
		{grafana, "test of the source, version", "1;", false},
		{grafana, "tables and columns for its editor", "file;", false},
		{grafana, "`$__timeFilter`, `$__timeGroupAlias`", "time;", false},
		{goPgx, "prepared, with binary values", "phases: 11", false},
		{goPgx, "cancel by context", "cancelled: true", false},
		{goPgx, "a pool goes on afterwards", "goes on: true", false},
		{goPgx, "DELETE", "refused: true", true},
	}
}

// holds looks for what a tool says of each of its rows.
func holds(t *testing.T, tool, out string) {
	t.Helper()
	for _, r := range table() {
		if r.tool == tool && !strings.Contains(out, r.says) {
			t.Errorf("%s: %q is missing from:\n%s", r.operation, r.says, out)
		}
	}
}

const page = "../../../docs/reference/sql-clients.md"

var update = flag.Bool("update", false, "write the page anew")

// The page says what the table says.
func TestReference(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run make generate (-want +got):\n%s", diff)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./test/clients/sql -run Reference -update` from the table in test/clients/sql. -->\n# SQL's and BI's tools\n\n" +
		"What each does at the door of the embedded Postgres (`postgres.listen`, [how](../how-to/connect-your-tools.md)), as the user `reader`. `make test-clients-sql` tries every cell with the real tool.\n\n" +
		"| tool | operation | |\n|---|---|---|\n")
	for _, r := range table() {
		cell := "works"
		if r.refused {
			cell = "refused: a reader reads"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.tool, r.operation, cell)
	}
	return b.String() + "\n## What is not here\n\n" +
		"| | why |\n|---|---|\n" +
		"| DBeaver, Metabase, Grafana, Superset, Excel, Power BI and R themselves | none can be had from the registries that tests use: the rows are the driver that they bring and the queries that they send |\n" +
		"| Superset's and Jupyter's SQLAlchemy | it speaks through psycopg |\n" +
		"| clickhouse-connect, ClickHouse's JDBC driver, Grafana's ClickHouse source | the embedded ClickHouse has no door ([why](../decisions/0028-the-doors-for-readers.md)), and no server of ClickHouse's can be had from those registries; the statements that the how-to gives for one of your own are read by ClickHouse's parser |\n"
}
