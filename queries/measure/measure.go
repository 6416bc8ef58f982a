// Package measure tells Prometheus what the control plane holds: credit,
// outstanding work, sources that rest, outboxes and leases.
//
// The numbers are the database's, not a member's. Every process that publishes
// outboxes reads them at intervals and needs no lease for it, so they are there
// as long as one such process is. Over several processes they are combined by
// their maximum, not their sum.
package measure

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/backoff"
	"tributary/internal/kafka"
	"tributary/internal/obs"
	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// Interval is how often the numbers are read.
const Interval = 15 * time.Second

// timeout bounds each part of a reading: what is outstanding, and each schema's
// outbox and leases.
const timeout = 5 * time.Second

// Measurer reads the numbers.
type Measurer struct {
	pools   map[string]*pgxpool.Pool // by schema
	tracker *pgxpool.Pool
	log     *slog.Logger
	quiet   *kafka.Quiet

	limit, free, outstanding             *prometheus.GaugeVec
	suspended, overruns, failed, skew    *prometheus.GaugeVec
	late, arrived                        *prometheus.GaugeVec
	recent, recentBytes, recentSeconds   *prometheus.GaugeVec
	events, oldest, letters, epoch, held *prometheus.GaugeVec
	measured                             prometheus.Gauge
}

// New makes a Measurer; nothing runs yet. Labels that name a source or a server are
// bounded: those beyond obs.MaxLabels, in the order of their names, are told together.
func New(controlPool, trackerPool, warehousePool *pgxpool.Pool, log *slog.Logger, reg prometheus.Registerer) *Measurer {
	m := &Measurer{
		pools:   map[string]*pgxpool.Pool{control.Schema: controlPool, warehouse.Schema: warehousePool},
		tracker: trackerPool, log: log, quiet: kafka.NewQuiet(time.Now),
		limit: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_control_sessions_limit",
			Help: "Sessions that a server allows at once, jobs and polls together."}, []string{"server"}),
		free: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_control_credits",
			Help: "Sessions of a server that no job and no poll has; below 0 after its limit was lowered."}, []string{"server"}),
		outstanding: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_control_outstanding",
			Help: "What control waits for: polls, looks (announced, not taken up), wanted, requested, received and extracted files, jobs, batches or sessions."}, []string{"what"}),
		suspended: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_suspended",
			Help: "1 while the source is suspended, since too many polls of it failed, else 0. Of the sources, and of servers, the first 100 by name have a label of their own in this and the others that name them; the rest is other, with the sum."}, []string{"source"}),
		overruns: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_overruns",
			Help: "How often a poll of the source had not ended when the next was due."}, []string{"source"}),
		failed: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_failed_polls",
			Help: "Polls of the source in a row that have failed; the last showed something if 0."}, []string{"source"}),
		skew: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_clock_skew_seconds",
			Help: "How far the clock of the source's server is wrong at the least, where that is more than 5 minutes, else 0; below 0 it is behind ours."}, []string{"source"}),
		late: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_late",
			Help: "1 while nothing new has come from the source for much longer than usual, as tributary sources expect says; read every 5 minutes."}, []string{"source"}),
		arrived: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_last_arrival_timestamp_seconds",
			Help: "When the source has last shown something new or changed; likewise, and of other the latest."}, []string{"source"}),
		recent: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_recent_fetches",
			Help: "Fetches from the source by result (good, failed or corrupt), as far as they still count for its reputation: some fifty at most, half after three days."}, []string{"source", "result"}),
		recentBytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_recent_fetched_bytes",
			Help: "Bytes that these brought; by tributary_source_recent_fetch_seconds, the source's speed."}, []string{"source"}),
		recentSeconds: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_source_recent_fetch_seconds",
			Help: "How long these took, from beginning to end, one after another."}, []string{"source"}),
		events: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_outbox_events",
			Help: "Events that wait in an outbox for the broker's acknowledgement."}, []string{"outbox"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_outbox_oldest_seconds",
			Help: "How long the oldest of them has waited; 0 when there is none."}, []string{"outbox"}),
		letters: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_outbox_dead_letters",
			Help: "Events of an outbox that can't be published for good and that nobody has decided about; tributary dlq list shows them."}, []string{"outbox"}),
		epoch: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_lease_epoch",
			Help: "The lease's epoch: it rises by one whenever the lease changes hands."}, []string{"schema", "lease"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_lease_held",
			Help: "1 while a process, whichever, holds the lease, else 0."}, []string{"schema", "lease"}),
		measured: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_control_measured_timestamp_seconds",
			Help: "When the numbers of control, outboxes and leases were last read without a failure; what can be read is up to date all the same."}),
	}
	reg.MustRegister(m.limit, m.free, m.outstanding, m.suspended, m.overruns, m.failed, m.skew, m.late, m.arrived, m.recent, m.recentBytes, m.recentSeconds, m.events, m.oldest, m.letters, m.epoch, m.held, m.measured)
	return m
}

