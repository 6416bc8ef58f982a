package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Credits locks the credit of all servers and returns how many jobs each may
// still be given. A due poll goes before new jobs, so it is counted too.
func Credits(ctx context.Context, tx pgx.Tx, now time.Time) (map[string]int, error) {
	if err := lockCredit(ctx, tx); err != nil {
		return nil, err
	}
	return pg.Map[string, int](ctx, tx, "read credits", fmt.Sprintf(`SELECT d.server, `+creditSQL+`
		- (SELECT count(*) FROM control.poll q JOIN control.source o ON o.id = q.source WHERE o.server = d.server AND q.state = 'due' AND q.not_before <= $1)
		FROM (SELECT DISTINCT server FROM control.source WHERE state <> 'removed') d`, "d.server"), now)
}

// WantedFiles locks and returns the files with an acquisition that may be
// requested now: sources take turns, each with those that come first, by the
// priority of the file, by lane and then by how long they wait, and with some that
// wait longest of all, and at most a quarter of the limit. A source has as many as its server has room for, and
// some at least, since another source may show them too; a removed one's need no
// room to end. So what waits for one server, however much it is, keeps no other
// source's files from being looked at, and costs nothing while it waits. Files that
// somebody is deciding about are left for the next time.
func WantedFiles(ctx context.Context, tx pgx.Tx, now time.Time, limit, some int, room map[string]int) ([]string, error) {
	servers := slices.Sorted(maps.Keys(room))
	files := make([]int, len(servers))
	for i, server := range servers {
		files[i] = room[server]
	}
	return pg.List(ctx, tx, "read wanted files", pgx.RowTo[string], `SELECT f.id::text FROM control.source s LEFT JOIN unnest($4::text[], $5::int[]) r(server, files) ON r.server = s.server
		CROSS JOIN LATERAL (SELECT least($2 / 4, CASE s.state WHEN 'removed' THEN $2 ELSE greatest($3::int, r.files) END) AS most, `+priorityOf+` AS priority) m
		CROSS JOIN LATERAL (SELECT c.file, min(c.turn) AS turn FROM (
			(SELECT w.file, row_number() OVER (ORDER BY w.priority DESC, w.lane, w.not_before, w.id) AS turn FROM (
				SELECT a.file, m.priority, l.lane, a.not_before, a.id FROM generate_series(0, 2) l(lane)
					CROSS JOIN LATERAL (SELECT a.file, a.not_before, a.id FROM control.acquisition a
						WHERE a.state = 'wanted' AND a.source = s.id AND `+laneOf+` = l.lane AND a.priority IS NULL AND a.not_before <= $1 ORDER BY a.not_before, a.id LIMIT m.most) a
				UNION ALL (SELECT a.file, a.priority, `+laneOf+`, a.not_before, a.id FROM control.acquisition a
					WHERE a.state = 'wanted' AND a.source = s.id AND a.priority IS NOT NULL AND a.not_before <= $1 ORDER BY a.priority DESC, a.not_before, a.id LIMIT m.most)) w
				ORDER BY w.priority DESC, w.lane, w.not_before, w.id LIMIT m.most)
			UNION ALL (SELECT a.file, row_number() OVER (ORDER BY a.not_before, a.id) FROM control.acquisition a
				WHERE a.state = 'wanted' AND a.source = s.id AND a.not_before <= $1 ORDER BY a.not_before, a.id LIMIT least($3, m.most))) c GROUP BY c.file) w
		JOIN control.file f ON f.id = w.file ORDER BY w.turn, s.id LIMIT $2 FOR UPDATE OF f SKIP LOCKED`, now, limit, some, servers, files)
}

// AddJob stores an outstanding job with its event, which is repeated if the
// job goes silent.
func AddJob(ctx context.Context, tx pgx.Tx, id, server, source string, files int, now time.Time, r schemas.Record) error {
	headers, err := headersJSON(r.Headers)
	if err != nil {
		return err
	}
	return pg.Exec(ctx, tx, "store job", `INSERT INTO control.job (id, server, source, address, remaining, requested_at, news_at, event, headers)
		VALUES ($1,$2,$3,coalesce((SELECT address FROM control.source WHERE id = $3),''),$4,$5,clock_timestamp(),$6,$7)`, id, server, source, files, now, r.Value, headers)
}

