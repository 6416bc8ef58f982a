// Package history holds the tables and views of the history in ClickHouse:
// every record of the event log, kept for SQL over all that ever happened.
package history

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed statements/*.sql
var statements embed.FS

// Migrate creates the database and brings its tables and views to the newest
// version. open connects to the named database, or with an empty name to the
// server's default. Members may do so at the same time, and as often as they
// like: each statement makes what is not there or replaces a view.
func Migrate(ctx context.Context, open func(database string) (driver.Conn, error), database string) error {
	server, err := open("")
	if err != nil {
		return fmt.Errorf("migrate history: %w", err)
	}
	err = server.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+strings.ReplaceAll(database, "`", "")+"`")
	if cerr := server.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("migrate history: create database %s: %w", database, err)
	}
	conn, err := open(database)
	if err != nil {
		return fmt.Errorf("migrate history: %w", err)
	}
	defer conn.Close()
	names, err := fs.Glob(statements, "statements/*.sql")
	if err != nil {
		return fmt.Errorf("migrate history: %w", err)
	}
	return runAll(ctx, conn, names)
}

// runAll executes files, each of which holds one statement, and notes the
// versions that are new.
func runAll(ctx context.Context, conn driver.Conn, names []string) error {
	var noted []uint32
	var fresh []string
	for i, name := range names { // sorted; the first makes the table of versions
		version, err := run(ctx, conn, name)
		if err != nil {
			return err
		}
		if i == 0 {
			if err := conn.QueryRow(ctx, "SELECT groupUniqArray(version) FROM schema_version").Scan(&noted); err != nil {
				return fmt.Errorf("migrate history: %w", err)
			}
		}
		if !slices.Contains(noted, version) {
			fresh = append(fresh, fmt.Sprintf("(%d, '%s')", version, strings.TrimPrefix(name, "statements/")))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := conn.Exec(ctx, "INSERT INTO schema_version (version, name) SETTINGS async_insert = 0 VALUES "+strings.Join(fresh, ", ")); err != nil {
		return fmt.Errorf("migrate history: note versions: %w", err)
	}
	return nil
}

// run executes one file and returns its version.
func run(ctx context.Context, conn driver.Conn, name string) (uint32, error) {
	text, err := fs.ReadFile(statements, name)
	if err != nil {
		return 0, fmt.Errorf("migrate history: %w", err)
	}
	base := strings.TrimPrefix(name, "statements/")
	statement, err := withColumns(ctx, conn, string(text))
	if err != nil {
		return 0, fmt.Errorf("migrate history: %s: %w", base, err)
	}
	if err := conn.Exec(ctx, statement); err != nil {
		return 0, fmt.Errorf("migrate history: %s: %w", base, err)
	}
	number, _, _ := strings.Cut(base, "_")
	version, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("migrate history: file %s: want <number>_<name>.sql", base)
	}
	return uint32(version), nil
}

// withColumns puts in the columns of event with their types and comments, where
// a view has the same.
func withColumns(ctx context.Context, conn driver.Conn, statement string) (string, error) {
	const all, own = "{columns}", "{columns without passed}"
	if !strings.Contains(statement, all) && !strings.Contains(statement, own) {
		return statement, nil
	}
	var columns []struct {
		Name    string `ch:"name"`
		Type    string `ch:"type"`
		Comment string `ch:"comment"`
	}
	if err := conn.Select(ctx, &columns, "SELECT name, type, comment FROM system.columns WHERE database = currentDatabase() AND table = 'event' AND name != 'generation' ORDER BY position"); err != nil {
		return "", err
	}
	var list, short []string
	for _, c := range columns {
		text := fmt.Sprintf("`%s` %s COMMENT '%s'", c.Name, c.Type, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(c.Comment))
		list = append(list, text)
		if !strings.HasPrefix(c.Name, "passed.") {
			short = append(short, text)
		}
	}
	return strings.NewReplacer(all, "("+strings.Join(list, ", ")+")", own, "("+strings.Join(short, ", ")+")").Replace(statement), nil
}
