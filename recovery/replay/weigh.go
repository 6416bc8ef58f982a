package replay

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Weigh counts the documents and the bytes of files, given by their ids, as
// Choose does.
func Weigh(ctx context.Context, tracker *pgxpool.Pool, files []string) (documents, bytes int64, err error) {
	err = tracker.QueryRow(ctx, `SELECT coalesce(sum(f.documents), 0)::bigint, coalesce(sum(f.size_bytes), 0)::bigint
		FROM tracker.file AS f WHERE f.id = ANY($1::uuid[])`, files).Scan(&documents, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count the documents and bytes of %d files: %w", len(files), err)
	}
	return documents, bytes, nil
}