// JobNews counts outcomes of jobs; a job whose last outcome came gives its
// credit back.
func JobNews(ctx context.Context, tx pgx.Tx, outcomes map[string]int) error {
	type row struct {
		ID string `json:"id"`
		N  int    `json:"n"`
	}
	var rows []row
	for id, n := range outcomes {
		rows = append(rows, row{id, n})
	}
	if len(rows) == 0 {
		return nil
	}
	text := pg.JSON(rows)
	// Locked in one order by all, since a job's outcomes are read by several.
	if err := pg.Exec(ctx, tx, "lock jobs", `SELECT 1 FROM control.job WHERE id IN (SELECT id FROM jsonb_to_recordset($1) AS r(id uuid)) ORDER BY id FOR UPDATE`, text); err != nil {
		return err
	}
	if err := pg.Exec(ctx, tx, "count outcomes of jobs", `UPDATE control.job j SET remaining = j.remaining - r.n, news_at = clock_timestamp()
		FROM jsonb_to_recordset($1) AS r(id uuid, n int) WHERE j.id = r.id`, text); err != nil {
		return err
	}
	return pg.Exec(ctx, tx, "return credit", `DELETE FROM control.job j USING jsonb_to_recordset($1) AS r(id uuid, n int) WHERE j.id = r.id AND j.remaining <= 0`, text)
}

// JobOutstanding tells whether a job still holds its credit; a job that does
// not has had all its outcomes and must not be worked on again.
func JobOutstanding(ctx context.Context, q pg.Querier, id string) (bool, error) {
	return pg.One(ctx, q, "ask for job "+id, pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM control.job WHERE id = $1)", id)
}

// SourceRests tells why nothing is fetched from a source now: it is in maintenance,
// suspended or removed. Empty: it may be.
func SourceRests(ctx context.Context, q pg.Querier, source string) (why string, err error) {
	return pg.One(ctx, q, "ask how the source "+source+" stands", pgx.RowTo[string], "SELECT coalesce((SELECT state FROM control.source WHERE id = $1 AND state IN ('maintenance','suspended','removed')), '')", source)
}

// One state at a time and in the index's order: so Postgres reads the index
// itself, and remembers there which entries are dead. A bitmap of it would look
// at all those that files have left behind since the last vacuum, each time.
const silentFileSQL = `UPDATE control.acquisition a SET news_at = clock_timestamp(), repeats = repeats + 1 FROM (SELECT id FROM control.acquisition
	WHERE state = '%s' AND news_at < $1 AND last_event IS NOT NULL ORDER BY news_at LIMIT $2 FOR UPDATE SKIP LOCKED) s
	WHERE a.id = s.id RETURNING a.file::text, a.last_event, a.last_headers`

