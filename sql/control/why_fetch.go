package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Fetch is an acquisition with what says how far it is.
type Fetch struct {
	Acquisition

	NewsAt      time.Time
	Repeats     int
	Replay      *int64 // number of the replay that it belongs to
	Letter      string // the dead letter that it retries
	Job         *string
	JobServer   *string
	JobFiles    *int // of the job, those without an outcome
	JobSince    *time.Time
	Holder      *string // the member that has a session open for the job
	Ordered     bool    // its documents have positions, though its batch may not be out
	Judged      int64   // documents that have been judged
	Rejected    int64   // of them, those that are not valid
	Quarantined int64
}

// Fetches returns the newest acquisitions of a file, the newest first.
func Fetches(ctx context.Context, q pg.Querier, file string) ([]Fetch, error) {
	return pg.List(ctx, q, "read how a file was fetched", pgx.RowToStructByName[Fetch], `SELECT a.id, a.run::text, a.file::text, a.session::text, a.domain, a.batch::text, a.source, a.look, a.size, a.state,
			greatest(a.not_before, 'epoch') AS not_before, a.attempt, a.alone, a.tried, a.download, a.unzip, a.sha256, a.documents, a.rank_own, a.rank_time, a.rank_ordinal,
			a.result, a.phase, a.exception, a.message, a.ended_at, a.retry_at, a.retries, a.priority, a.heals, a.news_at, a.repeats, a.ordered,
			(SELECT number FROM control.replay WHERE id = a.run) AS replay,
			coalesce((SELECT l.place FROM control.dead_letter l WHERE l.acquisition = a.id LIMIT 1), '') AS letter,
			j.id::text AS job, j.server AS job_server, j.remaining AS job_files, j.requested_at AS job_since, x.holder, d.judged, d.rejected, d.quarantined
		FROM (SELECT * FROM control.acquisition WHERE file = $1 ORDER BY id DESC LIMIT $2) a
		LEFT JOIN LATERAL (SELECT job FROM control.attempt WHERE file = a.file AND run = a.run AND attempt = a.attempt OFFSET 0) t ON true
		LEFT JOIN LATERAL (SELECT * FROM control.job WHERE id = t.job AND a.state = 'requested' OFFSET 0) j ON true
		LEFT JOIN LATERAL (SELECT holder FROM control.job_session WHERE job = j.id AND lease_until >= clock_timestamp() OFFSET 0) x ON true
		CROSS JOIN LATERAL (SELECT count(*) AS judged, count(*) FILTER (WHERE result <> 'valid') AS rejected, count(*) FILTER (WHERE result = 'quarantined') AS quarantined FROM (
			SELECT result FROM control.document WHERE run = a.run AND file = a.file AND attempt = a.attempt AND download = a.download AND unzip = a.unzip LIMIT $3) v) d
		ORDER BY a.id DESC`, file, fetchesBack, CountedTo)
}

// Use is what one source uses of its server's credit.
type Use struct {
	Source   string
	Jobs     int64 // outstanding
	Polls    int64 // running
	DuePolls int64 // that go before new jobs
}

// CreditUse is what a server's credit is used by.
type CreditUse struct {
	Limit int64 // sessions at once
	Free  int64 // of them, less polls that are due
	By    []Use // at most 20 sources
}

