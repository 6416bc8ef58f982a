package plan

import (
	"github.com/prometheus/client_golang/prometheus"

	"tributary/schemas"
)

// Metrics count what planners do. Nil counts nothing.
type Metrics struct{ rerequests, announcements *prometheus.CounterVec }

// NewMetrics registers the metrics, once per registry.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{rerequests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_plan_rerequests_total",
		Help: "Events published again because there was no news of what they caused, by topic."}, []string{"topic"}),
		announcements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_plan_announcements_total",
			Help: "Files that other programs announced, by what became of them: taken_up, repeated, or the exception under which they were refused."}, []string{"result"})}
	reg.MustRegister(m.rerequests, m.announcements)
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

func (m *Metrics) announced(result string) {
	if m != nil {
		m.announcements.WithLabelValues(result).Inc()
	}
}
