//go:build !race

package history

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/stage/sink"
	historysql "tributary/sql/history"
)

// executing remembers what was executed.
type executing struct {
	driver.Conn
	statements *[]string
}

func (e executing) Exec(ctx context.Context, query string, args ...any) error {
	first, _, _ := strings.Cut(query, "\n")
	*e.statements = append(*e.statements, first)
	return e.Conn.Exec(ctx, query, args...)
}

// migrated brings the history up to date and returns what was executed for it.
func migrated(t *testing.T, h *History) []string {
	t.Helper()
	var statements []string
	open := func(database string) (driver.Conn, error) {
		conn, err := h.deps.Open(database)
		return executing{conn, &statements}, err
	}
	if err := historysql.Migrate(t.Context(), open, h.deps.Database); err != nil {
		t.Fatal(err)
	}
	if len(statements) == 0 || !strings.HasPrefix(statements[0], "CREATE DATABASE IF NOT EXISTS") {
		t.Fatalf("executed %q", statements)
	}
	return statements[1:]
}

// shape is all that the database's tables and views are.
func shape(t *testing.T, conn driver.Conn) []string {
	t.Helper()
	return scan[[]string](t, conn, "SELECT arraySort(groupArray(replaceRegexpOne(create_table_query, ' UUID .[-0-9a-f]+.', ''))) FROM system.tables WHERE database = currentDatabase()")
}

// Members that start leave alone what is as it should be: each statement would
// write a definition, which a full disk cuts.
func TestAStartExecutesNothingTwice(t *testing.T) {
	h, conn := fresh(t)
	if n := len(migrated(t, h)); n < 20 {
		t.Errorf("only %d statements at first", n)
	}
	want := shape(t, conn)
	if again := migrated(t, h); len(again) != 0 {
		t.Errorf("executed again: %q", again)
	}
	exec(t, conn, "DROP VIEW wait")
	if again := migrated(t, h); len(again) != 2 || !strings.HasPrefix(again[0], "CREATE OR REPLACE VIEW wait") || !strings.HasPrefix(again[1], "INSERT INTO schema_version") {
		t.Errorf("for a view that was gone: %q", again)
	}
	exec(t, conn, "ALTER TABLE schema_version DROP COLUMN digest, DROP COLUMN object") // earlier versions knew none
	if n := len(migrated(t, h)); n < 20 {
		t.Errorf("only %d statements on what an earlier version made", n)
	}
	if diff := gocmp.Diff(want, shape(t, conn)); diff != "" {
		t.Errorf("tables and views (-first +last):\n%s", diff)
	}
}

// A table of events that takes the place of another is brought up to date, and
// one that was lost is made again, whole, and filled from the log's first
// record, whatever was noted of the lost one.
func TestALostTableIsFilledAnew(t *testing.T) {
	h, conn := fresh(t)
	h.cfg.Retention = config.Duration(24 * 365 * 100 * time.Hour)
	migrated(t, h)
	want := shape(t, conn)
	if err := h.Apply(t.Context(), []sink.Range{span(t, h.deps.Codec, 0, 40)}); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "INSERT INTO consumed_offset (topic, partition, next, generation) SELECT topic, partition, max(offset) + 1, 0 FROM event GROUP BY topic, partition")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	topic := scan[string](t, conn, "SELECT any(topic) FROM event")

	exec(t, conn, "CREATE TABLE other AS event")
	exec(t, conn, "ALTER TABLE other DROP COLUMN shadow")
	exec(t, conn, "EXCHANGE TABLES event AND other")
	migrated(t, h)
	if n := scan[uint64](t, conn, "SELECT count() FROM system.columns WHERE database = currentDatabase() AND table = 'event' AND name = 'shadow'"); n != 1 {
		t.Error("the table that has taken event's place lacks a column")
	}
	if at, err := another(t, h).Position(t.Context(), topic, 0); err != nil || at != 40 {
		t.Errorf("goes on from %d, want 40 (%v)", at, err)
	}

	exec(t, conn, "DROP TABLE other")
	exec(t, conn, "DROP TABLE event")
	h = another(t, h)
	if at, err := h.Position(t.Context(), topic, 0); err != nil || at != 0 {
		t.Errorf("the new table is filled from %d, want 0 (%v)", at, err)
	}
	h.cfg.Retention = 0
	if diff := gocmp.Diff(want, shape(t, conn)); diff != "" && !strings.Contains(diff, "TTL") {
		t.Errorf("tables and views (-before +after):\n%s", diff)
	}
}
