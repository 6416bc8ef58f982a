package warehouse

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// Exists tells whether a schema of the warehouse is there: Schema, Shadow or
// Replaced.
func Exists(ctx context.Context, q pg.Querier, schema string) (bool, error) {
	var there bool
	err := q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", schema+".state").Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for the schema %s: %w", schema, err)
	}
	return there, nil
}

// HasChain tells whether the live schema notes the digests of positions: one of
// an older version doesn't.
func HasChain(ctx context.Context, q pg.Querier) (there bool, err error) {
	if err := q.QueryRow(ctx, "SELECT to_regclass('warehouse.chain') IS NOT NULL").Scan(&there); err != nil {
		return false, fmt.Errorf("look for the chain of positions: %w", err)
	}
	return there, nil
}

// Applied tells whether the live warehouse applied a record with a digest as a
// position.
func Applied(ctx context.Context, q pg.Querier, position int64, digest []byte) (applied bool, err error) {
	if there, err := HasChain(ctx, q); err != nil || !there {
		return false, err
	}
	if err := q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM warehouse.chain WHERE position = $1 AND digest = $2)", position, digest).Scan(&applied); err != nil {
		return false, fmt.Errorf("ask whether a position was applied: %w", err)
	}
	return applied, nil
}

// MakeShadow makes the schema Shadow anew: empty, with the tables and views of
// the profile. What people have put into the profile's own lists in the live
// schema, which no order tells of, is taken over. A schema that an earlier
// rebuild has left is dropped first.
func MakeShadow(ctx context.Context, pool *pgxpool.Pool, fsys fs.FS, m *mapping.Mapping) error {
	if err := DropShadow(ctx, pool); err != nil {
		return err
	}
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the warehouse: %w", err)
	}
	if err := pg.Migrate(ctx, pool, Shadow, shadowFiles{sub}); err != nil {
		return err
	}
	p, err := readProfile(fsys, m)
	if err != nil {
		return err
	}
	// Functions keep their text, in which everything is renamed; the file is run
	// again, as it is, when the schema becomes the live one.
	p.tables, p.views = requalify(p.tables), InShadow(p.views)
	if err := pg.InTx(ctx, Elsewhere{pool}, func(tx pgx.Tx) error { return p.apply(ctx, tx) }); err != nil {
		return fmt.Errorf("tables of the profile %s: %w", m.Name, err)
	}
	live, err := Exists(ctx, pool, Schema)
	if err != nil || !live {
		return err
	}
	if err := refuseOthers(ctx, pool); err != nil {
		return err
	}
	return pg.InTx(ctx, pool, func(tx pgx.Tx) error { return carryLists(ctx, tx) })
}

// DropShadow drops what a rebuild has left: its shadow, and what it replaced.
func DropShadow(ctx context.Context, q pg.Querier) error {
	for _, schema := range []string{Shadow, Replaced} {
		if _, err := q.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			return fmt.Errorf("drop the schema %s: %w", schema, err)
		}
	}
	return nil
}

// carryLists takes over what the profile's own lists hold: those of its tables
// that its SQL fills when it makes them.
func carryLists(ctx context.Context, tx pgx.Tx) error {
	var tables []string
	if err := tx.QueryRow(ctx, "SELECT tables FROM "+Shadow+".profile").Scan(&tables); err != nil {
		return fmt.Errorf("read the profile's tables: %w", err)
	}
	for _, name := range tables {
		id := pgx.Identifier{name}.Sanitize()
		var list bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+Shadow+"."+id+") AND to_regclass($1) IS NOT NULL", Schema+"."+id).Scan(&list)
		if err != nil {
			return fmt.Errorf("look at the list %s: %w", name, err)
		}
		if !list {
			continue
		}
		columns, err := commonColumns(ctx, tx, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %[1]s.%[2]s; INSERT INTO %[1]s.%[2]s (%[3]s) SELECT %[3]s FROM %[4]s.%[2]s", Shadow, id, columns, Schema)); err != nil {
			return fmt.Errorf("take over the list %s: %w", name, err)
		}
	}
	return nil
}

