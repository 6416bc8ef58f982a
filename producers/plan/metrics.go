package plan

import (
	"github.com/prometheus/client_golang/prometheus"

	"tributary/schemas"
)

// metrics count what planners do.
type metrics struct{ rerequests, announcements *prometheus.CounterVec }

// newMetrics registers the metrics; without a registry nobody reads them.
func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{rerequests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_plan_rerequests_total",
		Help: "Events published again because there was no news of what they caused, by topic."}, []string{"topic"}),
		announcements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_plan_announcements_total",
			Help: "Files that other programs announced, by what became of them: taken_up, repeated, or the exception under which they were refused."}, []string{"result"})}
	if reg != nil {
		reg.MustRegister(m.rerequests, m.announcements)
	}
	return m
}

func (m *metrics) rerequested(records []schemas.Record) {
	for _, r := range records {
		m.rerequests.WithLabelValues(r.Topic).Inc()
	}
}

func (m *metrics) announced(result string) { m.announcements.WithLabelValues(result).Inc() }
