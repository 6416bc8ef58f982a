package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Batch is a batch that may be released, or a part of it.
type Batch struct {
	ID, Domain string
	Run        string // schemas.LiveRun, or of a late batch a replay
	Session    *string
	Number     int64
	Documents  int64 // that have their positions by parts
}

// Limits are the moments before which things are waited for no longer.
type Limits struct {
	PollCutoff   time.Time // sessions opened before no longer wait for their polls
	ReleaseLimit time.Time // batches opened before are released with what has ended
	LateLimit    time.Time // late batches opened before are released
}

// openLooks finds the looks of session s that plan has not decided about.
const openLooks = `SELECT FROM control.look k WHERE k.session = s.id AND k.class IN ('announced','waiting')`

// earlierLooks finds the looks of earlier sessions than s that a batch of the domain
// of batch b may come of.
const earlierLooks = `SELECT FROM control.look k WHERE k.class IN ('announced','waiting') AND k.domain = b.domain
	AND (SELECT es.number FROM control.session es WHERE es.id = k.session) < s.number`

// turn is the condition under which batch b of session s is the one of its domain
// that may be given positions: the one that has begun, else that of the earliest
// session.
const turn = `(b.number IS NOT NULL OR NOT EXISTS (SELECT FROM control.batch e JOIN control.session es ON es.id = e.session
	WHERE e.domain = b.domain AND e.released_at IS NULL AND (e.number IS NOT NULL OR es.number < s.number)))`

// complete finds what of batch b is complete and has no positions yet.
const complete = `SELECT FROM control.acquisition a WHERE a.batch = b.id AND NOT a.ordered AND a.state = 'ended' AND a.result = 'complete' AND a.documents > 0`

// readyBatches is the condition under which batch b of session s may be released. It
// waits for the looks, too, that an earlier session's batch will come of.
const readyBatches = `b.released_at IS NULL AND (
	(b.session IS NULL AND b.opened_at <= $3 AND EXISTS (SELECT FROM control.acquisition a WHERE a.batch = b.id))
	OR (b.session IS NOT NULL AND ` + turn + `
		AND (b.opened_at < $2
			OR ((s.polls_ended_at IS NOT NULL OR s.opened_at < $1)
				AND NOT EXISTS (` + openLooks + ` AND k.domain = b.domain)
				AND NOT EXISTS (SELECT FROM control.acquisition a WHERE a.batch = b.id AND a.state <> 'ended')
				AND NOT EXISTS (` + earlierLooks + `)))))`

// readyParts is the condition under which a part of batch b of session s may be
// released. A late batch has none: it is released soon by itself.
const readyParts = `b.released_at IS NULL AND b.session IS NOT NULL AND ` + turn + `
	AND (b.number IS NOT NULL OR NOT EXISTS (` + earlierLooks + `)) AND EXISTS (` + complete + `)`

// batchAndSession joins a batch and its session, if it has one: by a look-up for
// each batch, since open batches are few and sessions many.
const batchAndSession = `control.batch b LEFT JOIN LATERAL (SELECT * FROM control.session WHERE id = b.session OFFSET 0) s ON true`

// ReadyBatches returns the batches that may be released now, in the order of
// their sessions.
func ReadyBatches(ctx context.Context, q pg.Querier, l Limits) ([]string, error) {
	return ready(ctx, q, "find complete batches", readyBatches, l.PollCutoff, l.ReleaseLimit, l.LateLimit)
}

// ReadyParts returns the batches of which a part may be released now, in the order of
// their sessions.
func ReadyParts(ctx context.Context, q pg.Querier) ([]string, error) {
	return ready(ctx, q, "find parts of batches", readyParts)
}

func ready(ctx context.Context, q pg.Querier, what, condition string, args ...any) ([]string, error) {
	return pg.List(ctx, q, what, pgx.RowTo[string], `SELECT b.id::text FROM `+batchAndSession+`
		WHERE `+condition+` ORDER BY s.number NULLS LAST, b.domain COLLATE "C"`, args...)
}

// TakeBatch locks the position row, and the batch if it may still be released,
// and gives it its number. The first result is the next position to give; a
// nil batch says that there is nothing to release.
func TakeBatch(ctx context.Context, tx pgx.Tx, id string, l Limits) (next Position, b *Batch, err error) {
	return take(ctx, tx, id, "b.id = $4 AND "+readyBatches, l.PollCutoff, l.ReleaseLimit, l.LateLimit, id)
}

// TakePart is TakeBatch for a part of a batch, which has its number from the first one.
func TakePart(ctx context.Context, tx pgx.Tx, id string) (next Position, b *Batch, err error) {
	return take(ctx, tx, id, "b.id = $1 AND "+readyParts, id)
}