// commonColumns are the columns that a table has in both schemas, by name.
func commonColumns(ctx context.Context, q pg.Querier, table string) (string, error) {
	rows, err := q.Query(ctx, `SELECT quote_ident(a.attname) FROM pg_attribute a JOIN pg_attribute b USING (attname)
		WHERE a.attrelid = to_regclass($1) AND b.attrelid = to_regclass($2) AND a.attnum > 0 AND b.attnum > 0 AND NOT a.attisdropped AND NOT b.attisdropped
		ORDER BY attname`, Schema+"."+pgx.Identifier{table}.Sanitize(), Shadow+"."+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return "", fmt.Errorf("columns of %s: %w", table, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", fmt.Errorf("columns of %s: %w", table, err)
	}
	return strings.Join(names, ", "), nil
}

// refuseOthers fails if somebody has put into the live schema what a rebuild
// can't make again, or has made views elsewhere that hang on it.
func refuseOthers(ctx context.Context, q pg.Querier) error {
	rows, err := q.Query(ctx, `SELECT 'the ' || CASE c.relkind WHEN 'v' THEN 'view ' WHEN 'm' THEN 'view ' ELSE 'table ' END || 'warehouse.' || c.relname
			FROM pg_class c CROSS JOIN (SELECT coalesce(min(tables), '{}') || coalesce(min(views), '{}') AS names FROM warehouse.profile) p
			WHERE c.relnamespace = to_regnamespace('warehouse') AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname <> ALL(p.names)
				AND NOT EXISTS (SELECT FROM pg_class s WHERE s.relnamespace = to_regnamespace($1) AND s.relname = c.relname)
		UNION SELECT 'the function warehouse.' || f.proname FROM pg_proc f
			WHERE f.pronamespace = to_regnamespace('warehouse')
				AND NOT EXISTS (SELECT FROM pg_proc s WHERE s.pronamespace = to_regnamespace($1) AND s.proname = f.proname)
		UNION SELECT format('the view %s.%s', n.nspname, v.relname) FROM pg_depend d
			JOIN pg_class t ON d.refclassid = 'pg_class'::regclass AND t.oid = d.refobjid AND t.relnamespace = to_regnamespace('warehouse')
			JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
			JOIN pg_class v ON v.oid = r.ev_class AND v.relnamespace <> t.relnamespace JOIN pg_namespace n ON n.oid = v.relnamespace
		ORDER BY 1`, Shadow)
	if err != nil {
		return fmt.Errorf("look for what others have made: %w", err)
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for what others have made: %w", err)
	}
	if len(others) > 0 {
		return fmt.Errorf("neither tributary nor the profile has made %s: a rebuild would drop it. Drop or move it, and make it again afterwards", strings.Join(others, ", "))
	}
	return nil
}

// tablesOf lists the tables of the shadow, but for those that hold the state of
// running members, and for the chain, which is judged with the log.
func tablesOf(ctx context.Context, q pg.Querier) ([]string, error) {
	rows, err := q.Query(ctx, "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') ORDER BY 1", Shadow)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"state", "chain", "try", "lease", "outbox", "outbox_letter", "profile", "schema_version"}, name)
	}), nil
}

// AnalyzeShadow lets the planner know what the shadow holds, so that nobody
// waits for that after the swap.
func AnalyzeShadow(ctx context.Context, q pg.Querier) error {
	names, err := tablesOf(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := q.Exec(ctx, "ANALYZE "+pgx.Identifier{Shadow, name}.Sanitize()); err != nil {
			return fmt.Errorf("analyze %s: %w", name, err)
		}
	}
	return nil
}

// shadowFiles are migrations as they make the shadow.
type shadowFiles struct{ fs.FS }

func (s shadowFiles) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer f.Close()
	text, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return nil, err
	}
	return &shadowFile{Reader: *bytes.NewReader([]byte(InShadow(string(text)))), name: name}, nil
}

// shadowFile is a migration in memory.
type shadowFile struct {
	bytes.Reader
	name string
}

func (f *shadowFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *shadowFile) Close() error               { return nil }
func (f *shadowFile) Name() string               { return f.name }
func (f *shadowFile) Mode() fs.FileMode          { return 0o444 }
func (f *shadowFile) ModTime() time.Time         { return time.Time{} }
func (f *shadowFile) IsDir() bool                { return false }
func (f *shadowFile) Sys() any                   { return nil }
