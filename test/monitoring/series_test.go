package monitoring

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// series are what Prometheus has stored.
type series []promql.Series

// Querier implements storage.Queryable.
func (s series) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found found
		for _, one := range s {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }) {
				found.rest = append(found.rest, one)
			}
		}
		slices.SortFunc(found.rest, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
		return &found
	}}, nil
}

// found is a storage.SeriesSet.
type found struct{ at, rest series }

func (f *found) Next() bool {
	if len(f.rest) == 0 {
		return false
	}
	f.at, f.rest = f.rest[:1], f.rest[1:]
	return true
}

func (f *found) At() storage.Series                { return promql.NewStorageSeries(f.at[0]) }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// described are series as Prometheus' own tests of rules write them, such as
// up{job="tributary"} 1x5 0x10, of which the values come each minute from 0 on.
func described(t *testing.T, lines ...string) (all series) {
	t.Helper()
	for _, line := range lines {
		metric, values, err := language().ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		one := promql.Series{Metric: metric}
		for i, v := range values {
			if !v.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: int64(i) * time.Minute.Milliseconds(), F: v.Value})
			}
		}
		all = append(all, one)
	}
	return all
}

func language() parser.Parser { return parser.NewParser(parser.Options{}) }

func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 10e6, Timeout: time.Minute, Parser: language()})
}

// answer is what an expression says of series at each step.
func answer(t *testing.T, of series, expression string, from, to time.Time, step time.Duration) (promql.Matrix, error) {
	t.Helper()
	q, err := engine().NewRangeQuery(context.Background(), of, nil, expression, from, to, step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(t.Context())
	if result.Err != nil {
		return nil, result.Err
	}
	if len(result.Warnings) > 0 {
		return nil, fmt.Errorf("warnings: %v", result.Warnings)
	}
	m, err := result.Matrix()
	return slices.Clone(m), err
}
