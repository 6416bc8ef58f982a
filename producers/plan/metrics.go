package plan

import (
	"github.com/prometheus/client_golang/prometheus"

	"tributary/schemas"
)

// Metrics count what planners do. Nil counts nothing.
type Metrics struct{ rerequests *prometheus.CounterVec }

// NewMetrics registers the metrics, once per registry.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{rerequests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_plan_rerequests_total",
		Help: "Events published again because there was no news of what they caused, by topic."}, []string{"topic"})}
	reg.MustRegister(m.rerequests)
	return m
}

func (m *Metrics) rerequested(records []schemas.Record) {
	if m == nil {
		return
	}
	for _, r := range records {
		m.rerequests.WithLabelValues(r.Topic).Inc()
	}
}
