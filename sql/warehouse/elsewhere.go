package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
)

// Shadow is the schema that a rebuild fills beside the live one.
const Shadow = "warehouse_rebuild"

// Replaced is the schema that was live before a rebuild; it is dropped as soon
// as nobody reads it any more.
const Replaced = "warehouse_replaced"

// InShadow is SQL that does in the schema Shadow what the given SQL does in the
// live one: every name qualified with the schema is qualified with the other.
// Texts and comments stay as they are, but for names of the schema or of its
// tables that are cast to an object's identity ('warehouse'::regnamespace).
func InShadow(sql string) string {
	var out strings.Builder
	plain := 0
	for i := 0; i < len(sql); {
		n := textLength(sql, i)
		if n == 0 {
			i++
			continue
		}
		out.WriteString(requalify(sql[plain:i]))
		text := sql[i : i+n]
		i += n
		plain = i
		if strings.HasPrefix(strings.TrimLeft(sql[i:], " "), "::reg") {
			text = strings.Replace(text, "'"+Schema, "'"+Shadow, 1)
		}
		out.WriteString(text)
	}
	out.WriteString(requalify(sql[plain:]))
	return out.String()
}

// textLength is the length of the text or comment that begins at a place; 0 if
// none does.
func textLength(sql string, at int) int {
	rest := sql[at:]
	switch {
	case rest[0] == '\'':
		escapes := at > 0 && (sql[at-1] == 'E' || sql[at-1] == 'e') && (at == 1 || !inName(sql[at-2]|0x20))
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && escapes:
				i++
			case rest[i] == '\'':
				return i + 1 // a doubled one begins another text
			}
		}
		return len(rest)
	case strings.HasPrefix(rest, "--"):
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			return i + 1
		}
		return len(rest)
	case strings.HasPrefix(rest, "/*"):
		if i := strings.Index(rest[2:], "*/"); i >= 0 {
			return i + 4
		}
		return len(rest)
	}
	return 0
}

// requalify replaces the schema in all qualified names, wherever they stand.
func requalify(sql string) string {
	var out strings.Builder
	lower := strings.ToLower(sql)
	from := 0
	for i := 0; ; {
		n := strings.Index(lower[i:], Schema)
		if n < 0 {
			out.WriteString(sql[from:])
			return out.String()
		}
		at := i + n
		i = at + len(Schema)
		if qualifies(lower, at, i) {
			out.WriteString(sql[from:at])
			out.WriteString(Shadow)
			from = i
		}
	}
}

// qualifies tells whether what is between two places, the schema's name, is a
// whole word with a dot and a name behind it.
func qualifies(sql string, from, to int) bool {
	if from > 0 && (inName(sql[from-1]) || sql[from-1] == '.') {
		return false
	}
	rest := strings.TrimLeft(strings.TrimPrefix(sql[to:], `"`), " \t\r\n")
	if !strings.HasPrefix(rest, ".") {
		return false
	}
	rest = strings.TrimLeft(rest[1:], " \t\r\n")
	return rest != "" && (rest[0] == '"' || rest[0] == '*' || rest[0] == '_' || rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 0x80)
}

func inName(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
}

// Elsewhere is a database in whose transactions InShadow holds for every
// statement, but for COPY, which goes past it. A transaction that has all the
// same come to a table of the live schema is not committed.
type Elsewhere struct{ DB pg.Beginner }

// Begin begins such a transaction.
func (e Elsewhere) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := e.DB.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return elsewhere{tx}, nil
}

// ErrTouchesLive says that a statement meant for the shadow reached the live
// schema: it names a table in a way that InShadow doesn't know.
var ErrTouchesLive = errors.New("a statement of the profile reaches the live warehouse although it is run for a rebuild: write the names of tables as warehouse.NAME, and not within texts")

type elsewhere struct{ pgx.Tx }

func (e elsewhere) Begin(ctx context.Context) (pgx.Tx, error) { return Elsewhere{e.Tx}.Begin(ctx) }

// Commit commits unless a table of the live schema has been used.
func (e elsewhere) Commit(ctx context.Context) error {
	var touched *string
	err := e.Tx.QueryRow(ctx, `SELECT min(c.relname) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = to_regnamespace($1)`, Schema).Scan(&touched)
	if err == nil && touched != nil {
		err = fmt.Errorf("table %s: %w", *touched, ErrTouchesLive)
	}
	if err != nil {
		return errors.Join(err, e.Tx.Rollback(ctx))
	}
	return e.Tx.Commit(ctx)
}

func (e elsewhere) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return e.Tx.Exec(ctx, InShadow(sql), args...)
}

func (e elsewhere) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return e.Tx.Query(ctx, InShadow(sql), args...)
}

func (e elsewhere) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return e.Tx.QueryRow(ctx, InShadow(sql), args...)
}

func (e elsewhere) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return e.Tx.Prepare(ctx, name, InShadow(sql))
}

func (e elsewhere) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		q.SQL = InShadow(q.SQL)
	}
	return e.Tx.SendBatch(ctx, b)
}
