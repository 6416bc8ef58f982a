package tracker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// shape is a table's columns, those of its key first named apart.
type shape struct {
	columns, key []string
	uuid         bool // the key is one UUID
}

// shapes are the tables of a schema but for bookkeeping.
func shapes(ctx context.Context, q pg.Querier, schema string) (map[string]shape, error) {
	rows, err := q.Query(ctx, `
		SELECT c.relname, a.attname, coalesce(a.attnum = ANY(i.indkey), false), coalesce(cardinality(i.indkey::smallint[]) = 1, false) AND a.atttypid = 'uuid'::regtype
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND c.relkind IN ('r', 'p') AND c.relname <> ALL($2)
		ORDER BY c.relname, a.attnum`, schema, bookkeeping())
	if err != nil {
		return nil, fmt.Errorf("look at the tables of %s: %w", schema, err)
	}
	defer rows.Close()
	out := map[string]shape{}
	for rows.Next() {
		var table, column string
		var key, uuid bool
		if err := rows.Scan(&table, &column, &key, &uuid); err != nil {
			return nil, fmt.Errorf("look at the tables of %s: %w", schema, err)
		}
		s := out[table]
		s.columns = append(s.columns, column)
		if key {
			s.key, s.uuid = append(s.key, column), uuid
		}
		out[table] = s
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look at the tables of %s: %w", schema, err)
	}
	return out, nil
}

// quoted are names for SQL.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = pgx.Identifier{n}.Sanitize()
	}
	return strings.Join(out, ", ")
}

// keyText is the key as one text; a UUID as it is written.
func (s shape) keyText() string { return "concat_ws('/', " + quoted(s.key) + ")" }

// cursor goes through the rows of a table in the order of their keys.
type cursor struct {
	rows pgx.Rows
	key  []byte // nil after the last
	row  []byte // hash of the row
	n    int64
	sum  hash.Hash
}

func (s shape) open(ctx context.Context, q pg.Querier, schema, table string) (*cursor, error) {
	// The order of bytes, which is that of UUIDs too.
	key := "convert_to(" + s.keyText() + ", 'UTF8')"
	order := key
	if s.uuid {
		key, order = "uuid_send("+quoted(s.key)+")", quoted(s.key)
	}
	rows, err := q.Query(ctx, fmt.Sprintf("SELECT %s, sha256(convert_to(ROW(%s)::text, 'UTF8')) FROM %s ORDER BY %s",
		key, quoted(s.columns), pgx.Identifier{schema, table}.Sanitize(), order))
	if err != nil {
		return nil, err
	}
	return &cursor{rows: rows, sum: sha256.New()}, nil
}

func (c *cursor) next() error {
	if !c.rows.Next() {
		c.key = nil
		return c.rows.Err()
	}
	if err := c.rows.Scan(&c.key, &c.row); err != nil {
		return err
	}
	c.n++
	c.sum.Write(c.key)
	c.sum.Write(c.row)
	return nil
}

// printed is a key for people.
func (s shape) printed(key []byte) string {
	if !s.uuid {
		return string(key)
	}
	h := hex.EncodeToString(key)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// fetch is one row, its columns as text; all nil where there is none.
func (s shape) fetch(ctx context.Context, q pg.Querier, schema string, d Difference) ([]*string, error) {
	out := make([]*string, len(s.columns))
	texts := make([]string, len(s.columns))
	into := make([]any, len(s.columns))
	for i, column := range s.columns {
		texts[i], into[i] = quoted([]string{column})+"::text", &out[i]
	}
	where := s.keyText() + " = $1"
	if s.uuid {
		where = quoted(s.key) + " = $1::text::uuid"
	}
	rows, err := q.Query(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(texts, ", "), pgx.Identifier{schema, d.Table}.Sanitize(), where), d.Key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
	}
	return out, rows.Err()
}
