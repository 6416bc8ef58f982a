package control_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/test/wait"
)

// labelled is a source at an address, whose sessions are counted under a name: its
// address, where that is empty.
func labelled(id, address, server string, sessions int) control.Source {
	s := control.Source{ID: id, Centre: "H", Server: cmp.Or(server, address), Protocol: "sftp", State: "available", MaxSessions: sessions, Interval: time.Hour,
		Definition: fmt.Sprintf(`{"id": %q, "server": %q}`, id, server)}
	if s.Server != address {
		s.Address = address
	}
	return s
}

// store stores the source.
func store(t *testing.T, tx pgx.Tx, s control.Source) error {
	t.Helper()
	_, err := controltest.PutSource(t.Context(), tx, s)
	return err
}

// outstanding is a job, a session or a running poll, where the law says that it is
// counted.
type outstanding struct {
	source, address, server string
	job                     string // its id; empty: it has ended, or it is a poll
	record                  string // the server in the job's record
	end                     func() // of its session; nil: it has none
	poll                    control.Poll
}

// relabelling is sources whose labels and addresses change while work is given out,
// and what must be counted where.
type relabelling struct {
	t       *testing.T
	pool    *pgxpool.Pool
	rng     *rand.Rand
	sources map[string]control.Source
	open    []*outstanding
}

// Labels and addresses of sources change while polls, jobs and sessions begin and
// end, in any order: each is counted under the label that its source has at the
// address where it goes, or had there last. So no label ever has more than its limit
// unless another label's work was moved to it, and then it gets no more (L9).
func TestWhatIsOutstandingIsCountedUnderTheLabelOfItsAddress(t *testing.T) {
	r := &relabelling{t: t, pool: database(t), rng: rand.New(rand.NewPCG(1, 2)), sources: map[string]control.Source{}}
	for _, id := range []string{"a", "b", "src"} {
		source(t, r.pool, id, "one:22", 3)
		r.relabel(id)
	}
	steps := []func(){r.job, r.job, r.hold, r.hold, r.poll, r.endJob, r.endSession, r.endPoll, func() { r.relabel(r.one()) }}
	for n := range 400 {
		steps[r.rng.IntN(len(steps))]()
		if d := gocmp.Diff(r.free(), r.credits()); d != "" {
			t.Fatalf("after %d steps what is free differs (- by the law, + counted):\n%s", n+1, d)
		}
	}
}

func (r *relabelling) one() string {
	ids := slices.Sorted(maps.Keys(r.sources))
	return ids[r.rng.IntN(len(ids))]
}

func (r *relabelling) credits() (free map[string]int) {
	r.t.Helper()
	inTx(r.t, r.pool, func(tx pgx.Tx) (err error) {
		free, err = control.Credits(r.t.Context(), tx, noon.Add(-time.Hour))
		return err
	})
	return free
}

func (r *relabelling) free() map[string]int {
	out := map[string]int{}
	for _, s := range r.sources {
		if n, known := out[s.Server]; !known || s.MaxSessions < n {
			out[s.Server] = s.MaxSessions
		}
	}
	for _, o := range r.open {
		if _, known := out[o.server]; known {
			out[o.server]--
		}
	}
	return out
}

func (r *relabelling) relabel(id string) {
	r.t.Helper()
	s := labelled(id, []string{"one:22", "two:22"}[r.rng.IntN(2)], []string{"", "two:22", "three"}[r.rng.IntN(3)], 1+r.rng.IntN(3))
	inTx(r.t, r.pool, func(tx pgx.Tx) error { return store(r.t, tx, s) })
	r.sources[id] = s
	for _, o := range r.open {
		if o.source == id && o.address == cmp.Or(s.Address, s.Server) {
			o.server = s.Server
		}
	}
}

// begin is something new that is outstanding of a source.
func (r *relabelling) begin(id string) *outstanding {
	s := r.sources[id]
	o := &outstanding{source: id, address: cmp.Or(s.Address, s.Server), server: s.Server}
	r.open = append(r.open, o)
	return o
}

