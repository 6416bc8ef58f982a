package report

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas/exception"
)

// TrendDays is how many days a Failing's trend has.
const TrendDays = 14

// Failing is one exception and where it stands: files that have failed, files that are
// tried again after it, and sources whose last poll ended with it.
type Failing struct {
	Exception string         `json:"exception"`
	Move      exception.Move `json:"move"`     // whose turn it is
	Happened  string         `json:"happened"` // what it means; empty where nobody knows it any more
	Do        string         `json:"do"`       // the next step; empty for findings
	Failed    int64          `json:"failed"`   // files that have ended with it
	Retried   int64          `json:"retried"`  // files that wait or are fetched again after it
	Sources   []string       `json:"sources"`  // whose last poll failed with it
	Centres   []CentreCount  `json:"centres"`  // of the files, those with the most first
	Last      time.Time      `json:"last"`     // when something last happened to one of them
	Days      []int64        `json:"days"`     // failed files by the day of their last event, 14 periods of 24 h, the oldest first
}

// CentreCount is a number of files of one centre; the centre is empty where no name
// tells it.
type CentreCount struct {
	Centre string `json:"centre"`
	Files  int64  `json:"files"`
}

// Files is how many files stand with it.
func (f Failing) Files() int64 { return f.Failed + f.Retried }

// failingRow is what stands with one exception, of one centre or source and day.
type failingRow struct {
	Exception   string
	Description *string
	What        string // failed, retried or source; lately: of the failed, those of a day
	Finding     bool   // from the phase data on
	Name        string // of the centre or the source
	Day         int32  // whole days before now, of what failed lately
	Count       int64
	Last        *time.Time
}

// Failures returns what has failed by exception, as of now: those first that need
// somebody here, and of these the most frequent. With a producing centre's short name
// only its files, and no polls. There are at most as many as exceptions and findings.
func Failures(ctx context.Context, q pg.Querier, now time.Time, centre string) ([]Failing, error) {
	entries := map[string]exception.Entry{}
	for _, e := range exception.All() {
		entries[e.Name] = e
	}
	by := map[string]*Failing{}
	if err := stream(ctx, q, "failures", failuresSQL, []any{now, centre, TrendDays}, func(r failingRow) error {
		f := by[r.Exception]
		if f == nil {
			f = &Failing{Exception: r.Exception, Move: exception.MoveOf(r.Exception), Happened: text(r.Description), Sources: []string{}, Centres: []CentreCount{}, Days: make([]int64, TrendDays)}
			if e, known := entries[r.Exception]; known {
				f.Happened, f.Do = e.Happened, e.Do
			} else if r.Finding {
				f.Move = exception.Centre
			}
			by[r.Exception] = f
		}
		f.add(r)
		return nil
	}); err != nil {
		return nil, err
	}
	out := make([]Failing, 0, len(by))
	for _, f := range by {
		slices.SortFunc(f.Centres, func(a, b CentreCount) int {
			return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Centre, b.Centre))
		})
		out = append(out, *f)
	}
	order := exception.Moves()
	slices.SortFunc(out, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Move), slices.Index(order, b.Move)), cmp.Compare(b.Files(), a.Files()), strings.Compare(a.Exception, b.Exception))
	})
	return out, nil
}

func (f *Failing) add(r failingRow) {
	if r.Last != nil && r.Last.After(f.Last) {
		f.Last = *r.Last
	}
	switch r.What {
	case "source":
		f.Sources = append(f.Sources, r.Name)
		return
	case "lately":
		if r.Day >= 0 && r.Day < TrendDays {
			f.Days[TrendDays-1-r.Day] += r.Count
		}
		return
	case "retried":
		f.Retried += r.Count
	default:
		f.Failed += r.Count
	}
	i := slices.IndexFunc(f.Centres, func(c CentreCount) bool { return c.Centre == r.Name })
	if i < 0 {
		f.Centres, i = append(f.Centres, CentreCount{Centre: r.Name}), len(f.Centres)
	}
	f.Centres[i].Files += r.Count
}

