package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// ShownFile is a file as a source shows it.
type ShownFile struct {
	Directory, Name string
	Seen
}

// leftReasons are those for which an Ignored is LeftOut, or filtered.
const leftReasons = "('filtered', 'no_done_file', 'too_small', 'too_large', 'too_young', 'too_old', 'not_latest')"

// LeftShown returns what filters and other keys leave of a source's last complete listing,
// as it was shown: those whose names are kept.
func LeftShown(ctx context.Context, q pg.Querier, source string) ([]ShownFile, error) {
	return pg.List(ctx, q, "read what is left of "+source, pgx.RowToStructByName[ShownFile],
		"SELECT directory, name, size, changed_by FROM control.ignored WHERE source=$1 AND reason IN "+leftReasons, source)
}

// ListShown adds to the connection's listing what a source hosts, but for files that it has
// already, and to what is passed over the entries that are no files of ours, as far as their
// names are kept. All says that no more are passed over than are kept.
func ListShown(ctx context.Context, c pg.Querier, source string) (all bool, err error) {
	if err := pg.Exec(ctx, c, "list what "+source+" shows", `INSERT INTO pg_temp.listed (file, action, name, size, mtime, precision, exception, yearless, message, known, centre, file_date, file_inc)
		SELECT h.file, h.action, h.name, h.size, h.mtime, h.mtime_precision, '', false, '', false, f.centre, f.file_date, f.file_inc
		FROM control.hosting h LEFT JOIN control.file f ON f.id = h.file WHERE h.source = $1 AND h.state = 'present' ON CONFLICT DO NOTHING`, source); err != nil {
		return false, err
	}
	if err := pg.Exec(ctx, c, "list what "+source+" shows beside files", `INSERT INTO pg_temp.passed_over (directory, name, size, note)
		SELECT directory, name, size, reason FROM control.ignored WHERE source = $1 AND reason NOT IN `+leftReasons, source); err != nil {
		return false, err
	}
	return pg.One(ctx, c, "count what "+source+" shows beside files", pgx.RowTo[bool],
		"SELECT coalesce((SELECT ignored FROM control.source WHERE id = $1), 0) <= (SELECT count(*) FROM control.ignored WHERE source = $1)", source)
}

// Unlist takes files out of the connection's listing.
func Unlist(ctx context.Context, c pg.Querier, files []string) error {
	return pg.Exec(ctx, c, "take files out of a listing", "DELETE FROM pg_temp.listed WHERE file = ANY($1::text[]::uuid[])", files)
}
