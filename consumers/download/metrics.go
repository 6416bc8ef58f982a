package download

import (
	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/obs"
	"tributary/schemas"
)

// metrics tell what comes of sources, of which many share a label.
type metrics struct {
	received *prometheus.CounterVec
	files    *prometheus.CounterVec
	sources  obs.Labels
}

// newMetrics registers them; without a registry nobody reads them.
func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_download_received_bytes_total",
			Help: "Bytes that transfers have brought to this member so far, those of running and of failed ones included, by source (as tributary_source_suspended)."}, []string{"source"}),
		files: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_download_files_total",
			Help: "Files by source (likewise) and by how this member's attempt to fetch them ended: fetched, failed, or not_tried, as the session or the time was over before."}, []string{"source", "result"}),
	}
	if reg != nil {
		reg.MustRegister(m.received, m.files)
	}
	return m
}

// bytes counts what comes from a source.
func (m *metrics) bytes(source string) prometheus.Counter {
	return m.received.WithLabelValues(m.sources.Of(source))
}

// ended counts how an attempt ended. The other ends of the source are there with it, at
// 0, so that the first of each is seen as an increase.
func (m *metrics) ended(source, result string) {
	source = m.sources.Of(source)
	for _, other := range []string{schemas.Fetched, schemas.FailedEnd, schemas.NotTried} {
		m.files.WithLabelValues(source, other)
	}
	m.files.WithLabelValues(source, result).Inc()
}
