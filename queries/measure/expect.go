package measure

import (
	"context"
	"slices"
	"time"

	"tributary/internal/obs"
	"tributary/queries/expect"
)

const (
	// expectEvery is how often is read what is expected of sources, which takes longer
	// than the rest and changes slowly.
	expectEvery = 5 * time.Minute
	// expectTimeout bounds that.
	expectTimeout = 30 * time.Second
)

// Expect reads once from the tracker which sources are late, and when something came
// from each.
func (m *Measurer) Expect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, expectTimeout)
	defer cancel()
	var all []expect.Expectation
	err := expect.Sources(ctx, m.tracker, "", func(e expect.Expectation) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		return err
	}
	m.late.Reset()
	m.arrived.Reset()
	var sources obs.Labels
	others := 0.0
	for _, e := range all {
		source := sources.Of(e.Source)
		m.late.WithLabelValues(source).Add(oneIf(slices.ContainsFunc(e.Findings, func(f expect.Finding) bool { return f.Finding == expect.Late })))
		if e.Last == nil {
			continue
		}
		at := float64(e.Last.Unix())
		if source == obs.OtherLabel {
			others = max(others, at)
			at = others
		}
		m.arrived.WithLabelValues(source).Set(at)
	}
	return nil
}
