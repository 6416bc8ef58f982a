package expect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
)

const (
	// maxFinds is how many polls of a source are learned from that found something.
	maxFinds = 500
	// maxFetches is from how many of these is learned how long fetching takes.
	maxFetches = 40
	// MaxPage is of how many sources all is read at a time.
	MaxPage = 100
)

// Sources calls each with what is to be expected of every source, or of the one that
// is named, by name. A named one that the tracker doesn't know is a
// report.UnknownError.
func Sources(ctx context.Context, q pg.Querier, source string, each func(Expectation) error) error {
	for after := ""; ; {
		page, err := Page(ctx, q, source, after, MaxPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
		}
		if len(page) < MaxPage || source != "" {
			return nil
		}
		after = page[len(page)-1].Source
	}
}

// Page is Sources of at most limit sources, and MaxPage, whose names come after one.
func Page(ctx context.Context, q pg.Querier, source, after string, limit int) ([]Expectation, error) {
	if err := report.Known(ctx, q, "", source); err != nil {
		return nil, err
	}
	all, err := histories(ctx, q, source, after, min(limit, MaxPage))
	out := make([]Expectation, len(all))
	for i, h := range all {
		out[i] = Expect(h)
	}
	return out, err
}

// shows reads at most limit sources that are there, whose names come after one, or one that
// is named, whatever it is, and what their polls found. It returns their ids too.
func shows(ctx context.Context, q pg.Querier, source, after string, limit int) (all []History, ids []string, err error) {
	if err := rows(ctx, q, sourcesSQL, func(row pgx.CollectableRow) error {
		var h History
		var id string
		var seen *time.Time
		err := row.Scan(&id, &h.Source, &h.State, &seen, &h.Resumed)
		if seen != nil {
			h.Seen = *seen
		}
		all, ids = append(all, h), append(ids, id)
		return err
	}, source, after, limit); err != nil {
		return nil, nil, err
	}
	return all, ids, rows(ctx, q, findsSQL, func(row pgx.CollectableRow) error {
		var name string
		var f Find
		var fresh, changed, taken, largest *string
		err := row.Scan(&name, &f.At, &fresh, &changed, &taken, &largest, &f.More)
		f.Files = max(counted(fresh), 0) + max(counted(changed), 0)
		f.Bytes, f.Largest = counted(taken), counted(largest)
		h := of(all, name)
		h.Finds = append(h.Finds, f)
		return err
	}, ids, maxFinds)
}

// of is the history of a source; an empty one if it has come since they were read.
func of(all []History, name string) *History {
	if i := slices.IndexFunc(all, func(h History) bool { return h.Source == name }); i >= 0 {
		return &all[i]
	}
	return &History{}
}

// histories reads all that is known of at most limit sources that are there, whose names
// come after one, or of one that is named, whatever it is.
func histories(ctx context.Context, q pg.Querier, source, after string, limit int) ([]History, error) {
	all, ids, err := shows(ctx, q, source, after, limit)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if err := rows(ctx, q, fetchesSQL, func(row pgx.CollectableRow) error {
		var name string
		var f Fetch
		var took, until float64
		err := row.Scan(&name, &f.At, &f.Bytes, &took, &until)
		f.Took, f.Until = seconds(max(took, 0)), seconds(max(until, 0))
		h := of(all, name)
		h.Fetches = append(h.Fetches, f)
		return err
	}, ids, maxFetches, schemas.LiveRun); err != nil {
		return nil, err
	}
	waiting, err := Waiting(ctx, q, source)
	for name, w := range waiting {
		of(all, name).Waiting = w
	}
	return all, err
}

// Waiting is what is still to be fetched, by source; sources of which that is nothing
// are not in it. With a source's name it is that one's alone.
func Waiting(ctx context.Context, q pg.Querier, source string) (map[string]Outstanding, error) {
	all := map[string]Outstanding{}
	return all, rows(ctx, q, waitingSQL, func(row pgx.CollectableRow) error {
		var name string
		var w Outstanding
		err := row.Scan(&name, &w.Files, &w.Bytes)
		all[name] = w
		return err
	}, source)
}

// number is a count as events write it in their attributes, as far as sums of it are
// exact; -1 where it is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return min(n, 1<<53)
}

// counted is the number of what may not be told.
func counted(text *string) int64 {
	if text == nil {
		return -1
	}
	return number(*text)
}

