package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// NoticeStage is the stage of dead letters that are notices.
const NoticeStage = "notify"

// Kinds of what is told without an event.
const (
	ToldLate = "late" // about a source: since when nothing new has come
	ToldWeek = "week" // about a centre: the week whose summary it was sent
)

// OrderNotice notes that a dead letter, a notice, is to be told again. What was decided
// before about it is replaced.
func OrderNotice(ctx context.Context, q pg.Querier, d DeadLetter) error {
	row := d.row("forced", d.Forced, "replayed_at", d.Retry.At, "replayed_by", pg.Text(d.Retry.By), "replay_reason", pg.Text(d.Retry.Reason))
	return pg.Exec(ctx, q, "note the retry of "+d.Place, row.Insert("control.dead_letter")+` ON CONFLICT (id) DO UPDATE SET forced=excluded.forced,
			replayed_at=excluded.replayed_at, replayed_by=excluded.replayed_by, replay_reason=excluded.replay_reason, dropped_at=NULL, told_at=NULL, told_error=''`, row.Values[0]...)
}

// OrderedNotice is a notice that is to be told again.
type OrderedNotice struct {
	ID, Place string
	At        time.Time // when that was ordered
}

// OrderedNotices are those that are to be told again, in the order in which they lie in
// their topic, no more than most.
func OrderedNotices(ctx context.Context, q pg.Querier, most int) ([]OrderedNotice, error) {
	return pg.List(ctx, q, "read which notices are to be told again", pgx.RowToStructByName[OrderedNotice], `SELECT id::text, place, replayed_at AS at FROM control.dead_letter
		WHERE stage = 'notify' AND replayed_at IS NOT NULL AND told_at IS NULL ORDER BY replayed_at, length(place), place LIMIT $1`, most)
}

// EndNotice notes how telling a notice again has ended; failed is empty if it was told.
func EndNotice(ctx context.Context, q pg.Querier, id, failed string, now time.Time) error {
	return pg.Exec(ctx, q, "note how a notice ended", "UPDATE control.dead_letter SET told_at = $2, told_error = $3 WHERE id = $1 AND told_at IS NULL", id, now, pg.Text(failed))
}

// Told is what was told last of a kind about something; empty: nothing yet.
func Told(ctx context.Context, q pg.Querier, kind, about string) (last string, err error) {
	found, err := pg.Maybe(ctx, q, "read what was told of "+about, pgx.RowTo[string], "SELECT last FROM control.told WHERE kind = $1 AND about = $2", kind, about)
	return pg.Value(found), err
}

// Tell notes what is told; false: it was told before.
func Tell(ctx context.Context, q pg.Querier, kind, about, last string, now time.Time) (bool, error) {
	n, err := pg.Changed(ctx, q, "note what is told of "+about, `INSERT INTO control.told AS t (kind, about, last, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (kind, about) DO UPDATE SET last = excluded.last, at = excluded.at WHERE t.last <> excluded.last`, kind, about, last, now)
	return n == 1, err
}

// SourceCentre is the centre that runs a source; empty if there is none such.
func SourceCentre(ctx context.Context, q pg.Querier, source string) (centre string, err error) {
	found, err := pg.Maybe(ctx, q, "read the centre of the source "+source, pgx.RowTo[string], "SELECT centre FROM control.source WHERE id = $1", source)
	return pg.Value(found), err
}
