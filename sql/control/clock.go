package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/clock"
	"tributary/internal/pg"
)

// cut is a time, cut to what the coarser of both times is exact to, in milliseconds, and no
// more exactly than the parameter finest says: a server shows no fraction of a minute that
// it doesn't show, so none is rounded up.
func cut(at, finest string) string {
	coarser := "greatest(l.precision, h.mtime_precision, " + finest + ")"
	return fmt.Sprintf(`CASE WHEN %[2]s >= 86400000 THEN date_trunc('day', %[1]s, 'UTC') WHEN %[2]s >= 60000 THEN date_trunc('minute', %[1]s, 'UTC')
		WHEN %[2]s >= 2000 THEN date_bin('2 seconds', %[1]s, 'epoch'::timestamptz) WHEN %[2]s >= 1000 THEN date_trunc('second', %[1]s, 'UTC') ELSE %[1]s END`, at, coarser)
}

// sameSize are the entries of a listing l beside the hostings h that have the size
// and have another time. Each row is looked up by itself, as CountMissing says why.
const sameSize = `pg_temp.listed l JOIN LATERAL (SELECT * FROM control.hosting WHERE source = $1 AND file = l.file AND state = 'present' OFFSET 0) h
		ON h.size = l.size AND h.mtime <> l.mtime`

// SameTimes gives the entries of the connection's listing that show the size that is
// known of their file, and a time which is the known one as exactly as both are shown,
// the more exact of the two times: none of them is another look. finest is how exact they
// are at most, in milliseconds, whatever they look like. Where a listing shows no years,
// times of any two years are the same.
func SameTimes(ctx context.Context, c pg.Beginner, source string, finest int32) error {
	same := cut("l.mtime", "$2::int") + " = " + cut("h.mtime", "$2::int")
	same = "(" + same + ` OR l.yearless AND to_char(l.mtime AT TIME ZONE 'UTC', 'MMDDHH24MI') = to_char(h.mtime AT TIME ZONE 'UTC', 'MMDDHH24MI'))`
	return pg.InTx(ctx, c, func(tx pgx.Tx) error {
		if err := pg.Exec(ctx, tx, "compare times of the listing of "+source, `WITH s AS MATERIALIZED (SELECT l.file, h.mtime, h.mtime_precision FROM `+sameSize+`
				WHERE (l.yearless OR l.precision >= h.mtime_precision) AND `+same+`)
			UPDATE pg_temp.listed e SET shown = e.mtime, mtime = s.mtime, precision = s.mtime_precision FROM s WHERE e.file = s.file`, source, finest); err != nil {
			return err
		}
		return pg.Exec(ctx, tx, "compare times of the listing of "+source, `WITH s AS MATERIALIZED (SELECT l.file, l.mtime, l.precision FROM `+sameSize+` WHERE `+same+`)
			UPDATE control.hosting e SET mtime = s.mtime, mtime_precision = s.precision FROM s WHERE e.source = $1 AND e.file = s.file`, source, finest)
	})
}

// sampled is how many entries of a listing are asked whether all times have moved.
const sampled = 2000

// Differences returns by how much times that the connection's listing shows differ from
// those that are known, of files of the known size that were changed before a moment, in
// both: of some of them, by chance, and only of those whose times are shown more exactly
// than to the day. finest is as in [SameTimes].
func Differences(ctx context.Context, q pg.Querier, source string, before time.Time, finest int32) ([]clock.Difference, error) {
	return pg.List(ctx, q, "ask whether the times of "+source+" have moved", pgx.RowToStructByName[clock.Difference], fmt.Sprintf(`SELECT (extract(epoch FROM %s - %s) * 1000000000)::bigint AS by, count(*) AS files
		FROM (SELECT * FROM pg_temp.listed ORDER BY file LIMIT $3) l
		JOIN LATERAL (SELECT * FROM control.hosting WHERE source = $1 AND file = l.file AND state = 'present' OFFSET 0) h ON h.size = l.size
		WHERE NOT l.known AND h.mtime < $2 AND l.mtime < $2 AND greatest(l.precision, h.mtime_precision) < 86400000 AND abs(extract(epoch FROM l.mtime - h.mtime)) < 1000000000 GROUP BY 1`,
		cut("l.mtime", "$4::int"), cut("h.mtime", "$4::int")), source, before, sampled, finest)
}

// MoveTimes moves the times that are known of a source's files by what their server has
// moved them by, where the connection's listing shows them so or was not asked for them,
// and returns how many. finest is as in [SameTimes].
func MoveTimes(ctx context.Context, c pg.Beginner, source string, by time.Duration, finest int32) (n int64, err error) {
	err = pg.InTx(ctx, c, func(tx pgx.Tx) error {
		n, err = moveTimes(ctx, tx, source, by, finest)
		return err
	})
	return n, err
}

func moveTimes(ctx context.Context, q pg.Querier, source string, by time.Duration, finest int32) (int64, error) {
	if err := pg.Exec(ctx, q, "move the times of "+source, "UPDATE pg_temp.listed SET mtime = mtime + $1::interval WHERE known", interval(by)); err != nil {
		return 0, err
	}
	return pg.Changed(ctx, q, "move the times of "+source, `WITH s AS MATERIALIZED (SELECT l.file FROM `+sameSize+` WHERE `+cut("h.mtime + $2::interval", "$3::int")+" = "+cut("l.mtime", "$3::int")+`)
		UPDATE control.hosting e SET mtime = e.mtime + $2::interval FROM s WHERE e.source = $1 AND e.file = s.file`, source, interval(by), finest)
}

// PutClock stores what is known of the clock of a source's server.
func PutClock(ctx context.Context, tx pgx.Tx, source string, c clock.Clock) error {
	return pg.Exec(ctx, tx, "source "+source+": store what is known of its clock", "UPDATE control.source SET clock = $2 WHERE id = $1", source, c)
}
