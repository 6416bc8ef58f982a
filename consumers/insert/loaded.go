package insert

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Loaded returns how many documents of each file's version the warehouse has loaded, in
// whatever run, that nobody has taken out since and of which no check finds errors now:
// by file, of which archives has the version at the same place.
func Loaded(ctx context.Context, q pg.Querier, files, archives []string) (map[string]int, error) {
	rows, err := q.Query(ctx, `SELECT d.file, count(DISTINCT d.document) FROM unnest($1::text[], $2::text[]) v(file, archive)
		JOIN warehouse.document d ON d.file = v.file AND d.archive = v.archive WHERE d.state = 'loaded' AND NOT d.withdrawn
		  AND NOT EXISTS (SELECT FROM warehouse.finding f WHERE f.position = d.position AND f.open AND f.level = 'error') GROUP BY d.file`, files, archives)
	if err != nil {
		return nil, fmt.Errorf("ask the warehouse what it has loaded: %w", err)
	}
	loaded := map[string]int{}
	var file string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&file, &n}, func() error { loaded[file] = n; return nil }); err != nil {
		return nil, fmt.Errorf("ask the warehouse what it has loaded: %w", err)
	}
	return loaded, nil
}
