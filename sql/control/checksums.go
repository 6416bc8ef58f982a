package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// ForgetNoChecksums has checksums asked for again beside each file of a source.
func ForgetNoChecksums(ctx context.Context, q pg.Querier, source string) error {
	return pg.Exec(ctx, q, "source "+source+": have checksums asked for", "UPDATE control.source SET no_checksums_at = NULL WHERE id = $1", source)
}

// WithoutChecksums tells whether a source, defined so, showed no checksum when it was
// listed last, and all of the files, by their ids, were listed by then. What was only
// announced since, or listed by a program that doesn't look for checksums, was not.
func WithoutChecksums(ctx context.Context, q pg.Querier, source, definition string, files []string) (bool, error) {
	return pg.One(ctx, q, "source "+source+": ask whether it shows checksums", pgx.RowTo[bool], `SELECT coalesce((SELECT s.no_checksums_at IS NOT NULL AND s.passed = md5($3) AND NOT EXISTS (
			SELECT FROM unnest($2::text[]::uuid[]) f(id) LEFT JOIN LATERAL (SELECT listed_at FROM control.hosting WHERE source = $1 AND file = f.id OFFSET 0) h ON true
			WHERE h.listed_at IS NULL OR h.listed_at > s.no_checksums_at)
		FROM control.source s WHERE s.id = $1), false)`, source, files, definition)
}
