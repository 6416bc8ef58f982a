package beside

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Shape is a table's columns in their order, and those of its primary key.
type Shape struct{ Columns, Key []string }

// Shapes are the tables of a schema by name, but for those that are not compared.
func Shapes(ctx context.Context, q pg.Querier, schema string, but ...string) (map[string]Shape, error) {
	out := map[string]Shape{}
	var table, column string
	var key bool
	for err := range pg.Each(ctx, q, "list the tables of "+schema, []any{&table, &column, &key}, `SELECT c.relname, a.attname, coalesce(a.attnum = ANY(i.indkey), false)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind IN ('r', 'p') AND c.relname <> ALL($2::text[])
		ORDER BY c.relname, a.attnum`, schema, append([]string{}, but...)) {
		if err != nil {
			return nil, err
		}
		s := out[table]
		s.Columns = append(s.Columns, column)
		if key {
			s.Key = append(s.Key, column)
		}
		out[table] = s
	}
	return out, nil
}

// Names are the tables of several schemas, sorted.
func Names(shapes ...map[string]Shape) []string {
	all := map[string]Shape{}
	for _, s := range shapes {
		maps.Copy(all, s)
	}
	return slices.Sorted(maps.Keys(all))
}

// Common is what two tables both have, columns by name, with the other's key where
// both have all of it.
func (s Shape) Common(o Shape) Shape {
	lacks := func(column string) bool { return !slices.Contains(s.Columns, column) }
	c := Shape{Columns: slices.DeleteFunc(slices.Sorted(slices.Values(o.Columns)), lacks), Key: o.Key}
	if slices.ContainsFunc(o.Key, lacks) {
		c.Key = nil
	}
	return c
}

// List is the columns as SQL names them.
func (s Shape) List() string { return quoted(s.Columns) }

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = pgx.Identifier{n}.Sanitize()
	}
	return strings.Join(out, ", ")
}

// Pair is a table of two schemas. Its methods want a transaction that sees both
// at one moment; what they hold in memory does not grow with the table, here or in
// the database.
type Pair struct {
	Live, Built string // schemas
	Table       string
	Shape       Shape // what is compared: columns that both have
}

// Side is where a row must be to be listed.
type Side string

// The sides of a pair.
const (
	Either  Side = "true"
	InLive  Side = "l.k IS NOT NULL"
	InBuilt Side = "b.k IS NOT NULL"
)

// Difference is a row in which the two differ. The values are texts in the order
// of the columns, nil being null; nil at all where a side lacks the row.
type Difference struct {
	Key               string // its parts divided by slashes; empty where there is no key
	Live, Built       []*string
	LiveRow, BuiltRow string // as Postgres writes rows as text, the first 1000 characters
}

// Differ counts the rows that are not the same in both.
func (p Pair) Differ(ctx context.Context, q pg.Querier) (n int64, err error) {
	return pg.One(ctx, q, "differences of "+p.Table, pgx.RowTo[int64], "SELECT count(*) FROM "+p.joined())
}

// Differences are the first of these rows in the order of their keys.
func (p Pair) Differences(ctx context.Context, q pg.Querier, side Side, limit int) ([]Difference, error) {
	return pg.List(ctx, q, fmt.Sprintf("differences of %s", p.Table), pgx.RowToStructByPos[Difference], fmt.Sprintf(`SELECT coalesce(l.shown, b.shown), l.c, b.c, coalesce(left(l.t, 1000), ''), coalesce(left(b.t, 1000), '')
		FROM %s AND %s ORDER BY coalesce(l.shown, b.shown) COLLATE "C", coalesce(l.t, b.t) COLLATE "C" LIMIT %d`, p.joined(), side, limit))
}

// joined are the rows of both by their keys, where they differ.
func (p Pair) joined() string {
	return fmt.Sprintf("(%s) l FULL JOIN (%s) b ON l.k = b.k WHERE l.t IS DISTINCT FROM b.t", p.rows(p.Live), p.rows(p.Built))
}

// rows are the rows of one side: k joins them, the content with a number where
// there is no key.
func (p Pair) rows(schema string) string {
	content := "ROW(" + p.Shape.List() + ")::text"
	join, shown := "ROW("+quoted(p.Shape.Key)+")::text", "concat_ws('/', "+quoted(p.Shape.Key)+")"
	if len(p.Shape.Key) == 0 {
		join, shown = "concat(row_number() OVER (PARTITION BY "+content+"), "+content+")", "''"
	}
	texts := make([]string, len(p.Shape.Columns))
	for i, c := range p.Shape.Columns {
		texts[i] = quoted([]string{c}) + "::text"
	}
	return fmt.Sprintf("SELECT %s AS k, %s AS shown, %s AS t, ARRAY[%s] AS c FROM %s", join, shown, content, strings.Join(texts, ", "), pgx.Identifier{schema, p.Table}.Sanitize())
}
