package tracker

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// strangers returns an error that names what people have made in the
// tracker's schema or on top of it, and would lose.
func strangers(ctx context.Context, q pg.Querier, schema string) error {
	rows, err := q.Query(ctx, `
		WITH mine AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = to_regnamespace('tracker') AND relkind IN ('r', 'p', 'v', 'm', 'f'))
		SELECT oid::regclass::text FROM mine m
		WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relname = m.relname)
		UNION
		SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = to_regnamespace('tracker')
			AND NOT EXISTS (SELECT FROM pg_proc n WHERE n.pronamespace = to_regnamespace($1) AND n.proname = p.proname)
		UNION
		SELECT v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
		WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM mine)
			AND v.relnamespace <> to_regnamespace('tracker')
		UNION
		SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND confrelid IN (SELECT oid FROM mine) AND connamespace <> to_regnamespace('tracker')
		ORDER BY 1`, schema)
	if err != nil {
		return fmt.Errorf("look at what depends on the tracker: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look at what depends on the tracker: %w", err)
	}
	if len(names) > 0 {
		return fmt.Errorf("a rebuild replaces the tracker's tables, and these, which are not its own, would be lost with them: %s; drop them, rebuild, and make them again (best in a schema of their own)", strings.Join(names, ", "))
	}
	return nil
}
