package replay

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

// Weigh counts the documents and the bytes of files, given by their ids, as
// Choose does.
func Weigh(ctx context.Context, tracker *pgxpool.Pool, files []string) (documents, bytes int64, err error) {
	err = pg.Row(ctx, tracker, fmt.Sprintf("count the documents and bytes of %d files", len(files)), []any{&documents, &bytes}, `SELECT coalesce(sum(f.documents), 0)::bigint, coalesce(sum(f.size_bytes), 0)::bigint
		FROM tracker.file AS f WHERE f.id = ANY($1::uuid[])`, files)
	return documents, bytes, err
}
