package control

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Unfetched is a file that ended before it was ever fetched.
type Unfetched struct {
	File, Name, Action, Centre string
}

// EndUnfetched ends, among the given files, those that no source shows any more
// and nobody has fetched or is about to: nothing else would ever tell of them.
// They are listed anew like any file.
func EndUnfetched(ctx context.Context, tx pgx.Tx, files []string, exception, message string) ([]Unfetched, error) {
	// The lock comes in a statement of its own, so that of two sources that lose a
	// file at once the second sees what the first did.
	if _, err := tx.Exec(ctx, "SELECT 1 FROM control.file WHERE id = ANY($1::text[]::uuid[]) ORDER BY id FOR UPDATE", files); err != nil {
		return nil, fmt.Errorf("end files that are gone: %w", err)
	}
	return pg.List(ctx, tx, "end files that are gone", pgx.RowToStructByName[Unfetched], `UPDATE control.file f SET exception=$2, message=$3 FROM (
			SELECT g.id FROM unnest($1::text[]::uuid[]) g(id)
			WHERE NOT EXISTS (SELECT FROM control.hosting h WHERE h.file = g.id AND h.state = 'present' OFFSET 0)
			  AND NOT EXISTS (SELECT FROM control.acquisition a WHERE a.file = g.id OFFSET 0)
			  AND NOT EXISTS (SELECT FROM control.look k WHERE k.file = g.id AND k.class IN ('announced','waiting') OFFSET 0)) e
		WHERE f.id = e.id AND f.exception = '' RETURNING f.id::text AS file, f.name, f.action, coalesce(f.centre, '') AS centre`, files, exception, message)
}

// HeldIn returns those of the given directories in which a source is known to
// host files.
func HeldIn(ctx context.Context, q pg.Querier, source string, directories []string) ([]string, error) {
	return pg.List(ctx, q, "ask what "+source+" hosts", pgx.RowTo[string], "SELECT DISTINCT action FROM control.hosting WHERE source=$1 AND state='present' AND action = ANY($2) ORDER BY action", source, directories)
}
