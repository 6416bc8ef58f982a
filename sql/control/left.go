package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Left is a source that is no longer configured, in maintenance, or outside of its
// window (SourceClosed), and has left something that waits for it.
type Left struct {
	ID, Server, Centre, State string
}

// unbegun are the polls p that nobody is at.
const unbegun = "(p.state = 'due' OR p.state = 'running' AND p.lease_until < clock_timestamp())"

// LeftSources returns the removed sources that have polls which nobody will take,
// or files which nobody will see settle, those in maintenance that have polls, and
// those outside of their window that have polls which nobody has begun.
func LeftSources(ctx context.Context, q pg.Querier, now time.Time) ([]Left, error) {
	return pg.List(ctx, q, "find what sources left", pgx.RowToStructByName[Left], `SELECT s.id, s.server, s.centre, CASE WHEN s.state IN ('removed','maintenance') THEN s.state ELSE 'closed' END AS state
		FROM control.source s WHERE s.state IN ('removed','maintenance')
		AND (EXISTS (SELECT FROM control.poll p WHERE p.source = s.id AND p.state IN ('due','running'))
			OR s.state = 'removed' AND EXISTS (SELECT FROM control.hosting h WHERE h.source = s.id AND h.state = 'present' AND NOT h.settled)
			OR s.state = 'removed' AND EXISTS (SELECT FROM control.ignored i WHERE i.source = s.id))
			OR s.state IN ('available','suspended') AND NOT `+open("s", "$1")+` AND EXISTS (SELECT FROM control.poll p WHERE p.source = s.id AND `+unbegun+`)
		ORDER BY s.id`, now)
}

// TakeLeftPolls takes the open polls of such a source from whoever has them,
// who then records nothing more, and locks them until the transaction ends. Outside
// of its window it takes those that nobody has begun.
func TakeLeftPolls(ctx context.Context, tx pgx.Tx, source string, now time.Time) ([]Poll, error) {
	return pg.List(ctx, tx, "take the polls of "+source, pgx.RowToStructByName[Poll], `UPDATE control.poll p SET epoch = p.epoch + 1, started_at = coalesce(p.started_at, clock_timestamp())
		FROM control.source s, control.session n
		WHERE p.source = $1 AND p.state IN ('due','running') AND s.id = p.source AND n.id = p.session
			AND (s.state IN ('removed','maintenance') OR `+unbegun+` AND NOT `+open("s", "$2")+`)
		RETURNING p.id::text, p.session::text, p.source, p.server, p.centre, n.number, n.once, p.epoch, p.attempts, p.started_at, s.definition::text AS definition,
			s.passed = md5(s.definition::text) AS passed, s.revision`, source, now)
}

// MarkLeft marks hostings of a removed source that have not settled as gone, and
// returns them: at most limit, in the order of their ids.
func MarkLeft(ctx context.Context, tx pgx.Tx, source string, limit int) ([]Vanished, error) {
	left, err := pg.List(ctx, tx, "end what "+source+" left", pgx.RowToStructByName[Vanished], `WITH g AS (UPDATE control.hosting h SET state='gone' FROM (
				SELECT source, file FROM control.hosting WHERE source=$1 AND state='present' AND NOT settled ORDER BY file LIMIT $2 FOR UPDATE) u
			WHERE h.source=u.source AND h.file=u.file AND EXISTS (SELECT FROM control.source WHERE id=$1 AND state='removed')
			RETURNING h.file, h.name, h.action, h.look, h.size)
		SELECT g.file::text, g.name, g.action, coalesce(f.centre, '') AS centre, g.look, g.size
		FROM g CROSS JOIN LATERAL (SELECT centre FROM control.file WHERE id = g.file OFFSET 0) f ORDER BY g.file`, source, limit)
	if err != nil {
		return nil, err
	}
	return left, classGone(ctx, tx, source, left)
}
