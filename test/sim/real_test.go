//go:build synctests && !wasip1

package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	controldb "tributary/sql/control"
	"tributary/sql/control/controltest"
	trackerdb "tributary/sql/tracker"
	warehousedb "tributary/sql/warehouse"
)

// What seeds on real databases are asked for, beside the others.
const (
	envReal   = "SIM_REAL"    // any value: play them
	envAtOnce = "SIM_AT_ONCE" // how many at once; default 1
)

// realPace is how many times faster than drawn everything goes on real
// databases: faults for 15 s, sessions of 3 s, stops of up to 11 s. More would
// make time-outs of what a busy machine does by itself.
const realPace = 2

// TestReal plays the same seeds, with the same scenes and faults, in real time
// and with the product's own roles on a real Postgres.
func TestReal(t *testing.T) {
	if os.Getenv(envReal) == "" {
		t.Skip("takes half a minute for each seed: make sim-real runs it")
	}
	sh := setup(t)
	first, n := number(envSeed, 1), number(envRuns, 5)
	var mu sync.Mutex
	violations := 0
	var playing errgroup.Group
	playing.SetLimit(int(number(envAtOnce, 1)))
	for seed := first; seed < first+n; seed++ {
		playing.Go(func() error {
			var s *sim
			t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { s = runReal(t, sh, seed, os.Getenv(envFaultless) != "") })
			mu.Lock()
			defer mu.Unlock()
			if !s.report(t, seed, n == 1, violations < maxPrinted) {
				violations++
			}
			return nil
		})
	}
	_ = playing.Wait() // no seed returns an error
	summarise(t, first, n, violations)
}

// report says how a seed went, and whether it holds. One that could not begin
// does not.
func (s *sim) report(t *testing.T, seed uint64, whole, show bool) bool {
	if s == nil {
		t.Errorf("seed %d could not be played", seed)
		return false
	}
	if len(s.violations) > 0 {
		t.Errorf("seed %d:\n  %s", seed, strings.Join(s.violations, "\n  "))
		s.keep(t, show)
		return false
	}
	fmt.Printf("seed %d holds: %d faults struck, %v\n", seed, s.faults.struck, time.Since(s.begun).Round(time.Second))
	if whole {
		fmt.Println(s.story())
	}
	return true
}

// installation is the planes as the product has them: its roles, on one
// database for control, tracker and warehouse.
type installation struct {
	s          *sim
	t          *testing.T
	dsn        string
	pool       *pgxpool.Pool // the test's own, which no fault strikes
	cfg        config.Config
	mapping    *mapping.Mapping
	statements *warehousedb.Statements
	closing    bool // no more sessions are opened
	log        []logged
}

// runReal runs a seed on databases of its own.
func runReal(t *testing.T, sh *shared, seed uint64, faultless bool) *sim {
	in := &installation{t: t, dsn: enginetest.Postgres(t)}
	in.prepare(sh)
	s := newSim(t, sh, seed, faultless, realPace)
	in.s, s.planes, s.deadDial = s, in, dialTimeoutReal
	in.configure()
	in.replaceHistory()
	if !faultless {
		s.faults.events = append(s.faults.events, in.drawPeople(seed)...)
	}
	defer s.cluster.Close()
	s.play()
	in.laws()
	return s
}

// prepare makes the schemas.
func (in *installation) prepare(sh *shared) {
	t, ctx := in.t, context.Background()
	var err error
	if in.pool, err = pg.Open(ctx, in.dsn, "sim", 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.pool.Close)
	for _, migrate := range []func(context.Context, *pgxpool.Pool) error{controldb.Migrate, trackerdb.Migrate, warehousedb.Migrate} {
		if err := migrate(ctx, in.pool); err != nil {
			t.Fatal(err)
		}
	}
	controltest.Guard(t, in.pool)
	if in.mapping, err = mapping.Load(sh.profile.FS()); err != nil {
		t.Fatal(err)
	}
	if in.statements, err = warehousedb.Load(sh.profile.FS()); err != nil {
		t.Fatal(err)
	}
	if err := warehousedb.Apply(ctx, in.pool, sh.profile.FS(), in.mapping); err != nil {
		t.Fatal(err)
	}
}

// configure makes what heals by itself do so in seconds, in about the same
// proportions as the models have.
func (in *installation) configure() {
	d := func(v time.Duration) config.Duration { return config.Duration(v) }
	c := config.Default()
	c.Kafka.TopicPrefix = prefix
	for source, at := range sceneSources() {
		src := in.s.sources[source]
		src.Centre, src.MaxSessions = strings.ToUpper(source[:1])+source[1:], in.s.scene.limits[at]
		src.Hosts = config.Hosts{{Centre: config.AllCentres}} // files lie at several sources
		in.s.sources[source] = src
		c.Sources = append(c.Sources, src)
	}
	c.Schedule = config.Schedule{Interval: d(2 * time.Second), Tick: d(100 * time.Millisecond)}
	c.Poll.Settle, c.Poll.Timeout, c.Poll.IdleTimeout = 0, d(10*time.Second), d(5*time.Second)
	c.Plan.Backoff, c.Plan.BackoffMax, c.Plan.RetryFailed = d(200*time.Millisecond), d(2*time.Second), d(3*time.Second)
	c.Plan.SilenceBudget = d(silenceBudget / realPace)
	c.Publish.LeaseTTL, c.Insert.LeaseTTL = d(4*time.Second), d(2*time.Second)
	c.Sequence = config.Sequence{PollCutoff: d(8 * time.Second), ReleaseLimit: d(releaseLimit / realPace), LateLimit: d(time.Second), Interval: d(200 * time.Millisecond)}
	c.Tracker.Wait = d(500 * time.Millisecond)
	in.cfg = c
}

// replaceHistory lets schedule play the part of the history, which is left out:
// what was drawn to strike the one strikes the other.
func (in *installation) replaceHistory() {
	s := in.s
	s.instead = map[string]string{"history": "schedule"}
	s.scene.members["schedule"] = s.scene.members["history"]
	for _, f := range s.faults.steps {
		if f.role == "history" {
			f.role = "schedule"
			key := f.role + "/" + f.label
			s.faults.planned[key] = append(s.faults.planned[key], f)
		}
	}
	for _, f := range s.scene.files {
		f.slow /= realPace * 2 // a slow transfer takes up to 15 s
	}
}

// ask returns the rows of a query of one column.
func (in *installation) ask(sql string, args ...any) ([]string, error) {
	return column(in.pool, sql, args...)
}

func column(pool *pgxpool.Pool, sql string, args ...any) (out []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sql, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// must is ask where an error is no answer.
func (in *installation) must(sql string, args ...any) []string {
	out, err := in.ask(sql, args...)
	if err != nil {
		in.s.violate("sim", "%v", err)
	}
	return out
}
