package publish

import "github.com/prometheus/client_golang/prometheus"

// metrics count what becomes of an outbox's events.
type metrics struct {
	published prometheus.Counter
	refused   *prometheus.CounterVec
	depth     prometheus.Gauge
}

// newMetrics registers the metrics of a schema's outbox.
func newMetrics(reg prometheus.Registerer, schema string) *metrics {
	labels := prometheus.Labels{"outbox": schema}
	m := &metrics{
		published: prometheus.NewCounter(prometheus.CounterOpts{Name: "tributary_outbox_published_total", Help: "Events acknowledged by the broker.", ConstLabels: labels}),
		refused:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_outbox_refused_total", Help: "Events that can't be published for good, and rows that can't be read: there is a dead letter of each.", ConstLabels: labels}, []string{"class"}),
		depth:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_outbox_batch_events", Help: "Events in the batch read last; a full batch means that more wait.", ConstLabels: labels}),
	}
	reg.MustRegister(m.published, m.refused, m.depth)
	return m
}
