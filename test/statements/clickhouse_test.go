//go:build !race

package statements

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/sql/history"
)

// migratedHistory is a connection to a history as the newest migrations make it.
func migratedHistory(t *testing.T) driver.Conn {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	if err := history.Migrate(t.Context(), open, database); err != nil {
		t.Fatal(err)
	}
	conn, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

var (
	values  = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|\?`)
	limits  = regexp.MustCompile(`(LIMIT|OFFSET) \?`)
	inserts = regexp.MustCompile(`(?s)^\s*(INSERT INTO \S+(?: \([^)]*\))?)(.*)$`)
)

// explain has ClickHouse plan a statement: it looks up every name in it and works out
// the types; values are NULL, which every type can be. Of what is inserted it looks up
// the columns. What has no plan (ALTER, DROP) is parsed.
func explain(ctx context.Context, conn driver.Conn, sql string) error {
	sql = limits.ReplaceAllString(sql, "$1 1")
	sql = values.ReplaceAllStringFunc(sql, func(s string) string {
		if s == "?" {
			return "NULL"
		}
		return s
	})
	how := "EXPLAIN "
	switch verb(sql) {
	case "SELECT", "WITH":
	case "INSERT":
		parts := inserts.FindStringSubmatch(sql)
		batch, err := conn.PrepareBatch(ctx, parts[1])
		if err != nil {
			return fmt.Errorf("%w\n%s", err, sql)
		}
		if err := batch.Abort(); err != nil {
			return err
		}
		if sql = strings.TrimSpace(parts[2]); verb(sql) != "SELECT" && verb(sql) != "WITH" {
			return nil
		}
	default:
		how, sql = "EXPLAIN AST ", strings.ReplaceAll(sql, "NULL", "''")
	}
	rows, err := conn.Query(ctx, how+sql)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, sql)
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// inClickHouse checks statements in a history.
func inClickHouse(t *testing.T) func(sql string) error {
	conn := migratedHistory(t)
	return func(sql string) error { return explain(t.Context(), conn, sql) }
}
