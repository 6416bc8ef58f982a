package report

import (
	"context"
	"time"

	"tributary/internal/pg"
)

// Poll is one poll of a source that has ended.
type Poll struct {
	Source    string            `json:"source"`
	Session   int64             `json:"session"` // its number; 0: not known yet
	Started   *time.Time        `json:"started"`
	Ended     *time.Time        `json:"ended"`
	Status    string            `json:"status"` // done or failed
	Exception *string           `json:"exception"`
	Message   *string           `json:"message"`
	Counts    map[string]string `json:"counts"` // listed, new, changed, gone, ignored and others
}

// News tells whether the poll showed anything new or changed.
func (p Poll) News() bool {
	some := func(count string) bool { return p.Counts[count] != "" && p.Counts[count] != "0" }
	return some("new") || some("changed")
}

// LastPolls calls each with the last polls of every source that is not removed, at most
// limit of each, by source, the newest first.
func LastPolls(ctx context.Context, q pg.Querier, limit int, each func(Poll) error) error {
	return stream(ctx, q, "last polls", `SELECT s.short_name, coalesce(n.number, 0), k.start_time, k.finish_time, st.short_name, x.short_name, k.message, k.counts
		FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id AND r.short_name <> 'removed'
		CROSS JOIN LATERAL (SELECT * FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL ORDER BY k.finish_time DESC LIMIT $1) k`+pollNames+`
		ORDER BY s.short_name COLLATE "C", k.finish_time DESC, k.id`, []any{limit}, each)
}

// Polls lists the polls of a source that ended before a moment, or all for the zero
// time, at most limit of them, the newest first. A source that the tracker doesn't know
// is an UnknownError.
func Polls(ctx context.Context, q pg.Querier, source string, before time.Time, limit int) ([]Poll, error) {
	if err := Known(ctx, q, "", source); err != nil {
		return nil, err
	}
	var until *time.Time
	if !before.IsZero() {
		until = &before
	}
	return list[Poll](ctx, q, "polls of a source", `SELECT s.short_name, coalesce(n.number, 0), k.start_time, k.finish_time, st.short_name, x.short_name, k.message, k.counts
		FROM tracker.file_source s CROSS JOIN LATERAL (SELECT * FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time < coalesce($2::timestamptz, 'infinity')
			ORDER BY k.finish_time DESC LIMIT $3) k`+pollNames+`
		WHERE s.short_name = $1 ORDER BY k.finish_time DESC`, source, until, limit)
}

// pollNames joins what polls are told with.
const pollNames = `
		JOIN tracker.a_status st ON st.id = k.status_id
		LEFT JOIN tracker.crawling_session n ON n.id = k.session_id
		LEFT JOIN tracker.an_exception x ON x.id = k.exception_id`
