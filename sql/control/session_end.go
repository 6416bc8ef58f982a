package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Session is a session whose batches are all out, or that has been applied.
type Session struct {
	ID       string
	Number   int64
	OpenedAt time.Time
	Failed   string   // of one that has been applied: the earliest phase in which a poll or a file failed for good; empty if none did
	Batches  []string // of one that has been applied
}

// EndableSessions returns the sessions all of whose batches are out, but whose
// end has no position yet.
func EndableSessions(ctx context.Context, q pg.Querier, l Limits) ([]Session, error) {
	return pg.List(ctx, q, "find sessions that end", scanSession, `SELECT s.id::text, s.number, s.opened_at, '', ARRAY[]::text[] FROM control.session s
		WHERE s.closed_at IS NULL AND s.end_position IS NULL AND (s.polls_ended_at IS NOT NULL OR s.opened_at < $1)
		  AND NOT EXISTS (`+openLooks+`)
		  AND NOT EXISTS (SELECT FROM control.batch b WHERE b.session = s.id AND b.released_at IS NULL)
		ORDER BY s.number`, l.PollCutoff)
}

func scanSession(r pgx.CollectableRow) (s Session, err error) {
	err = r.Scan(&s.ID, &s.Number, &s.OpenedAt, &s.Failed, &s.Batches)
	return s, err
}

// EndSession gives a session's end its position; false if another did, or closed it.
func EndSession(ctx context.Context, tx pgx.Tx, id string, position int64) (bool, error) {
	n, err := pg.Changed(ctx, tx, "end session", "UPDATE control.session SET end_position=$2 WHERE id=$1 AND end_position IS NULL AND closed_at IS NULL", id, position)
	return n == 1, err
}

// AppliedSessions returns the sessions that are open though the warehouse has
// applied their end. Of a file that a session fetched more than once, the last time
// counts; it is looked for among the file's fetches, which are few, not the batch's.
func AppliedSessions(ctx context.Context, q pg.Querier, applied int64) ([]Session, error) {
	return pg.List(ctx, q, "find sessions that are applied", scanSession, `SELECT s.id::text, s.number, s.opened_at,
			CASE WHEN EXISTS (SELECT FROM control.poll p WHERE p.session = s.id AND p.state NOT IN ('complete', 'minimal')) THEN 'zip_name'
			ELSE coalesce((SELECT a.phase FROM control.batch b JOIN control.acquisition a ON a.batch = b.id WHERE b.session = s.id AND a.result = 'failed'
				AND NOT EXISTS (SELECT FROM control.acquisition l WHERE l.file = a.file AND l.id > a.id AND l.batch IS NOT DISTINCT FROM a.batch OFFSET 0)
				ORDER BY array_position(ARRAY['zip_name', 'download', 'zip_md5', 'unzip'], a.phase) LIMIT 1), '') END,
			ARRAY(SELECT b.id::text FROM control.batch b WHERE b.session = s.id)
		FROM control.session s WHERE s.closed_at IS NULL AND s.end_position <= $1 ORDER BY s.number`, applied)
}
