package expect

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
)

// Stand is report.Stand with the sources that are late, by name.
func Stand(ctx context.Context, q pg.Querier, now time.Time, oldest int) (report.Status, error) {
	s, err := report.Stand(ctx, q, now, oldest)
	if err != nil {
		return s, err
	}
	s.Late, err = LateSources(ctx, q)
	return s, err
}

// LateSources are the sources that are late, by name, as Sources finds it. One whose last
// poll failed is not among them: that says more than that nothing has come. When something
// was found is all that is read of polls, from indexes: pages that many keep open ask this
// of every source.
func LateSources(ctx context.Context, q pg.Querier) ([]report.Late, error) {
	var late []report.Late
	return late, rows(ctx, q, lateSQL, func(row pgx.CollectableRow) error {
		h := History{State: available}
		var seen *time.Time
		var found, left []time.Time
		if err := row.Scan(&h.Source, &seen, &h.Resumed, &found, &left); err != nil {
			return err
		}
		if seen == nil {
			return nil
		}
		h.Seen = *seen
		more := map[int64]bool{}
		for _, at := range left {
			more[at.UnixMicro()] = true
		}
		for _, at := range found {
			h.Finds = append(h.Finds, Find{At: at, Bytes: -1, Largest: -1, More: more[at.UnixMicro()]})
		}
		if f, is := Expect(h).late(); is {
			late = append(late, report.Late{Source: h.Source, Said: f.Message})
		}
		return nil
	}, maxFinds)
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

// A source whose last poll failed, or that is not available, is left out before its polls
// are read.
const lateSQL = `SELECT s.short_name, ` + seenSQL + `, ` + resumedSQL + `,
		ARRAY(SELECT k.finish_time FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL AND ` + foundSQL + ` ORDER BY k.finish_time DESC LIMIT $1),
		ARRAY(SELECT k.finish_time FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL AND ` + foundSQL + ` AND ` + leftSQL + ` ORDER BY k.finish_time DESC LIMIT $1)
	FROM tracker.file_source s JOIN tracker.resource_state t ON t.id = s.state_id
	WHERE t.short_name = 'available' AND NOT coalesce((
			SELECT k.status_id = {status failed} FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL ORDER BY k.finish_time DESC LIMIT 1), false)
	ORDER BY s.short_name COLLATE "C"`
