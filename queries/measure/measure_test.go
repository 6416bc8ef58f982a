package measure

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// gathered is every metric with its labels.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetGauge().GetValue()
		}
	}
	return out
}

func TestNumbersAreTheDatabases(t *testing.T) {
	pool := empty(t)
	for i, state := range []string{"available", "available", "removed"} {
		exec(t, pool, `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision)
			VALUES ($1, 'H', $2, 'sftp', '', $3, '1h', $4, 1)`, fmt.Sprint("s", i), "host:22", 5-i, state)
	}
	exec(t, pool, `INSERT INTO control.job (id, server, source, remaining, requested_at, news_at, event, headers)
		VALUES (gen_random_uuid(), 'host:22', 's0', 1, now(), now(), '', '{}')`)
	exec(t, pool, `INSERT INTO control.outbox (events, packed, created_at) VALUES (7, '', clock_timestamp() - interval '1 minute'), (3, '', clock_timestamp())`)
	ours := pg.Lease{Pool: pool, Schema: control.Schema, Name: "schedule", Holder: "me", TTL: time.Minute}
	theirs := pg.Lease{Pool: pool, Schema: warehouse.Schema, Name: "insert", Holder: "they", TTL: time.Minute}
	for _, l := range []pg.Lease{ours, theirs} {
		if _, err := l.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, pool, "UPDATE control.source SET state = 'suspended', overruns = 7, failed_polls = 3, clock = '{\"skew\": -7200000000000}' WHERE id = 's1'")
	reg := prometheus.NewRegistry()
	m := New(pool, pool, pool, slog.New(slog.DiscardHandler), reg)
	if err := m.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, reg)
	if age := got["tributary_outbox_oldest_seconds control"]; age < 60 || age > 120 {
		t.Errorf("the oldest event has waited %v s, want a minute", age)
	}
	if got["tributary_control_measured_timestamp_seconds"] == 0 {
		t.Error("the time of the reading is missing")
	}
	delete(got, "tributary_outbox_oldest_seconds control")
	delete(got, "tributary_control_measured_timestamp_seconds")
	want := map[string]float64{
		"tributary_control_sessions_limit host:22": 4, "tributary_control_credits host:22": 3,
		"tributary_outbox_events control": 10, "tributary_outbox_events warehouse": 0, "tributary_outbox_oldest_seconds warehouse": 0,
		"tributary_outbox_dead_letters control": 0, "tributary_outbox_dead_letters warehouse": 0,
		"tributary_lease_epoch schedule control": 1, "tributary_lease_held schedule control": 1,
		"tributary_lease_epoch insert warehouse": 1, "tributary_lease_held insert warehouse": 1,
		"tributary_control_outstanding jobs": 1,
		"tributary_source_suspended s0":      0, "tributary_source_overruns s0": 0, "tributary_source_failed_polls s0": 0, "tributary_source_clock_skew_seconds s0": 0,
		"tributary_source_suspended s1": 1, "tributary_source_overruns s1": 7, "tributary_source_failed_polls s1": 3, "tributary_source_clock_skew_seconds s1": -7200,
	}
	for _, source := range []string{"s0", "s1"} {
		for _, what := range []string{"fetches good", "fetches corrupt", "fetches failed", "fetch_seconds", "fetched_bytes"} {
			want["tributary_source_recent_"+what+" "+source] = 0
		}
	}
	for _, what := range []string{"polls", "looks", "wanted", "requested", "received", "extracted", "batches", "sessions"} {
		want["tributary_control_outstanding "+what] = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}

	// A lease that was given up is nobody's, and one that changes hands shows it.
	lease := func(wantHeld, wantEpoch float64) {
		t.Helper()
		if err := m.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := gathered(t, reg)
		if held, epoch := got["tributary_lease_held schedule control"], got["tributary_lease_epoch schedule control"]; held != wantHeld || epoch != wantEpoch {
			t.Errorf("held %v, epoch %v, want %v and %v", held, epoch, wantHeld, wantEpoch)
		}
	}
	if err := ours.Release(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	lease(0, 1)
	exec(t, pool, "UPDATE control.lease SET epoch = 2, holder = 'they', expires_at = clock_timestamp() + interval '1 minute' WHERE name = 'schedule'")
	lease(1, 2)

	// What cannot be counted keeps neither outboxes nor leases from being read.
	measured := gathered(t, reg)["tributary_control_measured_timestamp_seconds"]
	exec(t, pool, "ALTER TABLE control.acquisition RENAME TO away")
	exec(t, pool, "UPDATE control.outbox SET events = 70 WHERE events = 7")
	exec(t, pool, "UPDATE warehouse.lease SET epoch = 2")
	if err := m.Read(t.Context()); err == nil {
		t.Error("nobody is told that something cannot be read")
	}
	got = gathered(t, reg)
	if got["tributary_outbox_events control"] != 73 || got["tributary_lease_epoch insert warehouse"] != 2 {
		t.Errorf("when counts fail: %v", got)
	}
	if got["tributary_control_measured_timestamp_seconds"] != measured {
		t.Error("the time is that of a reading that failed")
	}
}