// rows calls each with every row of a query.
func rows(ctx context.Context, q pg.Querier, sql string, each func(pgx.CollectableRow) error, args ...any) error {
	r, err := q.Query(ctx, schemas.Numbered(sql), args...)
	if err == nil {
		defer r.Close()
		for err == nil && r.Next() {
			err = each(r)
		}
		if err == nil {
			err = r.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("read what came from sources before from the tracker: %w", err)
	}
	return nil
}

// foundSQL tells of a poll whether it found something, and leftSQL whether it did not see, or not
// take up, all that there was. The indexes of tracker.poll_task say the same words: one of
// each kind has just these polls, in order.
const (
	foundSQL = `(k.counts->>'new' ~ '^[1-9][0-9]{0,17}$' OR k.counts->>'changed' ~ '^[1-9][0-9]{0,17}$')`
	leftSQL  = `(k.counts->>'postponed' ~ '^[1-9][0-9]{0,17}$' OR k.counts->>'end' = 'broken_off')`
)

// finds is a source's polls that found something, the newest first.
const finds = `(SELECT finish_time, session_id, counts FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL AND ` + foundSQL + `
		ORDER BY k.finish_time DESC LIMIT $2)`

// shown are the sources that are asked about.
const shown = `($1 = '' AND s.state_id IS DISTINCT FROM (SELECT id FROM tracker.resource_state WHERE short_name = 'removed') OR s.short_name = $1)`

// What is read of each source: when its last complete poll ended, and when it became
// available.
const (
	seenSQL    = `(SELECT k.finish_time FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL AND k.status_id = {status done} AND k.counts->>'end' IS DISTINCT FROM 'minimal' ORDER BY k.finish_time DESC LIMIT 1)`
	resumedSQL = `ARRAY(SELECT r.created FROM (SELECT r.created, t.short_name AS state, lag(t.short_name) OVER (ORDER BY r.revision, r.created) AS before
			FROM tracker.source_revision r JOIN tracker.resource_state t ON t.id = r.state_id WHERE r.file_source_id = s.id) r
			WHERE r.state = 'available' AND r.before IS DISTINCT FROM 'available')`
)

const sourcesSQL = `SELECT s.id::text, s.short_name, coalesce(t.short_name, ''), ` + seenSQL + `, ` + resumedSQL + `
	FROM tracker.file_source s LEFT JOIN tracker.resource_state t ON t.id = s.state_id
	WHERE ` + shown + ` AND s.short_name COLLATE "C" > $2::text ORDER BY s.short_name COLLATE "C" LIMIT $3`

const findsSQL = `SELECT s.short_name, k.finish_time, k.counts->>'new', k.counts->>'changed', k.counts->>'taken_bytes', k.counts->>'largest', ` + leftSQL + ` IS TRUE
	FROM tracker.file_source s CROSS JOIN LATERAL ` + finds + ` k WHERE s.id = ANY($1::uuid[])`

// A poll's files are those that were fetched in its session from its source. What is
// loaded of them is the batch of the source's own centre. Sources share sessions: each
// session is read once, whatever the number of its sources, by indexes (OFFSET 0 keeps
// Postgres from reading all instead).
const fetchesSQL = `WITH k AS MATERIALIZED (
		SELECT s.id, s.short_name, s.centre_id, k.finish_time, k.session_id FROM tracker.file_source s CROSS JOIN LATERAL ` + finds + ` k WHERE s.id = ANY($1::uuid[])
	), n AS MATERIALIZED (SELECT DISTINCT session_id FROM k WHERE session_id IS NOT NULL
	), d AS MATERIALIZED (SELECT n.session_id, h.file_source_id, sum(d.downloaded_size_bytes) AS bytes, extract(epoch FROM max(d.received) - min(d.started)) AS took
		FROM n CROSS JOIN LATERAL (SELECT d.zf_id, d.downloaded_size_bytes, d.received, d.started
			FROM tracker.zip_download d WHERE d.session_id = n.session_id AND d.run = $3::uuid AND d.received IS NOT NULL AND d.started IS NOT NULL OFFSET 0) d
		CROSS JOIN LATERAL (SELECT h.file_source_id FROM tracker.file_source_has_zip h WHERE h.id = d.zf_id OFFSET 0) h
		WHERE h.file_source_id = ANY($1::uuid[]) GROUP BY 1, 2
	), b AS MATERIALIZED (SELECT n.session_id, b.centre_id, max(b.finish_time) AS finish_time
		FROM n CROSS JOIN LATERAL (SELECT b.centre_id, b.finish_time FROM tracker.batch b WHERE b.session_id = n.session_id OFFSET 0) b GROUP BY 1, 2)
	SELECT k.short_name, k.finish_time, least(coalesce(d.bytes, 0), 1e18)::bigint, coalesce(d.took, 0)::float8, coalesce(extract(epoch FROM b.finish_time - k.finish_time), 0)::float8
	FROM k LEFT JOIN d ON d.session_id = k.session_id AND d.file_source_id = k.id LEFT JOIN b ON b.session_id = k.session_id AND b.centre_id = k.centre_id`

// What is still to be fetched is few of all files: those that no attempt has brought. It
// is counted before the sources are looked at, and so looked for once, not for each.
const waitingSQL = `SELECT s.short_name, w.files, least(w.bytes, 1e18)::bigint
	FROM (SELECT h.file_source_id, count(*) AS files, coalesce(sum(h.size_bytes), 0) AS bytes
		FROM tracker.zip_action a JOIN tracker.file_source_has_zip h ON h.za_id = a.id AND h.state = 'present'
		WHERE a.phase_id = {phase zip_name} AND a.status_id IN ({status pending}, {status running}, {status done})
			OR a.phase_id = {phase download} AND a.status_id IN ({status pending}, {status running})
		GROUP BY h.file_source_id) w
	JOIN tracker.file_source s ON s.id = w.file_source_id
	WHERE ` + shown
