package control

import (
	"context"
	"fmt"

	"tributary/internal/pg"
)

// ForgetNoChecksums has checksums asked for again beside each file of a source.
func ForgetNoChecksums(ctx context.Context, q pg.Querier, source string) error {
	if _, err := q.Exec(ctx, "UPDATE control.source SET no_checksums_at = NULL WHERE id = $1", source); err != nil {
		return fmt.Errorf("source %s: have checksums asked for: %w", source, err)
	}
	return nil
}

// WithoutChecksums tells whether a source, defined so, showed no checksum when it was
// listed last, and all of the files, by their ids, were listed by then. What was only
// announced since, or listed by a program that doesn't look for checksums, was not.
func WithoutChecksums(ctx context.Context, q pg.Querier, source, definition string, files []string) (bool, error) {
	var none bool
	if err := q.QueryRow(ctx, `SELECT coalesce((SELECT s.no_checksums_at IS NOT NULL AND s.passed = md5($3) AND NOT EXISTS (
			SELECT FROM unnest($2::text[]::uuid[]) f(id) LEFT JOIN LATERAL (SELECT listed_at FROM control.hosting WHERE source = $1 AND file = f.id OFFSET 0) h ON true
			WHERE h.listed_at IS NULL OR h.listed_at > s.no_checksums_at)
		FROM control.source s WHERE s.id = $1), false)`, source, files, definition).Scan(&none); err != nil {
		return false, fmt.Errorf("source %s: ask whether it shows checksums: %w", source, err)
	}
	return none, nil
}
