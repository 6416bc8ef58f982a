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
)

// Sources calls each with what is to be expected of every source, or of the one that
// is named, by name. A named one that the tracker doesn't know is a
// report.UnknownError.
func Sources(ctx context.Context, q pg.Querier, source string, each func(Expectation) error) error {
	if err := report.Known(ctx, q, "", source); err != nil {
		return err
	}
	all, err := histories(ctx, q, source)
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := each(Expect(h)); err != nil {
			return err
		}
	}
	return nil
}

// Stand is report.Stand with the sources that are late. One whose last poll failed is not
// among them: that says more than that nothing has come.
func Stand(ctx context.Context, q pg.Querier, now time.Time, oldest int) (report.Status, error) {
	s, err := report.Stand(ctx, q, now, oldest)
	if err != nil {
		return s, err
	}
	err = lateSources(ctx, q, func(h History, said string) {
		if !h.Failing {
			s.Late = append(s.Late, report.Late{Source: h.Source, Said: said})
		}
	})
	return s, err
}

// LateSources are the sources that are late, by name, and what is said of each: as
// Sources finds it, but without reading how fast anything was fetched.
func LateSources(ctx context.Context, q pg.Querier) (map[string]string, error) {
	late := map[string]string{}
	return late, lateSources(ctx, q, func(h History, said string) { late[h.Source] = said })
}

func lateSources(ctx context.Context, q pg.Querier, each func(h History, said string)) error {
	all, err := shows(ctx, q, "")
	for _, h := range all {
		if f, is := Expect(h).late(); is {
			each(h, f.Message)
		}
	}
	return err
}

// Late tells whether nothing new has come for longer than usual.
func (e Expectation) Late() bool {
	_, is := e.late()
	return is
}

func (e Expectation) late() (Finding, bool) {
	if i := slices.IndexFunc(e.Findings, func(f Finding) bool { return f.Finding == Late }); i >= 0 {
		return e.Findings[i], true
	}
	return Finding{}, false
}

// shows reads the sources that are there, or one that is named, whatever it is, and
// what their polls found.
func shows(ctx context.Context, q pg.Querier, source string) ([]History, error) {
	all := []History{}
	if err := rows(ctx, q, sourcesSQL, func(row pgx.CollectableRow) error {
		var h History
		var seen *time.Time
		err := row.Scan(&h.Source, &h.State, &seen, &h.Failing, &h.Resumed)
		if seen != nil {
			h.Seen = *seen
		}
		all = append(all, h)
		return err
	}, source); err != nil {
		return nil, err
	}
	return all, rows(ctx, q, findsSQL, func(row pgx.CollectableRow) error {
		var name string
		var f Find
		var fresh, changed, taken, largest, postponed, end *string
		err := row.Scan(&name, &f.At, &fresh, &changed, &taken, &largest, &postponed, &end)
		if f.Files = max(counted(fresh), 0) + max(counted(changed), 0); f.Files > 0 {
			f.Bytes, f.Largest = counted(taken), counted(largest)
			f.More = counted(postponed) > 0 || end != nil && *end == "broken_off"
			h := of(all, name)
			h.Finds = append(h.Finds, f)
		}
		return err
	}, source, maxFinds)
}

// of is the history of a source; an empty one if it has come since they were read.
func of(all []History, name string) *History {
	if i := slices.IndexFunc(all, func(h History) bool { return h.Source == name }); i >= 0 {
		return &all[i]
	}
	return &History{}
}

// histories reads all that is known of the sources that are there, or of one that is
// named, whatever it is.
func histories(ctx context.Context, q pg.Querier, source string) ([]History, error) {
	all, err := shows(ctx, q, source)
	if err != nil {
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
	}, source, maxFetches, schemas.LiveRun); err != nil {
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

// finds is a source's polls that found something, the newest first. An index of
// tracker.poll_task has only these, in order.
const finds = `(SELECT finish_time, session_id, counts FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL
		AND (coalesce(k.counts->>'new', '0') <> '0' OR coalesce(k.counts->>'changed', '0') <> '0') ORDER BY k.finish_time DESC LIMIT $2)`

// shown are the sources that are asked about.
const shown = `($1 = '' AND s.state_id IS DISTINCT FROM (SELECT id FROM tracker.resource_state WHERE short_name = 'removed') OR s.short_name = $1)`

const sourcesSQL = `SELECT s.short_name, coalesce(t.short_name, ''),
		(SELECT k.finish_time FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL AND k.status_id = {status done} AND k.counts->>'end' IS DISTINCT FROM 'minimal' ORDER BY k.finish_time DESC LIMIT 1),
		coalesce((SELECT k.status_id = {status failed} FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL ORDER BY k.finish_time DESC LIMIT 1), false),
		ARRAY(SELECT r.created FROM (SELECT r.created, t.short_name AS state, lag(t.short_name) OVER (ORDER BY r.revision, r.created) AS before
			FROM tracker.source_revision r JOIN tracker.resource_state t ON t.id = r.state_id WHERE r.file_source_id = s.id) r
			WHERE r.state = 'available' AND r.before IS DISTINCT FROM 'available')
	FROM tracker.file_source s LEFT JOIN tracker.resource_state t ON t.id = s.state_id
	WHERE ` + shown + ` ORDER BY s.short_name COLLATE "C"`

const findsSQL = `SELECT s.short_name, k.finish_time, k.counts->>'new', k.counts->>'changed', k.counts->>'taken_bytes', k.counts->>'largest', k.counts->>'postponed', k.counts->>'end'
	FROM tracker.file_source s CROSS JOIN LATERAL ` + finds + ` k WHERE ` + shown

// A poll's files are those that were fetched in its session from its source. What is
// loaded of them is the batch of the source's own centre.
const fetchesSQL = `SELECT s.short_name, k.finish_time, d.bytes, d.took, coalesce(extract(epoch FROM b.finish_time - k.finish_time), 0)::float8
	FROM tracker.file_source s CROSS JOIN LATERAL ` + finds + ` k
	CROSS JOIN LATERAL (SELECT least(coalesce(sum(d.downloaded_size_bytes), 0), 1e18)::bigint AS bytes, coalesce(extract(epoch FROM max(d.received) - min(d.started)), 0)::float8 AS took
		FROM tracker.zip_download d JOIN tracker.file_source_has_zip h ON h.id = d.zf_id AND h.file_source_id = s.id
		WHERE d.session_id = k.session_id AND d.run = $3::uuid AND d.received IS NOT NULL AND d.started IS NOT NULL) d
	LEFT JOIN LATERAL (SELECT max(b.finish_time) AS finish_time FROM tracker.batch b WHERE b.session_id = k.session_id AND b.centre_id = s.centre_id) b ON true
	WHERE ` + shown

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