// CreditUseOf returns what a server's credit is used by.
func CreditUseOf(ctx context.Context, q pg.Querier, server string, now time.Time) (c CreditUse, err error) {
	err = q.QueryRow(ctx, fmt.Sprintf(`SELECT coalesce((SELECT min(max_sessions) FROM control.source WHERE server = $1 AND state <> 'removed'), 0), coalesce(`+creditSQL+`
		- (SELECT count(*) FROM control.poll p JOIN control.source o ON o.id = p.source WHERE o.server = $1 AND p.state = 'due' AND p.not_before <= $2), 0)`, "$1"), server, now).Scan(&c.Limit, &c.Free)
	if err != nil {
		return c, fmt.Errorf("read the credit of %s: %w", server, err)
	}
	c.By, err = pg.List(ctx, q, "read what uses the credit of "+server, pgx.RowToStructByName[Use], `SELECT source, sum(jobs)::bigint AS jobs, sum(polls)::bigint AS polls, sum(due)::bigint AS due_polls FROM (
			SELECT source, 1 AS jobs, 0 AS polls, 0 AS due FROM control.job WHERE server = $1
			UNION ALL SELECT source, 0, 1, 0 FROM control.poll WHERE server = $1 AND state = 'running' AND lease_until >= clock_timestamp()
			UNION ALL SELECT p.source, 0, 0, 1 FROM control.poll p JOIN control.source o ON o.id = p.source WHERE o.server = $1 AND p.state = 'due' AND p.not_before <= $2) u
		GROUP BY source ORDER BY sum(jobs + polls) DESC, source LIMIT 20`, server, now)
	return c, err
}

// Queue is how many files wait to be requested: before a given one of its
// source, and of all sources. Beyond CountedTo nobody counts.
type Queue struct {
	Before, All int64
	Priority    int   // of the source from which it is fetched, whatever that of the file is
	Rivals      int64 // other sources of its server that have files wanted now
}

// QueueOf returns how many files wait beside an acquisition that is fetched from the
// given source.
func QueueOf(ctx context.Context, q pg.Querier, a *Acquisition, from string, now time.Time) (out Queue, err error) {
	err = pg.Row(ctx, q, "count what waits to be requested", []any{&out.Before, &out.All, &out.Priority, &out.Rivals}, `SELECT
		(SELECT count(*) FROM (SELECT FROM control.acquisition a WHERE a.state = 'wanted' AND a.source = $1 AND a.priority IS NULL
			AND (`+laneOf+`, a.not_before, a.id) < (CASE sign(p.own - p.source) WHEN 1 THEN -1 WHEN 0 THEN $2 ELSE 3 END, $3, $4)
			AND a.not_before <= $5 LIMIT $6 + 1) b)
		+ (SELECT count(*) FROM (SELECT FROM control.acquisition a WHERE a.state = 'wanted' AND a.source = $1 AND a.priority IS NOT NULL
			AND (-a.priority, `+laneOf+`, a.not_before, a.id) < (-p.own, $2, $3, $4) AND a.not_before <= $5 LIMIT $6 + 1) b),
		(SELECT count(*) FROM (SELECT FROM control.acquisition WHERE state = 'wanted' LIMIT $6 + 1) w),
		p.source,
		(SELECT count(*) FROM control.source s JOIN control.source o ON o.server = s.server AND o.id <> s.id WHERE s.id = $7
			AND EXISTS (SELECT FROM control.acquisition a WHERE a.state = 'wanted' AND a.source = o.id AND a.not_before <= $5))
		FROM (SELECT p AS source, coalesce($8, p) AS own FROM (SELECT coalesce((SELECT `+priorityOf+` FROM control.source s WHERE s.id = $7), 5)) d(p)) p`,
		a.Source, a.Lane(), a.NotBefore, a.ID, now, CountedTo, from, a.Priority)
	return out, err
}

// BatchStanding is how far a batch is, and what it waits for.
type BatchStanding struct {
	Domain        string
	Number        *int64
	OpenedAt      time.Time
	ReleasedAt    *time.Time
	LastPosition  *int64 // of its documents and its end; nil: not released, or nothing was in it
	Session       *int64 // its number; nil: a late batch
	SessionOpened *time.Time
	PollsEnded    bool
	Polls         int64      // of its session that have not ended
	Polling       string     // a source of these
	Looks         int64      // of its session and domain that plan has not taken up; up to CountedTo
	Unfinished    int64      // of its files, those that have not ended; up to CountedTo
	Earlier       *int64     // the session whose batch of the domain comes first: the first earlier one's, or one that has begun
	EarlierOpened *time.Time // when that batch was opened
}

