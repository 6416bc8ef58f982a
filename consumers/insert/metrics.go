package insert

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	positions prometheus.Counter
	rows      prometheus.Counter
	position  prometheus.Gauge
	stopped   prometheus.Gauge
	broken    prometheus.Gauge
	due       prometheus.Gauge
	total     atomic.Int64
	loaded    atomic.Int64
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		positions: prometheus.NewCounter(prometheus.CounterOpts{Name: "tributary_insert_positions_total", Help: "Positions applied by this member."}),
		rows:      prometheus.NewCounter(prometheus.CounterOpts{Name: "tributary_insert_rows_total", Help: "Rows loaded by this member."}),
		position:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_insert_last_position", Help: "The last position in the warehouse, as this member knows it."}),
		stopped:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_insert_stopped", Help: "1 while an error stops insertion."}),
		broken:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_insert_chain_broken", Help: "1 while insertion has stopped since two records of document.ordered contradict each other."}),
		due:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_insert_batch_ends_due", Help: "Batch ends that were reached and whose checks, context and overview are not done."}),
	}
	if reg != nil {
		reg.MustRegister(m.positions, m.rows, m.position, m.stopped, m.broken, m.due)
	}
	return m
}

func (m *metrics) count(group []*item, rows int64) {
	m.positions.Add(float64(len(group)))
	m.rows.Add(float64(rows))
	m.position.Set(float64(group[len(group)-1].ev.Position))
	m.total.Add(int64(len(group)))
	m.loaded.Add(rows)
}

// applied is how many positions this member has applied.
func (m *metrics) applied() int64 { return m.total.Load() }
