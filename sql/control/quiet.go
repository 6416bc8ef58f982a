package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Unfinished counts what control still waits for.
type Unfinished struct {
	Polls        int64 // due or running
	Looks        int64 // announced, or waiting for the centre's own sources
	Acquisitions int64 // files wanted, under way or being validated
	Batches      int64 // not released
	Sessions     int64 // not closed
	Operations   int64 // asked for by people, without a position
	Replays      int64 // versions of files that running replays have still to request, but for replays that wait for other members; and those that have requested all and are not done
	Outbox       int64 // events not yet acknowledged
}

// Any tells whether something is unfinished.
func (u Unfinished) Any() bool { return u != Unfinished{} }

// String says what is unfinished, for people.
func (u Unfinished) String() string {
	return fmt.Sprintf("%d polls, %d looks not taken up, %d files under way, %d batches and %d sessions open, %d operations not ordered, %d files to be replayed or replays to be applied, %d events to publish",
		u.Polls, u.Looks, u.Acquisitions, u.Batches, u.Sessions, u.Operations, u.Replays, u.Outbox)
}

// Pending counts what is unfinished. Retries that are planned for later do
// not count: their files have reached an end.
func Pending(ctx context.Context, q pg.Querier) (u Unfinished, err error) {
	err = pg.Row(ctx, q, "count what is unfinished", []any{&u.Polls, &u.Looks, &u.Acquisitions, &u.Batches, &u.Sessions, &u.Operations, &u.Replays, &u.Outbox}, `SELECT
		(SELECT count(*) FROM control.poll WHERE state IN ('due','running')),
		(SELECT count(*) FROM control.look WHERE class IN ('announced','waiting')),
		(SELECT count(*) FROM control.acquisition WHERE state <> 'ended'),
		(SELECT count(*) FROM control.batch b WHERE released_at IS NULL),
		(SELECT count(*) FROM control.session WHERE closed_at IS NULL),
		(SELECT count(*) FROM control.operation WHERE position IS NULL),
		(SELECT count(*) FROM control.replay r JOIN control.replay_item i ON i.run = r.id AND i.state = 'waiting' WHERE r.state = 'running' AND r.held = '')
			+ (SELECT count(*) FROM control.replay r WHERE r.state = 'running' AND NOT EXISTS (SELECT FROM control.replay_item i WHERE i.run = r.id AND i.state = 'waiting')),
		(SELECT coalesce(sum(events), 0) FROM control.outbox)`)
	return u, err
}

// SessionOpen tells whether a session is not closed yet: then something is
// unfinished, and nothing need be counted.
func SessionOpen(ctx context.Context, q pg.Querier) (open bool, err error) {
	return pg.One(ctx, q, "ask for open sessions", pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM control.session WHERE closed_at IS NULL)")
}

// Fetching tells whether files are to be fetched, or being fetched.
func Fetching(ctx context.Context, q pg.Querier) (fetching bool, err error) {
	return pg.One(ctx, q, "ask for files to be fetched", pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM control.acquisition WHERE state = 'wanted') OR EXISTS (SELECT FROM control.acquisition WHERE state = 'requested')")
}

// Listing is how a poll of a session ended.
type Listing struct {
	Source, State, Exception, Message string
	Postponed                         int64      // new and changed files that it left to the next
	Limit                             string     // by which it left them
	EndedAt                           *time.Time // nil: it has not ended
	Definition                        string     // of the source, as it is now
	Opens                             *time.Time // when its window opens, outside of which it was not polled; nil: that is not why
}

// Unlisted returns the available and suspended sources that the given session did
// not list to the end, and why; and those of which it left files to the next.
func Unlisted(ctx context.Context, q pg.Querier, session string, now time.Time) ([]Listing, error) {
	return pg.List(ctx, q, "read how sources were listed", pgx.RowToStructByName[Listing], `SELECT s.id AS source, coalesce(p.state, 'not polled') AS state, coalesce(nullif(p.exception, ''), CASE WHEN s.state = 'suspended' THEN 'source_suspended' ELSE '' END) AS exception,
			coalesce(nullif(p.message, ''), s.suspended_why) AS message, coalesce(p.postponed, 0) AS postponed,
			coalesce(p.stopped_by, '') AS "limit", p.ended_at, s.definition::text AS definition,
			CASE WHEN p.id IS NULL AND s.state = 'available' AND NOT `+open("s", "$2")+` THEN s.opens END AS opens
		FROM control.source s JOIN control.centre c ON c.short_name = s.centre AND c.active
		LEFT JOIN control.poll p ON p.source = s.id AND p.session = $1
		WHERE s.state IN ('available','suspended') AND ((p.state IN ('complete', 'minimal')) IS NOT TRUE OR p.postponed > 0) ORDER BY s.id`, session, now)
}
