package control

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// The limits that leave new and changed files of a source to later polls.
const (
	FilesPerPoll = "files_per_poll"
	BytesPerPoll = "bytes_per_poll"
	FilesPerDay  = "files_per_day"
	BytesPerDay  = "bytes_per_day"
)

// OfDay tells whether a limit is one of a day, which no further poll of that day helps.
func OfDay(limit string) bool { return limit == FilesPerDay || limit == BytesPerDay }

// LimitKey is the key of a source that sets a limit. A poll of an older member says none,
// and knows but one.
func LimitKey(limit string) string {
	switch limit {
	case BytesPerPoll:
		return "max_new_bytes"
	case FilesPerDay:
		return "max_files_per_day"
	case BytesPerDay:
		return "max_bytes_per_day"
	}
	return "max_new, or poll.max_new"
}

// Taken is what was taken up.
type Taken struct {
	Looks int64 // new looks of files
	Files int64 // without those that were taken up before and still grow
	Bytes int64 // of them, as their source lists them; of those that still grow what they have grown by
}

// Plus is both together. A hostile source may list more bytes than there are numbers.
func (t Taken) Plus(o Taken) Taken {
	bytes := t.Bytes + o.Bytes
	if bytes < 0 {
		bytes = math.MaxInt64
	}
	return Taken{t.Looks + o.Looks, t.Files + o.Files, bytes}
}

// Moved tells whether an entry shows another size or time than its source did before,
// or is shown for the first time.
func (l Listed) Moved() bool {
	a, b := l.ModTime, l.HostedModTime
	return !l.Hosted || l.Size != l.HostedSize || (a == nil) != (b == nil) || a != nil && !a.Equal(*b)
}

// Takes is what an entry counts for that is recorded as another look of its file:
// nothing where it shows the same, and is only refused from now on. It says of one
// entry what newLook, grows and grown say of rows.
func (l Listed) Takes() Taken {
	switch {
	case l.State == "present" && !l.Moved():
		return Taken{}
	case l.State == "present" && !l.Settled:
		return Taken{Looks: 1, Bytes: max(0, max(0, l.Size)-max(0, l.HostedSize))}
	}
	return Taken{Looks: 1, Files: 1, Bytes: max(0, l.Size)}
}

const (
	// newLook is true of an entry that shows another look of its file than the source
	// was known to host, or the first.
	newLook = "(h.file IS NULL OR h.size <> l.size OR h.mtime IS DISTINCT FROM l.mtime OR h.state <> 'present')"
	// grows is true of one whose file was taken up before and has not settled since.
	grows = "(h.file IS NOT NULL AND h.state = 'present' AND NOT h.settled)"
	// grown is what one adds in bytes.
	grown = "greatest(greatest(l.size, 0) - CASE WHEN " + grows + " THEN greatest(h.size, 0) ELSE 0 END, 0)"
)

// takenSince is true of an entry that we have taken away, or are about to, since the
// session of that number, a parameter, may have begun: the listing may be from before,
// so it says nothing. One of a later session has come back.
func takenSince(session string) string {
	return "((h.state = 'done_with' AND h.shown_until >= " + session + " AND h.size = l.size AND h.mtime IS NOT DISTINCT FROM l.mtime) IS TRUE)"
}

// Bound is a limit and what has been taken up of it already.
type Bound struct {
	Most int64 // 0: no limit
	Used int64
}

// args are the limit as a statement's argument, null where there is none, and what is used.
func (b Bound) args() []any {
	if b.Most == 0 {
		return []any{nil, b.Used}
	}
	return []any{b.Most, b.Used}
}

// Bounds are what a poll may take up.
type Bounds struct{ PollFiles, PollBytes, DayFiles, DayBytes Bound }

// Waiting are the entries of a listing that must wait, and the limit by which the first
// of them does; empty: none waits.
type Waiting struct {
	Entries int64
	Limit   string
}

