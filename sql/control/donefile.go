package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Undone is an entry of a listing that is left since its done-file is not there.
type Undone struct {
	Action, Name string
	New          bool  // nothing is known of it at the source
	All          int64 // how many there are
	AllNew       int64 // how many of them are new
}

// LeaveUndone leaves the entries of the connection's listing that are new or changed and
// have no done-file beside them, whose name has before and after around the file's name
// without its four last bytes: of what is known the look that is known stays, and nothing
// else is listed. What was shown of them is passed over. It returns at most limit, of
// which each says how many there are.
func LeaveUndone(ctx context.Context, c pg.Querier, source, before, after string, limit int) ([]Undone, error) {
	return pg.List(ctx, c, "look for done-files of "+source, pgx.RowToStructByName[Undone], `WITH undone AS MATERIALIZED (
			SELECT l.file, l.action, l.name, l.size, l.mtime, h.file IS NULL AS new, h.size AS known_size, h.mtime AS known_mtime
			FROM pg_temp.listed l LEFT JOIN LATERAL (SELECT file, size, mtime FROM control.hosting WHERE source = $1 AND file = l.file AND state = 'present' OFFSET 0) h ON true
			WHERE NOT EXISTS (SELECT FROM pg_temp.passed_over o WHERE o.directory = l.action AND o.name = $2::text || left(l.name, -4) || $3::text)
				AND (h.file IS NULL OR (h.size, h.mtime) IS DISTINCT FROM (l.size, l.mtime))),
		shown AS (INSERT INTO pg_temp.passed_over (directory, name, size, mtime, note) SELECT action, name, size, mtime, $4::text FROM undone),
		unlisted AS (DELETE FROM pg_temp.listed e USING undone u WHERE e.file = u.file AND u.new),
		stays AS (UPDATE pg_temp.listed e SET size = u.known_size, mtime = u.known_mtime FROM undone u WHERE e.file = u.file AND NOT u.new)
		SELECT action, name, new, count(*) OVER () AS all, count(*) FILTER (WHERE new) OVER () AS all_new FROM undone ORDER BY action, name LIMIT $5`,
		source, before, after, NoDoneFile, limit)
}
