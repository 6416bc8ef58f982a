package measure

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/engine/enginetest"
	"tributary/internal/obs"
	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

// polled tells that a source is there, and of a poll on each of so many days, of which
// those until the quiet ones found something.
func polled(source string, from time.Time, days, quiet int) (log []schemas.StatusChanged) {
	log = append(log, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: source}, Revision: 1,
		StartedAt: &from, Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available", "definition": `{"id":"` + source + `"}`}})
	for d := range days {
		at, found := from.AddDate(0, 0, d), "3"
		if d >= days-quiet {
			found = "0"
		}
		scope := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", source, strconv.Itoa(d)), Centre: "H", Source: source}
		log = append(log,
			schemas.StatusChanged{Entity: schemas.EntitySession, Scope: scope, Number: int64(d + 1), StartedAt: &at},
			schemas.StatusChanged{Entity: schemas.EntityTask, Scope: scope, Phase: "zip_name", Status: "done", StartedAt: &at, FinishedAt: &at,
				Attributes: map[string]string{"listed": "9", "new": found, "changed": "0"}})
	}
	return log
}

// A source is late in the metrics as tributary sources expect says, and it is told when
// something came from each.
func TestLateSourcesAreTold(t *testing.T) {
	from := reporttest.Start().AddDate(0, 0, 1) // later than the log, whose first event makes the sources available
	tracker := reporttest.Told(t, append(polled("silent", from, 20, 6), polled("usual", from, 20, 0)...))
	reg := prometheus.NewRegistry()
	m := New(nil, tracker, nil, slog.New(slog.DiscardHandler), reg)
	if err := m.Expect(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"tributary_source_late silent": 1, "tributary_source_last_arrival_timestamp_seconds silent": float64(from.AddDate(0, 0, 13).Unix()),
		"tributary_source_late usual": 0, "tributary_source_last_arrival_timestamp_seconds usual": float64(from.AddDate(0, 0, 19).Unix()),
	}
	got := gathered(t, reg)
	delete(got, "tributary_control_measured_timestamp_seconds")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// However many sources there are, their labels are bounded, and none is left out.
func TestSourcesShareALabel(t *testing.T) {
	pool := empty(t)
	const more = 7
	for i := range obs.MaxLabels + more {
		exec(t, pool, `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, failed_polls, suspended_at)
			VALUES ($1, 'H', $2, 'sftp', '', 2, '1h', 'suspended', 1, 4, now())`, fmt.Sprintf("s%03d", i), fmt.Sprintf("host%03d:22", i))
	}
	reg := prometheus.NewRegistry()
	if err := New(pool, pool, pool, slog.New(slog.DiscardHandler), reg).Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, reg)
	for name, each := range map[string]float64{"tributary_source_suspended": 1, "tributary_source_failed_polls": 4, "tributary_control_sessions_limit": 2, "tributary_control_credits": 2} {
		if n := got[name+" other"]; n != each*more {
			t.Errorf("%s of the others is %v, want %v", name, n, each*more)
		}
	}
	if got["tributary_source_failed_polls s000"] != 4 || got["tributary_source_failed_polls s100"] != 0 {
		t.Errorf("the first by name don't stand for themselves: %v", got)
	}
}

// empty is a database in which control and warehouse have nothing.
func empty(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}
