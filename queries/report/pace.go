package report

import (
	"context"
	"slices"
	"time"

	"tributary/internal/pg"
)

// Span is a time that ends now, over which work is measured.
type Span struct {
	Name   string        // as addresses have it
	Step   time.Duration // between the values of its series
	Steps  int
	Before int           // how many periods before it are looked at for what is usual
	Back   time.Duration // from each of these to the next
}

// Length is how long the span is.
func (s Span) Length() time.Duration { return time.Duration(s.Steps) * s.Step }

// Spans are those over which work is measured, the shortest first. An hour is compared
// with the same hour of the days before.
func Spans() []Span {
	const day = 24 * time.Hour
	return []Span{
		{Name: "1h", Step: time.Minute, Steps: 60, Before: 14, Back: day},
		{Name: "24h", Step: 30 * time.Minute, Steps: 48, Before: 14, Back: day},
		{Name: "7d", Step: 3 * time.Hour, Steps: 56, Before: 4, Back: 7 * day},
	}
}

// FindSpan returns the span with a name; ok is false where there is none.
func FindSpan(name string) (s Span, ok bool) {
	i := slices.IndexFunc(Spans(), func(s Span) bool { return s.Name == name })
	if i < 0 {
		return Span{}, false
	}
	return Spans()[i], true
}

// Pace is how work went over a span.
type Pace struct {
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Step     float64   `json:"step_seconds"`
	Received Series    `json:"received"` // files
	Inserted Series    `json:"inserted"` // documents, by the end of their batch
	Latency  Latency   `json:"latency"`  // of the files first seen in the span
}

// Series is how many there were in each step, the oldest first.
type Series struct {
	Values []float64 `json:"values"`
	Total  float64   `json:"total"`
	Usual  *float64  `json:"usual"` // the median of the totals of the periods before; nil where there was nothing before
}

// Latency is how long files took from being first seen until nothing more happened to
// them than that they were inserted, in seconds.
type Latency struct {
	Half   *float64  `json:"half"`   // nil: none was inserted
	Most   *float64  `json:"most"`   // 95 of 100
	Values []float64 `json:"values"` // 95 of 100 of the files first seen in each step; 0 where none was inserted
}

// ReadPace measures the span that ends at now. It reads what is of the span, and of
// those before it, by index.
func ReadPace(ctx context.Context, q pg.Querier, now time.Time, s Span) (Pace, error) {
	p := Pace{Since: now.Add(-s.Length()), Until: now, Step: s.Step.Seconds()}
	err := pg.Together(ctx, q,
		pg.Into(&p.Received, func(ctx context.Context) (Series, error) {
			return series(ctx, q, "files received", receivedSQL, now, s)
		}),
		pg.Into(&p.Inserted, func(ctx context.Context) (Series, error) {
			return series(ctx, q, "documents inserted", insertedSQL, now, s)
		}),
		func(ctx context.Context) error { return p.latency(ctx, q, s) })
	return p, err
}

// latency measures how long files took that were first seen in the span.
func (p *Pace) latency(ctx context.Context, q pg.Querier, s Span) error {
	p.Latency.Values = make([]float64, s.Steps)
	return stream(ctx, q, "how long files take", latencySQL, []any{p.Since, p.Until, p.Step}, func(r struct {
		Step       *int32
		Half, Most *float64
	}) error {
		if r.Step == nil {
			p.Latency.Half, p.Latency.Most = r.Half, r.Most
		} else if *r.Step >= 0 && int(*r.Step) < s.Steps && r.Most != nil {
			p.Latency.Values[*r.Step] = *r.Most
		}
		return nil
	})
}

// series counts by step, and the periods before as wholes. Each statement gives the
// number of the period, 0 is the span itself, that of the step, and how many.
func series(ctx context.Context, q pg.Querier, what, sql string, now time.Time, s Span) (Series, error) {
	out := Series{Values: make([]float64, s.Steps)}
	before := make([]float64, s.Before)
	some := false
	if err := stream(ctx, q, what, sql, []any{now, s.Length().Seconds(), s.Step.Seconds(), s.Before, s.Back.Seconds()}, func(r struct {
		Period, Step int32
		Count        float64
	}) error {
		switch {
		case r.Period > 0:
			before[r.Period-1] += r.Count
			some = true
		case r.Step >= 0 && int(r.Step) < s.Steps:
			out.Values[r.Step] += r.Count
			out.Total += r.Count
		}
		return nil
	}); err != nil {
		return out, err
	}
	if some {
		slices.Sort(before)
		middle := (before[(s.Before-1)/2] + before[s.Before/2]) / 2
		out.Usual = &middle
	}
	return out, nil
}

// periods are the span and those before it: number, begin and end.
const periods = `(SELECT n::int AS period, $1::timestamptz - make_interval(secs => $2::float8 + n * $5::float8) AS since, $1::timestamptz - make_interval(secs => n * $5::float8) AS until
	FROM generate_series(0, $4::int) n) p`

const receivedSQL = `SELECT p.period, x.step, x.n FROM ` + periods + ` CROSS JOIN LATERAL (
	SELECT CASE WHEN p.period = 0 THEN floor(extract(epoch FROM d.received - p.since) / $3::float8)::int ELSE 0 END AS step, count(*)::float8 AS n
	FROM tracker.zip_download d WHERE d.received >= p.since AND d.received < p.until GROUP BY 1) x`

// A batch is inserted once, and found by its session, which was opened within two days
// before it ended. Late batches have no session, and are few.
const insertedSQL = `SELECT p.period, x.step, x.n FROM ` + periods + ` CROSS JOIN LATERAL (
	SELECT CASE WHEN p.period = 0 THEN floor(extract(epoch FROM b.finish_time - p.since) / $3::float8)::int ELSE 0 END AS step, sum(b.documents)::float8 AS n
	FROM (SELECT b.finish_time, b.documents, b.status_id FROM tracker.crawling_session s JOIN tracker.batch b ON b.session_id = s.id
			WHERE s.start_time >= p.since - interval '2 days' AND s.start_time < p.until
		UNION ALL SELECT finish_time, documents, status_id FROM tracker.batch WHERE session_id IS NULL) b
	WHERE b.finish_time >= p.since AND b.finish_time < p.until AND b.status_id = {status done} GROUP BY 1) x`

const latencySQL = `SELECT step, percentile_cont(0.5) WITHIN GROUP (ORDER BY took), percentile_cont(0.95) WITHIN GROUP (ORDER BY took) FROM (
		SELECT floor(extract(epoch FROM created - $1) / $3::float8)::int AS step, extract(epoch FROM last_update - created)::float8 AS took FROM tracker.zip_action
		WHERE phase_id IN ({phase overview}, {phase qc}) AND status_id = {status done} AND created >= $1 AND created < $2 AND isfinite(last_update)) a
	GROUP BY GROUPING SETS ((step), ())`
