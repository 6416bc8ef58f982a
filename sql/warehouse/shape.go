package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// shape is what tables look like, by name.
type shape []*tableShape

type tableShape struct {
	name    string
	columns []columnShape
	primary string // the primary key's definition
}

type columnShape struct {
	name, typ, initial string
	required           bool
}

func (s shape) table(name string) *tableShape {
	for _, t := range s {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (s shape) names() []string {
	names := []string{}
	for _, t := range s {
		names = append(names, t.name)
	}
	return names
}

// shapeOf reads the tables of the schema, but for the given ones and goose's.
func shapeOf(ctx context.Context, tx pgx.Tx, but []string) (shape, error) {
	var out shape
	var table, primary string
	var c columnShape
	for err := range pg.Each(ctx, tx, "read the warehouse's tables", []any{&table, &c.name, &c.typ, &c.initial, &c.required, &primary}, `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attnotnull,
			coalesce((SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p'), '')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_version'
		ORDER BY c.relname, a.attnum`) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(but, table) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].name != table {
			out = append(out, &tableShape{name: table, primary: primary})
		}
		t := out[len(out)-1]
		t.columns = append(t.columns, c)
	}
	return out, nil
}

// wanted is what the profile's tables look like where there are none yet.
// Postgres says so itself: they are made in an empty schema of the same name,
// and nothing of it stays.
func (p *profile) wanted(ctx context.Context, tx pgx.Tx, core shape) (want shape, err error) {
	if _, err := tx.Exec(ctx, "SAVEPOINT wanted; ALTER SCHEMA warehouse RENAME TO warehouse_live; CREATE SCHEMA warehouse"); err != nil {
		return nil, fmt.Errorf("make the profile's tables for comparison: %w", err)
	}
	defer func() {
		_, rerr := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT wanted; RELEASE SAVEPOINT wanted")
		err = errors.Join(err, rerr)
	}()
	for _, t := range core {
		id := pgx.Identifier{t.name}.Sanitize()
		if _, err := tx.Exec(ctx, "CREATE TABLE warehouse."+id+" (LIKE warehouse_live."+id+" INCLUDING ALL)"); err != nil {
			return nil, fmt.Errorf("make the profile's tables for comparison: %w", err)
		}
	}
	if err := p.create(ctx, tx); err != nil {
		return nil, err
	}
	return shapeOf(ctx, tx, core.names())
}

// changes returns the statements that give a live table the columns that it
// lacks. All other differences are errors.
func (w *tableShape) changes(live *tableShape) (add []string, err error) {
	var errs []error
	find := func(t *tableShape, name string) *columnShape {
		i := slices.IndexFunc(t.columns, func(c columnShape) bool { return c.name == name })
		if i < 0 {
			return nil
		}
		return &t.columns[i]
	}
	for _, c := range w.columns {
		l := find(live, c.name)
		switch {
		case l == nil:
			sql := "ALTER TABLE " + pgx.Identifier{Schema, w.name}.Sanitize() + " ADD COLUMN " + pgx.Identifier{c.name}.Sanitize() + " " + c.typ
			if c.initial != "" {
				sql += " DEFAULT " + c.initial
			}
			if c.required {
				sql += " NOT NULL"
			}
			add = append(add, sql)
		case l.typ != c.typ:
			errs = append(errs, fmt.Errorf("table %s, column %s: its type is %s, not %s", w.name, c.name, l.typ, c.typ))
		case l.required != c.required:
			errs = append(errs, fmt.Errorf("table %s, column %s: it %s, other than declared", w.name, c.name, map[bool]string{true: "must not be null", false: "may be null"}[l.required]))
		}
	}
	for _, l := range live.columns {
		if find(w, l.name) == nil {
			errs = append(errs, fmt.Errorf("table %s, column %s: it is there, but no longer declared", w.name, l.name))
		}
	}
	if w.primary != live.primary {
		errs = append(errs, fmt.Errorf("table %s: its key is %s, not %s", w.name, live.primary, w.primary))
	}
	return add, errors.Join(errs...)
}