// How many files have failed is counted as they do. Of each exception the days of the
// trend are read, and the last failure, by the index on these; with a centre, the last
// is looked for among those of others, from the newest back. Files that are still to be
// fetched, of which the last attempt counts, are found by the index on phase and status.
const failuresSQL = `
	WITH failed AS (
		SELECT exception_id, phase_id >= {phase data} AS finding, of_id AS centre_id, sum(n)::bigint AS n
		FROM tracker.standing LEFT JOIN tracker.centre c ON c.id = of_id
		WHERE what = 'file' AND status_id = {status failed} AND ($2 = '' OR c.short_name = $2) GROUP BY 1, 2, 3)
	SELECT coalesce(x.short_name, 'unnamed'), x.description, what, bool_or(finding), coalesce(s.short_name, c.short_name, ''), day, sum(n)::bigint, max(last)
	FROM (
		SELECT exception_id, 'failed' AS what, finding, centre_id, NULL::uuid AS source_id, -1 AS day, n, NULL::timestamptz AS last FROM failed
		UNION ALL
		SELECT e.exception_id, 'lately', false, e.centre_id, NULL, l.day, l.n, l.last
		FROM (SELECT DISTINCT exception_id, CASE WHEN $2 <> '' THEN centre_id END AS centre_id FROM failed WHERE exception_id IS NOT NULL) e
		CROSS JOIN LATERAL (
			SELECT floor(extract(epoch FROM $1 - a.last_update) / 86400)::int AS day, count(*) AS n, NULL::timestamptz AS last
			FROM tracker.zip_action a LEFT JOIN tracker.zip_file z ON z.id = a.zip_id AND $2 <> ''
			WHERE a.status_id = {status failed} AND a.exception_id = e.exception_id AND a.last_update > $1 - $3 * interval '1 day' AND isfinite(a.last_update) AND ($2 = '' OR z.centre_id = e.centre_id) GROUP BY 1
			UNION ALL (
			SELECT -1, 0, a.last_update
			FROM tracker.zip_action a LEFT JOIN tracker.zip_file z ON z.id = a.zip_id AND $2 <> ''
			WHERE a.status_id = {status failed} AND a.exception_id = e.exception_id AND isfinite(a.last_update) AND ($2 = '' OR z.centre_id = e.centre_id) ORDER BY a.last_update DESC LIMIT 1)) l
		UNION ALL
		SELECT d.exception_id, 'retried', false, z.centre_id, NULL, -1, count(*), max(d.last_update)
		FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id
		CROSS JOIN LATERAL (SELECT * FROM tracker.zip_download d WHERE d.za_id = a.id AND d.status_id IN ({status cancelled}, {status failed}) ORDER BY d.attempt DESC LIMIT 1) d
		WHERE a.phase_id IN ({phase zip_name}, {phase download}) AND a.status_id IN ({status pending}, {status running}) AND d.exception_id IS NOT NULL
			AND ($2 = '' OR z.centre_id = (SELECT id FROM tracker.centre WHERE short_name = $2)) GROUP BY 1, 4
		UNION ALL
		SELECT t.exception_id, 'source', false, NULL, s.id, -1, 1, t.finish_time
		FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id AND r.short_name <> 'removed'
		CROSS JOIN LATERAL (SELECT * FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL ORDER BY k.finish_time DESC LIMIT 1) t
		WHERE t.status_id = {status failed} AND $2 = '') f
	LEFT JOIN tracker.an_exception x ON x.id = f.exception_id
	LEFT JOIN tracker.centre c ON c.id = f.centre_id
	LEFT JOIN tracker.file_source s ON s.id = f.source_id
	GROUP BY x.short_name, x.description, what, s.short_name, c.short_name, day ORDER BY s.short_name COLLATE "C", c.short_name COLLATE "C"`
