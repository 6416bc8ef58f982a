package stage

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what the consumers of one process do.
type Metrics struct {
	records      *prometheus.CounterVec
	outputs      *prometheus.CounterVec
	inFlight     *prometheus.GaugeVec
	seconds      *prometheus.HistogramVec
	dlq          *prometheus.CounterVec
	lastProgress *prometheus.GaugeVec
	blocked      *prometheus.GaugeVec
	lost         *prometheus.CounterVec
	abandoned    *prometheus.GaugeVec
}

// NewMetrics registers the metrics. It is called once per registry; every
// consumer of the process is given the result.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_records_total",
			Help: "Records by result: done, retried, quarantined, dropped (their partition was given up) or applied."}, []string{"stage", "result"}),
		outputs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_outputs_total",
			Help: "Events produced and acknowledged."}, []string{"stage", "topic"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_in_flight",
			Help: "Records being worked on."}, []string{"stage"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_stage_work_seconds",
			Help: "Time that one attempt, or one applied batch, took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"stage"}),
		dlq: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_dlq_records_total",
			Help: "Records set aside as dead letters, by input topic."}, []string{"stage", "topic"}),
		lastProgress: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_last_progress_timestamp_seconds",
			Help: "When a record was last finished."}, []string{"stage"}),
		blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_blocked",
			Help: "1 for a partition that stands still until somebody acts, by reason: unknown_schema or offset_reset."}, []string{"stage", "topic", "partition", "reason"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_expired_records_total",
			Help: "Offsets that retention removed before they were read."}, []string{"stage", "topic"}),
		abandoned: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_abandoned_work",
			Help: "Attempts that stalled and did not end when told to."}, []string{"stage"}),
	}
	reg.MustRegister(m.records, m.outputs, m.inFlight, m.seconds, m.dlq, m.lastProgress, m.blocked, m.lost, m.abandoned)
	return m
}

// unblock forgets that a partition stood still, if it did.
func (m *Metrics) unblock(stage, topic string, partition int32, blocked bool) {
	if blocked {
		m.blocked.DeletePartialMatch(prometheus.Labels{"stage": stage, "topic": topic, "partition": strconv.Itoa(int(partition))})
	}
}
