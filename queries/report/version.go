package report

import (
	"context"
	"fmt"

	"tributary/internal/pg"
)

// VersionOf is the sha256 of a version of the file of that action and name: the one that
// is asked for, or, if that is empty, the one that it shows. It returns ErrNotFound for
// one that the file never had.
func VersionOf(ctx context.Context, q pg.Querier, action, name, sha256 string) (string, error) {
	found, err := list[struct{ SHA256 string }](ctx, q, "versions", `SELECT v.sha256 FROM tracker.zip_version v JOIN tracker.file f ON f.id = v.za_id
		WHERE f.file = $1 AND f.action = $2 AND v.sha256 = coalesce(nullif($3, ''), f.sha256)`, name, action, sha256)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s/%s: version %s: %w", action, name, sha256, ErrNotFound)
	}
	return found[0].SHA256, nil
}