func take(ctx context.Context, tx pgx.Tx, id, condition string, args ...any) (next Position, b *Batch, err error) {
	if next, err = LockPosition(ctx, tx); err != nil {
		return next, nil, err
	}
	// The lock comes in a statement of its own, so that the condition is
	// judged on what was committed before it.
	if _, err := tx.Exec(ctx, "SELECT 1 FROM control.batch WHERE id=$1 FOR UPDATE", id); err != nil {
		return next, nil, fmt.Errorf("lock batch: %w", err)
	}
	b = &Batch{}
	err = tx.QueryRow(ctx, `SELECT b.id::text, b.domain, b.run::text, b.session::text, coalesce(b.number, 0), b.documents
		FROM `+batchAndSession+` WHERE `+condition, args...).Scan(&b.ID, &b.Domain, &b.Run, &b.Session, &b.Number, &b.Documents)
	if errors.Is(err, pgx.ErrNoRows) {
		return next, nil, nil
	}
	if err != nil {
		return next, nil, fmt.Errorf("take batch: %w", err)
	}
	if b.Number > 0 {
		return next, b, nil
	}
	err = tx.QueryRow(ctx, `INSERT INTO control.domain AS d (name, next_number) VALUES ($1, 2) ON CONFLICT (name) DO UPDATE SET next_number = d.next_number + 1
		RETURNING next_number - 1`, b.Domain).Scan(&b.Number)
	if err != nil {
		return next, nil, fmt.Errorf("number batch: %w", err)
	}
	return next, b, nil
}

// Ordered is a document of a batch, in the batch's order.
type Ordered struct {
	Acquisition int64
	Before      bool   // it had its position when control was restored, before the rest of its version
	Body        []byte // the document.validated event
	Session     *string
	Source      string
	Name        string
	Action      string
	Centre      string
	FileDate    string
	FileInc     int64
	RankOwn     bool
	RankTime    *time.Time
	RankOrdinal int32
	RunNumber   int64 // 0 for the live run
}

// BatchDocuments returns the documents of a batch's complete versions that are not
// ordered, or not as a whole, in the order of insertion: kinds in the profile's order, then deletions in the
// reverse of it; file date and increment; document date and increment; action;
// file name; document name; version. What belongs to each version is looked up: of a part
// of a batch few are left, and Postgres may still expect as many as the whole batch had.
func BatchDocuments(ctx context.Context, tx pgx.Tx, batch string, kinds []string) ([]Ordered, error) {
	return pg.List(ctx, tx, "read documents of batch", pgx.RowToStructByName[Ordered], `SELECT a.id AS acquisition, d.before, d.body, a.session::text, t.source, f.name, f.action, coalesce(f.centre, '') AS centre, f.file_date::text, f.file_inc,
			coalesce(a.rank_own, false) AS rank_own, a.rank_time, coalesce(a.rank_ordinal, 0) AS rank_ordinal, coalesce(r.number, 0) AS run_number
		FROM control.acquisition a LEFT JOIN control.replay r ON r.id = a.run
		JOIN LATERAL (SELECT * FROM control.file WHERE id = a.file OFFSET 0) f ON true
		JOIN LATERAL (SELECT source FROM control.attempt WHERE run=a.run AND file=a.file AND attempt=a.attempt OFFSET 0) t ON true
		JOIN LATERAL (SELECT e.*, EXISTS (SELECT FROM control.ordered_document o
				WHERE o.run=e.run AND o.file=e.file AND o.attempt=e.attempt AND o.download=e.download AND o.unzip=e.unzip AND o.document=e.document) AS before
			FROM control.document e WHERE e.run=a.run AND e.file=a.file AND e.attempt=a.attempt AND e.download=a.download AND e.unzip=a.unzip OFFSET 0) d ON true
		WHERE a.batch = $1 AND NOT a.ordered AND a.state = 'ended' AND a.result = 'complete'
		ORDER BY CASE WHEN array_position($2::text[], d.kind) IS NULL THEN 2 * cardinality($2::text[]) + 1
				WHEN f.action = 'delete' THEN 2 * cardinality($2::text[]) + 1 - array_position($2::text[], d.kind)
				ELSE array_position($2::text[], d.kind) END,
			f.file_date, f.file_inc, d.doc_date, d.doc_inc, array_position(ARRAY['add','edit','delete'], f.action),
			f.name COLLATE "C", d.entry COLLATE "C", a.sha256 COLLATE "C", a.id`, batch, kinds)
}

// ReleaseBatch stores that a batch is out. An empty one has no last position.
func ReleaseBatch(ctx context.Context, tx pgx.Tx, b Batch, last *int64, now time.Time) error {
	return pg.Exec(ctx, tx, "release batch", "UPDATE control.batch SET number=$2, released_at=$3, last_position=$4 WHERE id=$1", b.ID, b.Number, now, last)
}

// ReleasePart stores that a part of a batch is out: all documents of the given
// acquisitions, so many, have their positions.
func ReleasePart(ctx context.Context, tx pgx.Tx, b Batch, acquisitions []int64, documents int) error {
	if err := pg.Exec(ctx, tx, "count a part of a batch", "UPDATE control.batch SET number=$2, documents = documents + $3 WHERE id=$1", b.ID, b.Number, documents); err != nil {
		return err
	}
	return pg.Exec(ctx, tx, "release a part of a batch", "UPDATE control.acquisition SET ordered = true WHERE id = ANY($1)", acquisitions)
}
