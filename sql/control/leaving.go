package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// The reasons for which a source leaves a file that its listing shows.
const (
	NoDoneFile = "no_done_file" // the listing doesn't show its done-file
	TooSmall   = "too_small"    // it is smaller than min_size
	TooLarge   = "too_large"    // it is larger than max_size
	TooYoung   = "too_young"    // it was changed later than min_age ago
	TooOld     = "too_old"      // it was changed longer than max_age ago
	NotLatest  = "not_latest"   // there is a later file of its centre in its directory
)

// LeftOut is an entry of a listing that is left. What is left of a directory for one reason
// is counted with each.
type LeftOut struct {
	Action, Name, Reason string
	Beside               string // the later file for which it is left, if that is known
	New                  bool   // nothing is known of it at the source
	All                  int64  // how many there are
	AllNew               int64  // how many of them are new
	Seen
}

// Fit are the bounds within which a source's files are taken. What a server doesn't say
// excludes nothing.
type Fit struct {
	MinSize, MaxSize int64      // in bytes; 0: no bound
	ChangedAfter     *time.Time // by the server's clock; nil: no bound
}

// Leaving says of whose listing entries are left, and how many of them are returned.
type Leaving struct {
	Source string
	AsNew  bool // all that is listed is judged as if the source knew nothing but what we took away
	Limit  int  // of what is returned, in turn of each directory and reason, so that from 9 on each is among them
}

// LeaveUnfit leaves the entries of the connection's listing that are new or changed and
// not within bounds: of what is known the look that is known stays, and nothing else is
// listed. What was shown of them is passed over.
func LeaveUnfit(ctx context.Context, c pg.Querier, of Leaving, fit Fit) ([]LeftOut, error) {
	return pg.List(ctx, c, "leave what is not to be taken of "+of.Source, pgx.RowToStructByName[LeftOut], leaving(`CASE WHEN l.size >= 0 AND l.size < $4::bigint THEN 'too_small'
			WHEN l.size > nullif($5::bigint, 0) THEN 'too_large' WHEN `+changedAt+` < $6::timestamptz THEN 'too_old' END`, "''", ""),
		of.Source, of.Limit, of.AsNew, fit.MinSize, fit.MaxSize, fit.ChangedAfter)
}

// LeaveOlder leaves, as LeaveUnfit does, those of whose centre there is a later file in
// their directory, by the date and the increment of its name: the listing shows it, or it
// is known to the source and not gone, or we have taken it away. Where the listing is not
// whole, what it lacks may be later, so all are left that have a centre.
func LeaveOlder(ctx context.Context, c pg.Querier, of Leaving, whole bool) ([]LeftOut, error) {
	const later = "(m.file_date, m.file_inc) > (l.file_date, l.file_inc)"
	return pg.List(ctx, c, "leave what is not the latest of "+of.Source, pgx.RowToStructByName[LeftOut], leaving(
		"CASE WHEN "+later+" OR NOT $4::boolean AND l.centre IS NOT NULL THEN 'not_latest' END", "CASE WHEN "+later+" THEN m.name ELSE '' END",
		`LEFT JOIN (SELECT DISTINCT ON (action, centre) * FROM (SELECT action, centre, file_date, file_inc, name FROM pg_temp.listed WHERE centre IS NOT NULL
				UNION ALL SELECT k.action, f.centre, f.file_date, f.file_inc, k.name FROM control.hosting k JOIN control.file f ON f.id = k.file
					WHERE k.source = $1 AND k.state IN ('present', 'done_with') AND (k.state = 'done_with' OR NOT $3::boolean) AND f.centre IS NOT NULL) a
			ORDER BY action, centre, file_date DESC, file_inc DESC, name COLLATE "C") m ON m.action = l.action AND m.centre = l.centre`), of.Source, of.Limit, of.AsNew, whole)
}

// LeaveUnready leaves, as LeaveUnfit does, those that were changed later than a moment by
// the server's clock, if one is given, and those that have no done-file beside them, if
// they wait for one: its name has before and after around the file's name without its
// four last bytes.
func LeaveUnready(ctx context.Context, c pg.Querier, of Leaving, changedBy *time.Time, waits bool, before, after string) ([]LeftOut, error) {
	return pg.List(ctx, c, "leave what is not ready at "+of.Source, pgx.RowToStructByName[LeftOut], leaving(
		`CASE WHEN $5::boolean AND NOT EXISTS (SELECT FROM pg_temp.passed_over o WHERE o.directory = l.action AND o.name = $6::text || left(l.name, -4) || $7::text) THEN 'no_done_file'
			WHEN `+changedAt+` > $4::timestamptz THEN 'too_young' END`, "''", ""), of.Source, of.Limit, of.AsNew, changedBy, waits, before, after)
}

// changedAt is when an entry was changed at the latest, as exactly as the server shows it.
const changedAt = "(l.mtime + l.precision * interval '1 millisecond')"

// leaving is the statement that leaves the entries l for which there is a reason, which
// join may help to find out: beside says for which other file. Its parameters are those of
// a Leaving, before those of the reason.
func leaving(reason, beside, join string) string {
	return `WITH judged AS MATERIALIZED (SELECT l.file, l.action, l.name, l.size, l.mtime, ` + changedAt + ` AS changed_by, ` + reason + ` AS reason, ` + beside + ` AS beside, h.file IS NULL AS new, h.size AS known_size, h.mtime AS known_mtime
			FROM pg_temp.listed l LEFT JOIN LATERAL (SELECT file, size, mtime FROM control.hosting WHERE source = $1 AND file = l.file AND state = 'present' AND NOT $3::boolean OFFSET 0) h ON true ` + join + `
			WHERE h.file IS NULL OR (h.size, h.mtime) IS DISTINCT FROM (l.size, l.mtime)),
		u AS MATERIALIZED (SELECT * FROM judged WHERE reason IS NOT NULL),
		shown AS (INSERT INTO pg_temp.passed_over (directory, name, size, mtime, note) SELECT action, name, size, mtime, reason FROM u),
		unlisted AS (DELETE FROM pg_temp.listed e USING u WHERE e.file = u.file AND u.new),
		stays AS (UPDATE pg_temp.listed e SET size = u.known_size, mtime = u.known_mtime FROM u WHERE e.file = u.file AND NOT u.new)
		SELECT action, name, reason, beside, new, of_kind AS all, new_of_kind AS all_new, size, changed_by FROM (SELECT *, row_number() OVER (PARTITION BY reason, action ORDER BY name COLLATE "C") AS nth,
				count(*) OVER (PARTITION BY reason, action) AS of_kind, count(*) FILTER (WHERE new) OVER (PARTITION BY reason, action) AS new_of_kind FROM u) k
		ORDER BY nth, reason, action LIMIT $2`
}
