package stage

import (
	"errors"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Metrics count what the consumers of one process do.
type Metrics struct {
	records      *prometheus.CounterVec
	outputs      *prometheus.CounterVec
	errors       *prometheus.CounterVec
	inFlight     *prometheus.GaugeVec
	seconds      *prometheus.HistogramVec
	commits      *prometheus.HistogramVec
	dlq          *prometheus.CounterVec
	lastProgress *prometheus.GaugeVec
	blocked      *prometheus.GaugeVec
	lost         *prometheus.CounterVec
	abandoned    *prometheus.GaugeVec
	detached     *prometheus.GaugeVec
	rebalances   *prometheus.CounterVec
	hands        *hands
}

// NewMetrics registers the metrics. It is called once per registry; every
// consumer of the process is given the result.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_records_total",
			Help: "Records by result: done, retried, quarantined, dropped (their partition was given up) or applied."}, []string{"stage", "result"}),
		outputs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_outputs_total",
			Help: "Events produced and acknowledged."}, []string{"stage", "topic"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_errors_total",
			Help: "What went wrong, by kind: transient (tried again for ever), failed (tried again until it is poison), panic, stalled, rejected (an outcome that says so; the input is done), poison (the record was set aside), moved (another member has the partition) or unknown_schema."}, []string{"stage", "kind"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_in_flight",
			Help: "Records being worked on."}, []string{"stage"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_stage_work_seconds",
			Help: "Time that one attempt, or one applied batch, took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"stage"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_stage_commit_seconds",
			Help: "Time that one commit of offsets took, failed ones included.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"stage"}),
		dlq: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_dlq_records_total",
			Help: "Records set aside as dead letters, by input topic."}, []string{"stage", "topic"}),
		lastProgress: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_last_progress_timestamp_seconds",
			Help: "When a record was last finished."}, []string{"stage"}),
		blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_blocked",
			Help: "1 for a partition that stands still until somebody acts, by reason: unknown_schema, offset_reset or topic_anew."}, []string{"stage", "topic", "partition", "reason"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_expired_records_total",
			Help: "Offsets that retention removed before they were read."}, []string{"stage", "topic"}),
		abandoned: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_abandoned_work",
			Help: "Attempts that stalled and did not end when told to."}, []string{"stage"}),
		detached: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_detached_work",
			Help: "Records whose work takes long and goes on without their partition; not counted as in flight."}, []string{"stage"}),
		rebalances: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_stage_rebalances_total",
			Help: "Rebalances that changed this member's share, by what it was: assigned, revoked or lost."}, []string{"stage", "event"}),
		hands: newHands(),
	}
	reg.MustRegister(m.records, m.outputs, m.errors, m.inFlight, m.seconds, m.commits, m.dlq, m.lastProgress, m.blocked, m.lost, m.abandoned, m.detached, m.rebalances, m.hands)
	return m
}

// unblock forgets that a partition stood still, if it did.
func (m *Metrics) unblock(stage, topic string, partition int32, blocked bool) {
	if blocked {
		m.blocked.DeletePartialMatch(prometheus.Labels{"stage": stage, "topic": topic, "partition": strconv.Itoa(int(partition))})
	}
}

// rebalanced counts a rebalance that changed a member's share.
func (m *Metrics) rebalanced(stage, event string, which map[string][]int32) {
	for _, ids := range which {
		if len(ids) > 0 {
			m.rebalances.WithLabelValues(stage, event).Inc()
			return
		}
	}
}

// Kinds of errors, as the metric names them.
const (
	kindTransient = "transient"
	kindFailed    = "failed"
	kindPanic     = "panic"
	kindStalled   = "stalled"
	kindRejected  = "rejected"
	kindPoison    = "poison"
	kindMoved     = "moved"
	kindUnknown   = "unknown_schema"
)

// kindOf is the kind of an attempt's error.
func kindOf(err error) string {
	var p *panicked
	switch {
	case errors.As(err, &p):
		return kindPanic
	case errors.Is(err, errStalled):
		return kindStalled
	case isTransient(err):
		return kindTransient
	}
	return kindFailed
}

// kindOfSink is the kind of an error of an applier's sink, which tries
// everything again.
func kindOfSink(err error) string {
	switch {
	case errors.Is(err, pg.ErrMoved):
		return kindMoved
	case errors.Is(err, schemas.ErrUnknownSchema):
		return kindUnknown
	}
	return kindTransient
}

// rejects tells whether a message is an outcome that says no.
func rejects(m schemas.Message) bool {
	s, ok := m.Body.(*schemas.StatusChanged)
	return ok && s.Status == string(schemas.Failed)
}

// hand is what a consumer has in hand of one partition, at one moment.
type hand struct {
	topic     string // full name
	partition int32
	records   int     // in hand: read, and not finished and committed
	lag       int64   // records of the log that are not finished; -1: not known
	age       float64 // seconds that the oldest of them has been in hand; 0: none is
}

// holder is a consumer that can say what it has in hand.
type holder interface {
	inHand() (stage string, hands []hand)
}

// hands asks the running consumers at every scrape, so that nothing is counted
// in between.
type hands struct {
	window, lag, oldest, partitions *prometheus.GaugeVec

	mu      sync.Mutex
	holders map[holder]bool
}

func newHands() *hands {
	return &hands{
		window: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_window_records",
			Help: "Records of a partition in hand: read, and not finished up to the oldest unfinished one. At the configured window the partition is paused."}, []string{"stage", "topic", "partition"}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_lag_records",
			Help: "Offsets between what is finished and the log's end, by partition, as its owner knows it; the end is looked up every 10 s."}, []string{"stage", "topic", "partition"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_oldest_record_seconds",
			Help: "How long the oldest unfinished record has been in hand; 0 when there is none. It tells stalled from idle."}, []string{"stage"}),
		partitions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_partitions",
			Help: "Partitions that this member has."}, []string{"stage"}),
		holders: map[holder]bool{},
	}
}

func (h *hands) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{h.window, h.lag, h.oldest, h.partitions}
}

// add lets a consumer be asked until the returned function is called.
func (h *hands) add(c holder) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holders[c] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.holders, c)
	}
}

// Describe is part of prometheus.Collector.
func (h *hands) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range h.all() {
		v.Describe(ch)
	}
}

// Collect is part of prometheus.Collector: it asks every consumer. Members of
// one stage in one process, which have different partitions, are added up.
func (h *hands) Collect(ch chan<- prometheus.Metric) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.all() {
		v.Reset()
	}
	oldest := map[string]float64{}
	for c := range h.holders {
		stage, hands := c.inHand()
		h.partitions.WithLabelValues(stage).Add(float64(len(hands)))
		oldest[stage] = max(oldest[stage], 0)
		for _, in := range hands {
			labels := []string{stage, in.topic, strconv.Itoa(int(in.partition))}
			h.window.WithLabelValues(labels...).Set(float64(in.records))
			if in.lag >= 0 {
				h.lag.WithLabelValues(labels...).Set(float64(in.lag))
			}
			oldest[stage] = max(oldest[stage], in.age)
		}
	}
	for stage, age := range oldest {
		h.oldest.WithLabelValues(stage).Set(age)
	}
	for _, v := range h.all() {
		v.Collect(ch)
	}
}