// pick is something outstanding that fits; nil: nothing does.
func (r *relabelling) pick(fits func(*outstanding) bool) *outstanding {
	var some []*outstanding
	for _, o := range r.open {
		if fits(o) {
			some = append(some, o)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[r.rng.IntN(len(some))]
}

// ended forgets what is no longer outstanding.
func (r *relabelling) ended() {
	r.open = slices.DeleteFunc(r.open, func(o *outstanding) bool { return o.job == "" && o.end == nil && o.poll.ID == "" })
}

func (r *relabelling) job() {
	r.t.Helper()
	id, job := r.one(), uuid.NewString()
	server := r.sources[id].Server
	inTx(r.t, r.pool, func(tx pgx.Tx) error {
		free, err := control.Credits(r.t.Context(), tx, noon.Add(-time.Hour))
		if err != nil || free[server] <= 0 {
			return err
		}
		o := r.begin(id)
		o.job, o.record = job, server
		return control.AddJob(r.t.Context(), tx, job, server, id, 1, noon, schemas.Record{Value: []byte{1}})
	})
}

func (r *relabelling) hold() {
	r.t.Helper()
	o := r.pick(func(o *outstanding) bool { return o.job != "" && o.end == nil })
	if o == nil {
		return
	}
	_, end, err := control.HoldSession(r.t.Context(), r.pool, o.job, o.record, "member", time.Hour)
	if err != nil {
		r.t.Fatal(err)
	}
	o.end = end
}

func (r *relabelling) poll() {
	r.t.Helper()
	if r.pick(func(o *outstanding) bool { return o.poll.ID != "" }) != nil {
		return
	}
	id := r.one()
	exec(r.t, r.pool, "UPDATE control.poll SET state = 'failed' WHERE state = 'due'")
	session(r.t, r.pool, "as when it was due", id)
	if p, ok := take(r.t, r.pool, "member"); ok {
		r.begin(id).poll = p
	} else {
		exec(r.t, r.pool, "UPDATE control.poll SET state = 'failed' WHERE state = 'due'")
	}
}

func (r *relabelling) endJob() {
	r.t.Helper()
	if o := r.pick(func(o *outstanding) bool { return o.job != "" }); o != nil {
		inTx(r.t, r.pool, func(tx pgx.Tx) error { return control.JobNews(r.t.Context(), tx, map[string]int{o.job: 1}) })
		o.job = ""
		r.ended()
	}
}

func (r *relabelling) endSession() {
	if o := r.pick(func(o *outstanding) bool { return o.end != nil }); o != nil {
		o.end()
		o.end = nil
		r.ended()
	}
}

func (r *relabelling) endPoll() {
	r.t.Helper()
	if o := r.pick(func(o *outstanding) bool { return o.poll.ID != "" }); o != nil {
		inTx(r.t, r.pool, func(tx pgx.Tx) error {
			return control.EndPoll(r.t.Context(), tx, o.poll, "complete", "", "", noon)
		})
		o.poll = control.Poll{}
		r.ended()
	}
}

// While a source's label is being changed, nobody is given a session under either
// name, and a session that begins for a job waits until it is known under which. Its
// renewals leave it there, also when the job has ended.
func TestASessionBeginsWhileItsLabelChanges(t *testing.T) {
	pool := database(t)
	source(t, pool, "src", "one:22", 2)
	id := job(t, pool, "one:22", 1)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) // after the commit there is nothing to roll back
	if err := store(t, tx, labelled("src", "one:22", "both", 1)); err != nil {
		t.Fatal(err)
	}
	ends := make(chan func(), 1)
	go func() {
		_, end, err := control.HoldSession(t.Context(), pool, id, "one:22", "member", 100*time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		ends <- end
	}()
	credits := make(chan error, 1)
	go func() {
		other, err := pool.Begin(t.Context())
		if err == nil {
			_, err = control.Credits(t.Context(), other, noon)
			_ = other.Rollback(t.Context())
		}
		credits <- err
	}()
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	for deadline := time.Now().Add(wait.Patience()); text(t, pool, waiting) != "(2)" && len(ends)+len(credits) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("they neither wait nor go on")
		}
	}
	if len(credits) > 0 {
		t.Error("credit is given while a label is being changed")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := <-ends
	defer end()
	if err := <-credits; err != nil {
		t.Error(err)
	}
	until := time.Time{}
	renewed := func() {
		t.Helper()
		const is = "SELECT server, source FROM control.job_session WHERE lease_until > $1"
		for deadline := time.Now().Add(wait.Patience()); text(t, pool, is, until) == ""; {
			if time.Now().After(deadline) {
				t.Fatal("the session is not renewed")
			}
		}
		if got := text(t, pool, is, until); got != "(both,src)" {
			t.Errorf("the session is counted as %s", got)
		}
		if err := pool.QueryRow(t.Context(), "SELECT lease_until FROM control.job_session").Scan(&until); err != nil {
			t.Fatal(err)
		}
	}
	renewed()
	inTx(t, pool, func(tx pgx.Tx) error { return control.JobNews(t.Context(), tx, map[string]int{id: 1}) })
	renewed()
	renewed()
}