// BatchStandingOf returns how far a batch is; nil if there is none of that id.
func BatchStandingOf(ctx context.Context, q pg.Querier, id string) (*BatchStanding, error) {
	return pg.Maybe(ctx, q, "read what a batch waits for", pgx.RowToStructByName[BatchStanding], `SELECT b.domain, b.number, b.opened_at, b.released_at, b.last_position, s.number AS session, s.opened_at AS session_opened, s.polls_ended_at IS NOT NULL AS polls_ended,
			p.polls, coalesce(p.polling, '') AS polling, e.number AS earlier, e.opened_at AS earlier_opened,
			(SELECT count(*) FROM (SELECT FROM control.look k WHERE k.session = b.session AND k.domain = b.domain AND k.class IN ('announced','waiting') LIMIT $2 + 1) l) AS looks,
			(SELECT count(*) FROM (SELECT FROM control.acquisition a WHERE a.batch = b.id AND a.state <> 'ended' LIMIT $2 + 1) u) AS unfinished
		FROM control.batch b LEFT JOIN LATERAL (SELECT * FROM control.session WHERE id = b.session OFFSET 0) s ON true
		CROSS JOIN LATERAL (SELECT count(*) AS polls, min(source) AS polling FROM control.poll WHERE session = s.id AND state IN ('due','running')) p
		LEFT JOIN LATERAL (SELECT es.number, w.opened_at FROM control.batch w JOIN control.session es ON es.id = w.session
			WHERE w.domain = b.domain AND w.released_at IS NULL AND b.number IS NULL AND (w.number IS NOT NULL OR es.number < s.number) ORDER BY w.number, es.number LIMIT 1) e ON true
		WHERE b.id = $1`, id, CountedTo)
}

// ReplayOf is what a replay does with a file.
type ReplayOf struct {
	Number      int64
	Phase       string
	Shadow      string // its results go there; empty: they are live
	State       string // of the replay: running, stopped or done
	Held        string // why the last member that looked at it requested nothing of it
	Item        string // waiting, requested or refused
	Acquisition *int64
	Message     string
	At          time.Time // when the replay was asked for
}

// ReplaysOf returns the newest replays that chose a file, the newest first.
func ReplaysOf(ctx context.Context, q pg.Querier, file string) ([]ReplayOf, error) {
	return pg.List(ctx, q, "read which replays chose a file", pgx.RowToStructByName[ReplayOf], `SELECT r.number, r.phase, r.shadow, r.state, r.held, i.state AS item, i.acquisition, i.message, r.requested_at AS at
		FROM control.replay_item i JOIN control.replay r ON r.id = i.run WHERE i.file = $1 ORDER BY r.number DESC, i.ordinal DESC LIMIT 5`, file)
}

// UnloadOf returns who asked for the unloading of a version of a file, among the
// newest operations; nil if nobody did.
func UnloadOf(ctx context.Context, q pg.Querier, action, name, archive string) (*Operation, error) {
	return pg.Maybe(ctx, q, "look for an unload", pgx.RowToStructByName[Operation], "SELECT "+operationColumns+` FROM (SELECT * FROM control.operation ORDER BY number DESC LIMIT $4) o
		WHERE what = 'unload' AND action = $1 AND file = $2 AND archive = $3 ORDER BY number DESC LIMIT 1`, action, name, archive, CountedTo)
}

// DamageOf returns what is known of a blob that was found damaged; nil if it
// never was.
func DamageOf(ctx context.Context, q pg.Querier, sha256 string) (*Damage, error) {
	return pg.Maybe(ctx, q, "look for damage of the blob "+sha256, pgx.RowToStructByName[Damage], "SELECT "+damageColumns+" FROM control.blob_damage WHERE sha256 = $1", sha256)
}
