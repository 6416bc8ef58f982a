package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/internal/engine/pgdoor"
	"tributary/internal/pg"
	"tributary/queries/report"
	trackersql "tributary/sql/tracker"
)

// place is where tools find the door.
type place struct{ host, port, password string }

func (p place) url() string {
	return "postgres://" + pgdoor.User + ":" + p.password + "@" + net.JoinHostPort(p.host, p.port) + "/tributary"
}

// open starts Postgres with its door, and with the tracker's tables in it, one of
// which holds the eleven phases.
func open(t *testing.T) place {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Postgres) == 0 {
		enginetest.Missing(t, "Postgres")
	}
	e, err := engine.Start(t.Context(), engine.Options{
		DataDir: enginetest.Dir(t), Postgres: true, NoSync: true, PostgresAddr: "127.0.0.1:0",
		PostgresRole: report.ReaderRole, PreparePostgresRole: report.PrepareReader, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	pool, err := pg.Open(t.Context(), e.Endpoints().Postgres, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := trackersql.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	l := e.Endpoints().PostgresListener
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	return place{host, port, l.Users[pgdoor.User]}
}

// run runs a program of others with the usual variables, and returns what it says.
func (p place) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed: run make test-clients-sql", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PGHOST="+p.host, "PGPORT="+p.port, "PGUSER="+pgdoor.User, "PGPASSWORD="+p.password, "PGDATABASE=tributary", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func TestPsql(t *testing.T) {
	p := open(t)
	out := p.run(t, "psql", "-X", "-A", "-t", "-c", "\\dv tracker.*", "-c", "\\d tracker.phase", "-c", "\\dn", "-c", "\\l", "-c", "SELECT count(*) || ' phases' FROM tracker.phase",
		"-c", "\\copy (SELECT 'copied: ' || short_name FROM tracker.phase ORDER BY id LIMIT 1) TO STDOUT WITH CSV", "-c", "\\set FETCH_COUNT 3", "-c", "SELECT short_name FROM tracker.phase",
		"-c", "SET default_transaction_read_only = off", "-c", "DELETE FROM tracker.phase", "-c", "SELECT 1")
	holds(t, psql, out)
}

// The driver of DBeaver and Metabase, with what these ask it.
func TestJDBC(t *testing.T) {
	jar := os.Getenv("TRIBUTARY_PGJDBC")
	if jar == "" {
		t.Skip("the driver is not there: run make test-clients-sql")
	}
	p := open(t)
	holds(t, jdbc, p.run(t, "java", "-cp", jar, "testdata/Metadata.java", "jdbc:postgresql://"+net.JoinHostPort(p.host, p.port)+"/tributary", pgdoor.User, p.password))
}

func TestPsycopg(t *testing.T) {
	p := open(t)
	python := "/usr/bin/python3" // the one that the system's packages are for
	if exec.Command(python, "-c", "import psycopg2").Run() != nil {
		t.Skip("psycopg is not installed: run make test-clients-sql")
	}
	holds(t, psycopg, p.run(t, python, "testdata/read.py"))
}

func TestODBC(t *testing.T) {
	p := open(t)
	if _, err := exec.LookPath("isql"); err != nil {
		t.Skip("unixODBC is not installed: run make test-clients-sql")
	}
	dsn := "DRIVER={PostgreSQL Unicode};SERVER=" + p.host + ";PORT=" + p.port + ";DATABASE=tributary;UID=" + pgdoor.User + ";PWD=" + p.password + ";SSLmode=disable"
	// What is refused ends isql, and is said where errors are.
	holds(t, odbc, p.run(t, "sh", "-c", "printf 'help\\nSELECT short_name, last_update FROM tracker.phase\\nSET default_transaction_read_only = off\\nDELETE FROM tracker.phase\\n' | isql -v -b -c -d, -k '"+dsn+";ReadOnly=0' 2>&1 || true"))
}

// What Grafana's Postgres source sends: its macros as it expands them, and what
// its editor asks for.
func TestGrafana(t *testing.T) {
	pool := pgxPool(t, open(t))
	var out strings.Builder
	for _, sql := range []string{
		"SELECT 1", "SELECT current_setting('server_version_num')::int/100 AS version",
		"SELECT quote_ident(table_name) FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache')",
		"SELECT quote_ident(column_name) AS \"column\", data_type AS \"type\" FROM information_schema.columns WHERE table_schema = 'tracker' AND table_name = 'file'",
		"SELECT extname FROM pg_extension WHERE extname = 'timescaledb'",
		// $__timeGroupAlias(last_update, 1h) and $__timeFilter(last_update)
		`SELECT floor(extract(epoch from last_update)/3600)*3600 AS "time", count(*) AS phases FROM tracker.phase WHERE last_update BETWEEN '1970-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1`,
		`SELECT last_update AS "time", short_name AS metric, id AS value FROM tracker.phase WHERE last_update BETWEEN '1970-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z' ORDER BY 1`,
	} {
		rows, err := pool.Query(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if at, ok := values[0].(time.Time); ok && !at.IsZero() {
				values[0] = rows.FieldDescriptions()[0].Name
			}
			fmt.Fprintf(&out, "%v;", values[0])
		}
		if rows.Close(); rows.Err() != nil {
			t.Errorf("%s: %v", sql, rows.Err())
		}
	}
	holds(t, grafana, out.String())
}

// A pool prepares statements, reads binary values and cancels by context.
func TestPgx(t *testing.T) {
	pool := pgxPool(t, open(t))
	type phase struct {
		ID         int16
		ShortName  string
		LastUpdate time.Time
	}
	rows, err := pool.Query(t.Context(), "SELECT id, short_name, last_update FROM tracker.phase WHERE id > $1 ORDER BY id", 0)
	if err != nil {
		t.Fatal(err)
	}
	phases, err := pgx.CollectRows(rows, pgx.RowToStructByName[phase])
	if err != nil || len(phases) == 0 || phases[0].ShortName != "zip_name" || phases[0].LastUpdate.IsZero() {
		t.Errorf("phases %v, %v", phases, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, slept := pool.Exec(ctx, "SELECT pg_sleep(1000)")
	again := pool.Ping(t.Context())
	_, deleted := pool.Exec(t.Context(), "DELETE FROM tracker.phase")
	var refusal *pgconn.PgError
	holds(t, goPgx, fmt.Sprintf("phases: %d, cancelled: %t, goes on: %t, refused: %t", len(phases), slept != nil, again == nil, errors.As(deleted, &refusal)))
}

func pgxPool(t *testing.T, p place) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), p.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// The statements that the how-to gives for a ClickHouse of one's own are read by
// the engine's own parser. It has no users, so it can't run them.
func TestClickHouseGrantsAreRead(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/connect-your-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```clickhouse\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the page gives no statements")
	}
	conn, err := engine.OpenClickHouse(enginetest.ClickHouse(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for statement := range strings.SplitSeq(strings.TrimSpace(block), ";\n") {
		if err := conn.Exec(t.Context(), "EXPLAIN AST "+strings.TrimSuffix(statement, ";")); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := conn.Exec(t.Context(), "EXPLAIN AST CREATE SETTINGS PROFILE x SETTINGS readonly = 2 NEVER"); err == nil {
		t.Error("the parser takes everything")
	}
}
