package history

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// CreateEvent makes an empty table like event under another name. It takes
// rows of the given generation only.
func CreateEvent(ctx context.Context, conn driver.Conn, table string, generation uint64) error {
	names, err := fs.Glob(statements, "statements/*_event*.sql")
	if err != nil {
		return fmt.Errorf("create %s: %w", table, err)
	}
	event := regexp.MustCompile(`\b(TABLE(?: IF NOT EXISTS)?) event\b`)
	for _, name := range names { // sorted
		text, err := fs.ReadFile(statements, name)
		if err != nil {
			return fmt.Errorf("create %s: %w", table, err)
		}
		if err := conn.Exec(ctx, event.ReplaceAllString(string(text), "${1} `"+table+"`")); err != nil {
			return fmt.Errorf("create %s: %s: %w", table, strings.TrimPrefix(name, "statements/"), err)
		}
	}
	if err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE `%s` DROP CONSTRAINT generation, ADD CONSTRAINT generation CHECK generation = %d, MODIFY COLUMN generation DEFAULT %[2]d", table, generation)); err != nil {
		return fmt.Errorf("create %s: %w", table, err)
	}
	return nil
}

// Expire makes a table forget rows so long after their event, or none with 0.
// What is there already is looked at when its parts are merged.
func Expire(ctx context.Context, conn driver.Conn, table string, after time.Duration) error {
	var engine string
	if err := conn.QueryRow(ctx, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = ?", table).Scan(&engine); err != nil {
		return fmt.Errorf("retention of %s: %w", table, err)
	}
	ttl := fmt.Sprintf("TTL time + toIntervalSecond(%d)", int64(after.Seconds()))
	var statement string
	switch {
	case after <= 0 && strings.Contains(engine, "TTL time + toIntervalSecond("): // one of ours
		statement = "ALTER TABLE `" + table + "` REMOVE TTL"
	case after > 0 && !strings.Contains(engine, ttl+" "):
		statement = "ALTER TABLE `" + table + "` MODIFY " + ttl
	default:
		return nil
	}
	if err := conn.Exec(ctx, statement+" SETTINGS materialize_ttl_after_modify = 0"); err != nil {
		return fmt.Errorf("retention of %s: %w", table, err)
	}
	return nil
}
