package member

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what the consumers of one process do.
type Metrics struct {
	Records      *prometheus.CounterVec
	Outputs      *prometheus.CounterVec
	Errors       *prometheus.CounterVec
	InFlight     *prometheus.GaugeVec
	Seconds      *prometheus.HistogramVec
	Commits      *prometheus.HistogramVec
	Dlq          *prometheus.CounterVec
	LastProgress *prometheus.GaugeVec
	Blocked      *prometheus.GaugeVec
	Lost         *prometheus.CounterVec
	Abandoned    *prometheus.GaugeVec
	Detached     *prometheus.GaugeVec
	Rebalances   *prometheus.CounterVec
	shares       *shares
}

// NewMetrics registers the metrics. It is called once per registry; every
// consumer of the process is given the result.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_records_total",
			Help: "Records by result: done, retried, quarantined, dropped (their partition was given up) or applied."}, []string{"stage", "result"}),
		Outputs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_outputs_total",
			Help: "Events produced and acknowledged."}, []string{"stage", "topic"}),
		Errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_errors_total",
			Help: "What went wrong, by kind: transient (tried again for ever), failed (tried again until it is poison), panic, stalled, rejected (an outcome that says so; the input is done), poison (the record was set aside), moved (another member has the partition) or unknown_schema."}, []string{"stage", "kind"}),
		InFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_in_flight",
			Help: "Records being worked on."}, []string{"stage"}),
		Seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_stage_work_seconds",
			Help: "Time that one attempt, or one applied batch, took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"stage"}),
		Commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_stage_commit_seconds",
			Help: "Time that one commit of offsets took, failed ones included.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"stage"}),
		Dlq: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_dlq_records_total",
			Help: "Records set aside as dead letters, by input topic."}, []string{"stage", "topic"}),
		LastProgress: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_last_progress_timestamp_seconds",
			Help: "When a record was last finished."}, []string{"stage"}),
		Blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_blocked",
			Help: "1 for a partition that stands still until somebody acts, by reason: unknown_schema, offset_reset or topic_anew."}, []string{"stage", "topic", "partition", "reason"}),
		Lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_expired_records_total",
			Help: "Offsets that retention removed before they were read."}, []string{"stage", "topic"}),
		Abandoned: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_abandoned_work",
			Help: "Attempts that stalled and did not end when told to."}, []string{"stage"}),
		Detached: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_detached_work",
			Help: "Records whose work takes long and goes on without their partition; not counted as in flight."}, []string{"stage"}),
		Rebalances: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_rebalances_total",
			Help: "Rebalances that changed this member's share, by what it was: assigned, revoked or lost."}, []string{"stage", "event"}),
		shares: newShares(),
	}
	reg.MustRegister(m.Records, m.Outputs, m.Errors, m.InFlight, m.Seconds, m.Commits, m.Dlq, m.LastProgress, m.Blocked, m.Lost, m.Abandoned, m.Detached, m.Rebalances, m.shares)
	return m
}

// Unblock forgets that a partition stood still, if it did.
func (m *Metrics) Unblock(stage, topic string, partition int32, blocked bool) {
	if blocked {
		m.Blocked.DeletePartialMatch(prometheus.Labels{"stage": stage, "topic": topic, "partition": strconv.Itoa(int(partition))})
	}
}

// Rebalanced counts a rebalance that changed a member's share.
func (m *Metrics) Rebalanced(stage, event string, which map[string][]int32) {
	for _, ids := range which {
		if len(ids) > 0 {
			m.Rebalances.WithLabelValues(stage, event).Inc()
			return
		}
	}
}

// Kinds of errors, as the metric names them.
const (
	KindTransient = "transient"
	KindFailed    = "failed"
	KindPanic     = "panic"
	KindStalled   = "stalled"
	KindRejected  = "rejected"
	KindPoison    = "poison"
	KindMoved     = "moved"
	KindUnknown   = "unknown_schema"
)