// ChooseTurn chooses among the entries of a listing that show a new look those
// whose turn it is, within bounds, and returns how many must wait. Files that were
// never seen at the source come first, those that were changed longest ago first;
// then the others, those that were taken up longest ago first. So whoever waits
// comes nearer with each poll: where one doesn't fit, none after it has its turn.
// The first bytes of a poll and of a day always fit, so that a file larger than the
// limit has its turn too. What the source shows again as it was refused before (it may
// not show it, or it can't be fetched) has its turn beside all that, and uses nothing.
// session is the number of the poll's, hosts is as in Source.
func ChooseTurn(ctx context.Context, q pg.Querier, source string, session int64, hosts []string, b Bounds) (w Waiting, err error) {
	args := []any{source, hosts}
	for _, one := range []Bound{b.PollFiles, b.PollBytes, b.DayFiles, b.DayBytes} {
		args = append(args, one.args()...)
	}
	args = append(args, session)
	err = pg.Row(ctx, q, "choose from the listing of "+source, []any{&w.Entries, &w.Limit}, `WITH n AS MATERIALIZED (SELECT l.file, l.mtime, l.action, l.name, h.listed_at, NOT `+grows+` AS another, `+grown+` AS bytes,
				h.state = 'gone' AND h.size = l.size AND h.mtime IS NOT DISTINCT FROM l.mtime AND f.centre IS NOT NULL
					AND (l.exception <> '' OR NOT `+granted("$2::text[]", "f.centre", "l.action")+`) IS TRUE AS again
			FROM pg_temp.listed l LEFT JOIN LATERAL (SELECT * FROM control.hosting WHERE source = $1 AND file = l.file OFFSET 0) h ON true
			LEFT JOIN LATERAL (SELECT centre FROM control.file WHERE id = l.file AND h.state = 'gone' OFFSET 0) f ON true
			WHERE `+newLook+` AND NOT `+takenSince("$11")+`),
		r AS (SELECT file, bytes AS own, row_number() OVER w AS turn, count(*) FILTER (WHERE another) OVER w AS files, sum(bytes) OVER w AS bytes
			FROM n WHERE again IS NOT TRUE WINDOW w AS (ORDER BY listed_at NULLS FIRST, mtime NULLS LAST, action, name COLLATE "C" ROWS UNBOUNDED PRECEDING)),
		s AS MATERIALIZED (SELECT file, turn, CASE
				WHEN files > $7::bigint - $8::bigint THEN 'files_per_day'
				WHEN bytes > $9::bigint - $10::bigint AND bytes - own + $10::bigint > 0 THEN 'bytes_per_day'
				WHEN turn > $3::bigint - $4::bigint THEN 'files_per_poll'
				WHEN bytes > $5::bigint - $6::bigint AND bytes - own + $6::bigint > 0 THEN 'bytes_per_poll'
			END AS stop FROM r),
		t AS (UPDATE pg_temp.listed l SET turn = true FROM (SELECT file FROM s WHERE stop IS NULL UNION ALL SELECT file FROM n WHERE again) c
			WHERE l.file = c.file)
		SELECT count(*), coalesce((SELECT stop FROM s WHERE stop IS NOT NULL ORDER BY turn LIMIT 1), '') FROM s WHERE stop IS NOT NULL`, args...)
	return w, err
}

// TakenOn returns the files and bytes that were taken up of a source on a day.
func TakenOn(ctx context.Context, q pg.Querier, source, day string) (t Taken, err error) {
	err = pg.Row(ctx, q, "read what was taken up of "+source+" on "+day, []any{&t.Files, &t.Bytes}, "SELECT coalesce(sum(files), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM control.source_day WHERE source = $1 AND day = $2::text::date", source, day)
	return t, err
}

// CountPoll counts what a poll takes up, in the transaction that records it.
func CountPoll(ctx context.Context, tx pgx.Tx, p Poll, day string, t Taken) error {
	if t == (Taken{}) {
		return nil
	}
	if _, err := tx.Exec(ctx, "UPDATE control.poll SET taken = taken + $2, taken_bytes = "+sumSQL("taken_bytes", "$3")+" WHERE id = $1", p.ID, t.Looks, t.Bytes); err != nil {
		return fmt.Errorf("poll of %s: count what it takes up: %w", p.Source, err)
	}
	return CountDay(ctx, tx, p.Source, day, t)
}

// daysKept is how many days before a day its counts are kept: a member's clock may be
// behind, and the source's time zone may change.
const daysKept = 7

// CountDay counts what is taken up of a source on a day, in the transaction that
// records it. It waits for whoever else counts there, so it comes after the files.
func CountDay(ctx context.Context, tx pgx.Tx, source, day string, t Taken) error {
	if err := pg.Exec(ctx, tx, "count what is taken up of "+source, `INSERT INTO control.source_day AS d (source, day, files, bytes) VALUES ($1, $2::text::date, $3, $4)
		ON CONFLICT (source, day) DO UPDATE SET files = d.files + excluded.files, bytes = `+sumSQL("d.bytes", "excluded.bytes"), source, day, t.Files, t.Bytes); err != nil {
		return err
	}
	return pg.Exec(ctx, tx, "forget what was taken up of "+source+" before", "DELETE FROM control.source_day WHERE source = $1 AND day < $2::text::date - $3::int", source, day, daysKept)
}

// sumSQL adds numbers of bytes as Taken.Plus does.
func sumSQL(a, b string) string {
	return fmt.Sprintf("least(%s::numeric + %s, %d)::bigint", a, b, int64(math.MaxInt64))
}

// StopTaking stores how many entries with a new look a poll has left to the next, and by
// which limit, and returns what it has taken up.
func StopTaking(ctx context.Context, q pg.Querier, p Poll, w Waiting) (t Taken, err error) {
	err = pg.Row(ctx, q, "poll of "+p.Source+": store what it leaves to the next", []any{&t.Looks, &t.Bytes}, "UPDATE control.poll SET postponed = $2, stopped_by = $3 WHERE id = $1 RETURNING taken, taken_bytes", p.ID, w.Entries, w.Limit)
	return t, err
}
