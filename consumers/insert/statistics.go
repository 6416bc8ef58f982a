package insert

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// smallTable is the size in bytes below which a table needs no statistics.
const smallTable = 256 << 10

// gatherStatistics lets Postgres look at the tables that have doubled since it
// last did. It does so by itself, too, but minutes after a first load, and until
// then it would plan the profile's statements as if all tables were small.
func (w *writer) gatherStatistics(ctx context.Context) error {
	tables, err := w.column(ctx, `SELECT 'warehouse.' || quote_ident(c.relname) FROM pg_class c
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind = 'r'
			AND pg_relation_size(c.oid) > greatest($1, c.relpages * 2 * current_setting('block_size')::bigint) ORDER BY 1`, smallTable)
	if err != nil {
		return fmt.Errorf("find tables that have grown: %w", err)
	}
	if len(tables) == 0 {
		return nil
	}
	if _, err := w.tx.Exec(ctx, "ANALYZE "+strings.Join(tables, ", ")); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

func (w *writer) column(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := w.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
