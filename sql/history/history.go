// Package history holds the tables and views of the history in ClickHouse:
// every record of the event log, kept for SQL over all that ever happened.
package history

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"tributary/schemas"
)

//go:embed statements/*.sql
var statements embed.FS

// Migrate creates the database and brings its tables and views to the newest
// version. open connects to the named database, or with an empty name to the
// server's default. Members may do so at the same time, and as often as they
// like: each statement makes what is not there or replaces a view, and none is
// executed for nothing. A server that is too old is refused before anything is
// made, with a *storeversion.TooOldError.
func Migrate(ctx context.Context, open func(database string) (driver.Conn, error), database string) error {
	server, err := open("")
	if err != nil {
		return fmt.Errorf("migrate history: %w", err)
	}
	if _, err = ServerVersion(ctx, server); err == nil {
		if err = server.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+strings.ReplaceAll(database, "`", "")+"`"); err != nil {
			err = fmt.Errorf("create database %s: %w", database, err)
		}
	}
	if cerr := server.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("migrate history: %w", err)
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
	if err := runAll(ctx, conn, names); err != nil {
		return fmt.Errorf("migrate history: %w", err)
	}
	return nil
}

// statement is one of the files, as it is executed.
type statement struct {
	version uint32
	file    string
	object  string // the table or view that it makes or alters
	text    string
}

// executed is what is noted of a statement.
type executed struct {
	digest uint64
	object uuid.UUID
}

// runAll executes files, each of which holds one statement, and notes which. A view
// may read one that a later file makes: ClickHouse looks for it when it is read. What
// was executed on the very table or view that is there now is not again: for an
// ALTER that changes nothing, too, the engine writes the definition anew, and a
// full disk then leaves it cut.
func runAll(ctx context.Context, conn driver.Conn, names []string) error {
	there, err := objects(ctx, conn)
	if err != nil {
		return err
	}
	before, err := noted(ctx, conn)
	if err != nil {
		return err
	}
	_, filled := there["event"]
	if _, has := there["consumed_offset"]; has && !filled {
		// It tells how far a table was filled that is there no more.
		if err := conn.Exec(ctx, "TRUNCATE TABLE consumed_offset"); err != nil {
			return fmt.Errorf("consumed_offset: %w", err)
		}
	}
	var fresh []statement
	for _, name := range names { // sorted
		s, err := read(ctx, conn, name)
		if err != nil {
			return fmt.Errorf("%s: %w", path.Base(name), err)
		}
		if id, has := there[s.object]; has && before[s.version] == (executed{s.digest(), id}) {
			continue
		}
		if err := conn.Exec(ctx, s.text); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		fresh = append(fresh, s)
	}
	return note(ctx, conn, fresh)
}

// objects are the tables and views that are there. One that takes another's name
// has another id, where the database gives ids.
func objects(ctx context.Context, conn driver.Conn) (map[string]uuid.UUID, error) {
	out := map[string]uuid.UUID{}
	var name string
	var id uuid.UUID
	for err := range Each(ctx, conn, "tables", []any{&name, &id}, "SELECT name, uuid FROM system.tables WHERE database = currentDatabase()") {
		if err != nil {
			return nil, err
		}
		out[name] = id
	}
	return out, nil
}

// noted reads what was executed, by version.
func noted(ctx context.Context, conn driver.Conn) (map[uint32]executed, error) {
	out := map[uint32]executed{}
	var has bool
	if err := conn.QueryRow(ctx, "SELECT count() > 0 FROM system.columns WHERE database = currentDatabase() AND table = 'schema_version' AND name = 'object'").Scan(&has); err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	if !has { // made by an earlier version, or not yet
		return out, nil
	}
	var version uint32
	var e executed
	for err := range Each(ctx, conn, "versions", []any{&version, &e.digest, &e.object}, "SELECT version, digest, object FROM schema_version ORDER BY applied_at") {
		if err != nil {
			return nil, err
		}
		out[version] = e
	}
	return out, nil
}

// note writes down what was executed, and on what.
func note(ctx context.Context, conn driver.Conn, fresh []statement) error {
	if len(fresh) == 0 {
		return nil
	}
	there, err := objects(ctx, conn)
	if err != nil {
		return err
	}
	var rows []string
	var args []any
	for _, s := range fresh {
		rows = append(rows, "(?, ?, ?, ?)")
		args = append(args, s.version, s.file, s.digest(), there[s.object])
	}
	if err := conn.Exec(ctx, "INSERT INTO schema_version (version, name, digest, object) SETTINGS async_insert = 0 VALUES "+strings.Join(rows, ", "), args...); err != nil {
		return fmt.Errorf("note versions: %w", err)
	}
	return nil
}

// read returns the statement of a file.
func read(ctx context.Context, conn driver.Conn, name string) (statement, error) {
	s := statement{file: path.Base(name)}
	text, err := fs.ReadFile(statements, name)
	if err != nil {
		return s, err
	}
	number, _, _ := strings.Cut(s.file, "_")
	version, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return s, errors.New("the file's name is not <number>_<name>.sql")
	}
	s.version = uint32(version)
	of := regexp.MustCompile(`^(?:CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE) (\w+)`).FindSubmatch(text)
	if of == nil {
		return s, errors.New("the statement does not begin with CREATE TABLE IF NOT EXISTS, CREATE OR REPLACE VIEW or ALTER TABLE")
	}
	s.object = string(of[1])
	s.text, err = withColumns(ctx, conn, schemas.Numbered(string(text)))
	return s, err
}

// digest tells one text from another.
func (s statement) digest() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.text))
	return h.Sum64()
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

// Statements are the numbers of the statements that make the database what this
// program needs, in order.
func Statements() ([]int64, error) {
	names, err := fs.Glob(statements, "statements/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the history's statements: %w", err)
	}
	var out []int64
	for _, name := range names { // sorted
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// Executed are the numbers of the statements that made the connection's database
// what it is, in order; none where nothing has made it yet.
func Executed(ctx context.Context, conn driver.Conn) ([]int64, error) {
	var has bool
	if err := conn.QueryRow(ctx, "SELECT count() > 0 FROM system.tables WHERE database = currentDatabase() AND name = 'schema_version'").Scan(&has); err != nil || !has {
		return nil, err
	}
	var out []int64
	var n int64
	for err := range Each(ctx, conn, "versions", []any{&n}, "SELECT DISTINCT toInt64(version) AS v FROM schema_version ORDER BY v") {
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
