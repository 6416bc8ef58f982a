package insert

import (
	"context"

	"tributary/internal/pg"
)

// Loaded returns how many documents of each file's version the warehouse has loaded, in
// whatever run, that nobody has taken out since and of which no check finds errors now:
// by file, of which archives has the version at the same place.
func Loaded(ctx context.Context, q pg.Querier, files, archives []string) (map[string]int, error) {
	loaded := map[string]int{}
	var file string
	var n int
	for err := range pg.Each(ctx, q, "ask the warehouse what it has loaded", []any{&file, &n}, `SELECT d.file, count(DISTINCT d.document) FROM unnest($1::text[], $2::text[]) v(file, archive)
		JOIN warehouse.document d ON d.file = v.file AND d.archive = v.archive WHERE d.state = 'loaded' AND NOT d.withdrawn
		  AND NOT EXISTS (SELECT FROM warehouse.finding f WHERE f.position = d.position AND f.open AND f.level = 'error') GROUP BY d.file`, files, archives) {
		if err != nil {
			return nil, err
		}
		loaded[file] = n
	}
	return loaded, nil
}
