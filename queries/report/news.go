package report

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
)

// MostChanged is how many files are counted, those that changed last.
const MostChanged = 10_000

// News counts files that have changed since a moment.
type News struct {
	Since    time.Time     `json:"since"`
	More     bool          `json:"more" doc:"there are more than 10,000: only those that changed last are counted"`
	Files    int64         `json:"files" doc:"all of these"`
	New      int64         `json:"new" doc:"seen for the first time since"`
	Loaded   int64         `json:"loaded" doc:"that have come to their end: in the warehouse"`
	Failed   int64         `json:"failed"`
	Centres  []CentreCount `json:"centres" doc:"of the files that failed, those with the most first"`
	NotKnown []FirstFailed `json:"not_known" doc:"exceptions with which no file has failed before and stands so still"`
}

// FirstFailed is an exception, and with how many files it is new.
type FirstFailed struct {
	Exception string `json:"exception"`
	Files     int64  `json:"files"`
}

// ReadNews counts what has changed since a moment, of the files that changed last, and
// reads no more of them than it counts.
func ReadNews(ctx context.Context, q pg.Querier, since time.Time) (News, error) {
	c := News{Since: since, Centres: []CentreCount{}, NotKnown: []FirstFailed{}}
	failed, known := map[string]int64{}, map[string]int64{}
	if err := stream(ctx, q, "what has changed", changedSQL, []any{since, MostChanged}, func(r struct {
		Counted                    bool
		New, Loaded, Failed, First bool
		Centre, Exception          string
		Count                      int64
	}) error {
		if !r.Counted {
			c.More = true
			return nil
		}
		c.Files += r.Count
		if r.New {
			c.New += r.Count
		}
		if r.Loaded {
			c.Loaded += r.Count
		}
		if r.Failed {
			c.Failed += r.Count
			failed[r.Centre] += r.Count
		}
		if r.First {
			known[r.Exception] += r.Count
		}
		return nil
	}); err != nil {
		return c, err
	}
	for centre, n := range failed {
		c.Centres = append(c.Centres, CentreCount{centre, n})
	}
	for name, n := range known {
		c.NotKnown = append(c.NotKnown, FirstFailed{name, n})
	}
	slices.SortFunc(c.Centres, func(a, b CentreCount) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Centre, b.Centre))
	})
	slices.SortFunc(c.NotKnown, func(a, b FirstFailed) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Exception, b.Exception))
	})
	return c, nil
}

// The files that changed last are found by the index on that, and whether one failed
// with an exception before by the one on both. The names of files are asked for of those
// that failed, one by one: else Postgres reads all files that there are.
const changedSQL = `
	WITH changed AS (
		SELECT a.zip_id, a.phase_id, a.status_id, a.exception_id, a.created, row_number() OVER (ORDER BY a.last_update DESC, a.id DESC) AS n
		FROM tracker.zip_action a WHERE a.last_update >= $1 AND a.last_update < 'infinity' ORDER BY a.last_update DESC, a.id DESC LIMIT $2::int + 1),
	first AS (
		SELECT e.exception_id FROM (SELECT DISTINCT exception_id FROM changed WHERE status_id = {status failed} AND exception_id IS NOT NULL) e
		WHERE NOT EXISTS (SELECT FROM tracker.zip_action b WHERE b.status_id = {status failed} AND b.exception_id = e.exception_id AND b.last_update < $1))
	SELECT k.n <= $2::int, k.created >= $1, k.phase_id >= {phase overview} AND k.status_id = {status done}, k.status_id = {status failed}, k.status_id = {status failed} AND f.exception_id IS NOT NULL,
		CASE WHEN k.status_id = {status failed} THEN coalesce(c.short_name, '') ELSE '' END, CASE WHEN f.exception_id IS NOT NULL THEN coalesce(x.short_name, '') ELSE '' END, count(*)
	FROM changed k LEFT JOIN LATERAL (SELECT z.centre_id FROM tracker.zip_file z WHERE z.id = k.zip_id AND k.status_id = {status failed} OFFSET 0) z ON true LEFT JOIN tracker.centre c ON c.id = z.centre_id
	LEFT JOIN first f ON f.exception_id = k.exception_id LEFT JOIN tracker.an_exception x ON x.id = f.exception_id
	GROUP BY 1, 2, 3, 4, 5, 6, 7`