// Silent returns the events of what has had no news since the given moment,
// so that they are published again with the same ids: announced looks, jobs that
// no member has a session for, and downloads whose documents have not all come. Each is then given the
// same time again.
func Silent(ctx context.Context, tx pgx.Tx, since time.Time, limit int) ([]schemas.Record, error) {
	var out []schemas.Record
	for _, q := range []struct{ topic, sql string }{
		{schemas.FileDiscoveredTopic, `UPDATE control.look k SET announced_at = clock_timestamp() FROM (SELECT source, file, look FROM control.look
			WHERE class = 'announced' AND announced_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) s
			WHERE k.source = s.source AND k.file = s.file AND k.look = s.look RETURNING k.file::text, k.event, k.headers`},
		{schemas.DownloadRequestedTopic, `UPDATE control.job j SET news_at = clock_timestamp(), repeats = repeats + 1 FROM (SELECT id FROM control.job w
			WHERE news_at < $1 AND NOT EXISTS (SELECT FROM control.job_session x WHERE x.job = w.id AND x.lease_until >= clock_timestamp())
			LIMIT $2 FOR UPDATE SKIP LOCKED) s WHERE j.id = s.id RETURNING j.id::text, j.event, j.headers`},
		{schemas.DownloadFinishedTopic, fmt.Sprintf(silentFileSQL, Received)},
		{schemas.DownloadFinishedTopic, fmt.Sprintf(silentFileSQL, Extracted)},
	} {
		found, err := pg.List(ctx, tx, "find what has gone silent", func(row pgx.CollectableRow) (schemas.Record, error) {
			r := schemas.Record{Topic: q.topic}
			var headers []byte
			if err := row.Scan(&r.Key, &r.Value, &headers); err != nil {
				return r, err
			}
			return r, json.Unmarshal(headers, &r.Headers)
		}, q.sql, since, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Abandoned returns files with a request that nobody answers any more, among
// those without news since the given moment: no job holds it, so nothing repeats
// it. Restored requests are such, where download.finished has lost their outcome.
func Abandoned(ctx context.Context, q pg.Querier, since time.Time, limit int) ([]string, error) {
	return pg.List(ctx, q, "find requests that nobody answers", pgx.RowTo[string], `SELECT DISTINCT file::text FROM (SELECT a.file FROM control.acquisition a WHERE a.state = 'requested' AND a.news_at < $1 AND NOT `+held+`
		ORDER BY a.news_at LIMIT $2) s`, since, limit)
}

// held tells whether a job has acquisition a's attempt.
const held = `EXISTS (SELECT FROM control.attempt t JOIN control.job j ON j.id = t.job WHERE t.run = a.run AND t.file = a.file AND t.attempt = a.attempt)`

// WantAgain lets such requests of files, which the caller has locked, be wanted
// again, and returns how many there were.
func WantAgain(ctx context.Context, tx pgx.Tx, files []string, since, now time.Time) (int64, error) {
	return pg.Changed(ctx, tx, "want again what nobody answers", `UPDATE control.acquisition a SET state = 'wanted', not_before = $3, news_at = clock_timestamp()
		WHERE a.file = ANY($1::uuid[]) AND a.state = 'requested' AND a.news_at < $2 AND NOT `+held, files, since, now)
}

// RetryUnavailable lets files be tried again at once that failed since no source of
// them was available, and that the given source shows. What somebody is deciding
// about is left to its own time.
func RetryUnavailable(ctx context.Context, tx pgx.Tx, source string, now time.Time) error {
	return pg.Exec(ctx, tx, "source "+source+": try its files again", `UPDATE control.acquisition a SET retry_at = $2 FROM (SELECT w.id FROM control.acquisition w
		WHERE w.retry_at > $2 AND w.exception = 'source_unavailable'
			AND EXISTS (SELECT FROM control.hosting h WHERE h.source = $1 AND h.file = w.file AND h.state = 'present' OFFSET 0)
		FOR UPDATE OF w SKIP LOCKED) s WHERE a.id = s.id`, source, now)
}

// RetryMissed lets files be tried again at once that failed since no source of them was
// available, though one that shows them is: it became so while that was decided, so that
// RetryUnavailable came too early. At most limit files.
func RetryMissed(ctx context.Context, q pg.Querier, now time.Time, limit int) error {
	return pg.Exec(ctx, q, "look for files whose source is available again", `UPDATE control.acquisition a SET retry_at = $1 FROM (SELECT w.id FROM control.acquisition w
		WHERE w.retry_at > $1 AND w.exception = 'source_unavailable'
			AND EXISTS (SELECT FROM control.hosting h JOIN control.source s ON s.id = h.source
				WHERE h.file = w.file AND h.state = 'present' AND h.settled AND s.state = 'available' AND `+open("s", "$1")+` OFFSET 0)
		ORDER BY w.retry_at LIMIT $2 FOR UPDATE OF w SKIP LOCKED) s WHERE a.id = s.id`, now, limit)
}

// RetryFiles returns files whose last acquisition failed and is due to be
// tried again.
func RetryFiles(ctx context.Context, q pg.Querier, now time.Time, limit int) ([]string, error) {
	return pg.List(ctx, q, "read files to retry", pgx.RowTo[string], "SELECT DISTINCT file::text FROM (SELECT file FROM control.acquisition WHERE retry_at <= $1 ORDER BY retry_at LIMIT $2) due", now, limit)
}
