package member

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// PartitionState is what a member has in hand of one partition, at one moment.
type PartitionState struct {
	Topic     string // full name
	Partition int32
	Records   int     // in hand: read, and not finished and committed
	Lag       int64   // records of the log that are not finished; -1: not known
	Age       float64 // seconds that the oldest of them has been in hand; 0: none is
}

// Reporter is a member that can say what it has in hand.
type Reporter interface {
	Partitions() (stage string, states []PartitionState)
}

// shares asks the running members at every scrape for their shares of the
// partitions, so that nothing is counted in between.
type shares struct {
	window, lag, oldest, partitions *prometheus.GaugeVec

	mu        sync.Mutex
	reporters map[Reporter]bool
}

func newShares() *shares {
	return &shares{
		window: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_window_records",
			Help: "Records of a partition in hand: read, and not finished up to the oldest unfinished one. At the configured window the partition is paused."}, []string{"stage", "topic", "partition"}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_lag_records",
			Help: "Offsets between what is finished and the log's end, by partition, as its owner knows it; the end is looked up every 10 s."}, []string{"stage", "topic", "partition"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_oldest_record_seconds",
			Help: "How long the oldest unfinished record has been in hand; 0 when there is none. It tells stalled from idle."}, []string{"stage"}),
		partitions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_stage_partitions",
			Help: "Partitions that this member has."}, []string{"stage"}),
		reporters: map[Reporter]bool{},
	}
}

func (s *shares) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{s.window, s.lag, s.oldest, s.partitions}
}

// Report lets a member be asked for its share until the returned function is
// called.
func (m *Metrics) Report(r Reporter) (remove func()) {
	s := m.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reporters[r] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reporters, r)
	}
}

// Describe is part of prometheus.Collector.
func (s *shares) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range s.all() {
		v.Describe(ch)
	}
}

// Collect is part of prometheus.Collector: it asks every member. Those of
// one stage in one process, which have different partitions, are added up.
func (s *shares) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.all() {
		v.Reset()
	}
	oldest := map[string]float64{}
	for r := range s.reporters {
		stage, states := r.Partitions()
		s.partitions.WithLabelValues(stage).Add(float64(len(states)))
		oldest[stage] = max(oldest[stage], 0)
		for _, in := range states {
			labels := []string{stage, in.Topic, strconv.Itoa(int(in.Partition))}
			s.window.WithLabelValues(labels...).Set(float64(in.Records))
			if in.Lag >= 0 {
				s.lag.WithLabelValues(labels...).Set(float64(in.Lag))
			}
			oldest[stage] = max(oldest[stage], in.Age)
		}
	}
	for stage, age := range oldest {
		s.oldest.WithLabelValues(stage).Set(age)
	}
	for _, v := range s.all() {
		v.Collect(ch)
	}
}
