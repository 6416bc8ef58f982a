package replay

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Then is a replay as events tell of it: how it stands, and what was told of its attempts.
// Which of its files wait or are refused only control knows, and only as it is now. A
// replay of centres has no attempts, nor has a shadow from upload.
type Then struct {
	Replay      int64
	Run         string
	From        string // empty: how it was asked for is not told
	State       string // running, stopped or done
	Shadow      string // the name of the shadow that its results went to
	Promotes    string // the name of the shadow that it makes live
	Where       string
	Offsets     string
	By, Reason  string
	RequestedAt *time.Time
	ChangedBy   string
	ChangedAt   time.Time
	Items       int64 // that were chosen
	Requested   int64 // attempts
	Ended       int64 // of these, those that have come to an end
	Failed      int64 // of these, those that failed or were cancelled
}

// Counts tells whether it has attempts.
func (t Then) Counts() bool {
	return t.From != schemas.FromData && (t.Shadow == "" || t.From != schemas.FromUpload)
}

// Status is the replay as of a moment, for programs: what events don't tell counts as
// untold.
func (t Then) Status(at time.Time) *Status {
	s := &Status{Replay: t.Replay, Run: t.Run, Shadow: t.Shadow, Promotes: t.Promotes, From: t.From, State: t.State, Where: t.Where, Offsets: t.Offsets,
		By: t.By, Reason: t.Reason, ChangedAt: t.ChangedAt.UTC(), ChangedBy: t.ChangedBy, Items: t.Items, Untold: t.Items, AsOf: &at}
	if t.RequestedAt != nil {
		s.RequestedAt = t.RequestedAt.UTC()
	}
	if t.Counts() {
		s.UnderWay, s.Complete, s.Failed = t.Requested-t.Ended, t.Ended-t.Failed, t.Failed
		s.Untold = max(0, t.Items-t.Requested)
	}
	return s
}

// ReadThen reads replays from the tracker of a moment that was made with
// asof.Scope.Replays, the newest first, at most limit; with a name only that one, by its
// number, its run or its shadow's name.
func ReadThen(ctx context.Context, tracker pg.Querier, name string, limit int) ([]Then, error) {
	return pg.List(ctx, tracker, "read replays from the tracker", pgx.RowToStructByName[Then], schemas.Numbered(thenSQL), pg.Text(name), limit)
}

const thenSQL = `SELECT r.number AS replay, r.id::text AS run, coalesce(p.short_name, '') AS "from",
		CASE r.status_id WHEN {status pending} THEN 'stopped' WHEN {status done} THEN 'done' ELSE 'running' END AS state,
		coalesce(r.shadow, '') AS shadow, coalesce(s.shadow, r.promotes::text, '') AS promotes, coalesce(r.predicate, '') AS "where", coalesce(r.offsets, '') AS offsets,
		coalesce(r.requested_by, '') AS by, coalesce(r.reason, '') AS reason, r.requested AS requested_at, coalesce(r.changed_by, '') AS changed_by, r.changed AS changed_at,
		r.items, coalesce(n.requested, 0) AS requested, coalesce(n.ended, 0) AS ended, coalesce(n.failed, 0) AS failed
	FROM tracker.replay r
	LEFT JOIN tracker.phase p ON p.id = r.phase_id
	LEFT JOIN tracker.replay s ON s.id = r.promotes
	LEFT JOIN (SELECT d.run, count(*) AS requested, count(*) FILTER (WHERE d.status_id IN ({status cancelled}, {status failed})) AS failed,
			count(*) FILTER (WHERE coalesce(d.documents_open, 0) <= v.valid AND (d.status_id IN ({status cancelled}, {status failed}) OR d.status_id = {status done} AND d.phase_id >= v.last)) AS ended
		FROM tracker.zip_download d JOIN tracker.replay q ON q.id = d.run
		CROSS JOIN LATERAL (SELECT {phase overview} AS last, 0 AS valid WHERE q.shadow IS NULL
			UNION ALL SELECT {phase xsd}, count(*) FROM tracker.xml_file x -- nothing follows on this for a shadow
				WHERE x.zip_id = d.id AND x.outcome = d.accepted AND x.phase_id = {phase xsd} AND x.status_id = {status done} HAVING q.shadow IS NOT NULL) v
		GROUP BY d.run) n ON n.run = r.id
	WHERE $1 = '' OR r.number::text = $1 OR r.id::text = lower($1) OR r.shadow = $1
	ORDER BY r.number DESC LIMIT $2`