// Run reads at every interval until ctx ends. What cannot be read stays as it
// is, and the time of the last whole reading tells how old it may be.
func (m *Measurer) Run(ctx context.Context) error {
	var expected time.Time
	for range backoff.Every(ctx, Interval) {
		if err := m.Read(ctx); err != nil {
			m.warn(ctx, "the metrics of control are not up to date; trying again", err)
		}
		if now := time.Now(); now.Sub(expected) >= expectEvery {
			if err := m.Expect(ctx); err != nil {
				m.warn(ctx, "which sources are late is not known to the metrics; trying again", err)
			} else {
				expected = now
			}
		}
	}
	return nil
}

func (m *Measurer) warn(ctx context.Context, what string, err error) {
	if missed, ok := m.quiet.Due(what); ok && ctx.Err() == nil {
		m.log.Warn(what, "error", err, "not_logged", missed)
	}
}

// Read reads all numbers of control, outboxes and leases once. Outboxes and leases come first, and whatever
// cannot be read keeps nothing else from it: counts over millions may take too
// long just when it matters how old an outbox is.
func (m *Measurer) Read(ctx context.Context) error {
	var failed error
	for schema, pool := range m.pools {
		failed = errors.Join(failed, m.readSchema(ctx, schema, pool))
	}
	if failed = errors.Join(failed, m.readControl(ctx)); failed != nil {
		return failed
	}
	m.measured.SetToCurrentTime()
	return nil
}

// readControl reads credit and what is outstanding.
func (m *Measurer) readControl(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, err := control.Measure(ctx, m.pools[control.Schema], time.Now())
	if err != nil {
		return err
	}
	m.limit.Reset()
	m.free.Reset()
	var servers, sources obs.Labels // anew each time: they come by name
	for _, c := range now.Credits {
		server := servers.Of(c.Server)
		m.limit.WithLabelValues(server).Add(float64(c.Limit))
		m.free.WithLabelValues(server).Add(float64(c.Free))
	}
	m.suspended.Reset()
	m.overruns.Reset()
	m.failed.Reset()
	m.recent.Reset()
	m.recentBytes.Reset()
	m.recentSeconds.Reset()
	m.skew.Reset()
	for _, s := range now.Sources {
		source := sources.Of(s.ID)
		m.suspended.WithLabelValues(source).Add(oneIf(s.State == control.SourceSuspended))
		m.overruns.WithLabelValues(source).Add(float64(s.Overruns))
		m.failed.WithLabelValues(source).Add(float64(s.FailedPolls))
		r := now.Choices[s.ID]
		m.recent.WithLabelValues(source, "good").Add(r.Good)
		m.recent.WithLabelValues(source, "corrupt").Add(r.Corrupt)
		m.recent.WithLabelValues(source, "failed").Add(r.Tries - r.Good - r.Corrupt)
		m.recentBytes.WithLabelValues(source).Add(r.Bytes)
		m.recentSeconds.WithLabelValues(source).Add(r.Seconds)
		m.skew.WithLabelValues(source).Add(s.Clock.Skew.Seconds())
	}
	for what, n := range now.Outstanding {
		m.outstanding.WithLabelValues(what).Set(float64(n))
	}
	return nil
}

// readSchema reads a schema's outbox and leases.
func (m *Measurer) readSchema(ctx context.Context, schema string, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	depth, err := outbox.Measure(ctx, pool, schema)
	if err != nil {
		return err
	}
	m.events.WithLabelValues(schema).Set(float64(depth.Events))
	m.oldest.WithLabelValues(schema).Set(depth.Oldest.Seconds())
	letters, err := outbox.OpenLetters(ctx, pool, schema)
	if err != nil {
		return err
	}
	m.letters.WithLabelValues(schema).Set(float64(letters))
	leases, err := pg.Leases(ctx, pool, schema)
	if err != nil {
		return err
	}
	for _, l := range leases {
		m.epoch.WithLabelValues(schema, l.Name).Set(float64(l.Epoch))
		m.held.WithLabelValues(schema, l.Name).Set(oneIf(l.Holder != ""))
	}
	return nil
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
