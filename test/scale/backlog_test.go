package scale

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

// foundSQL is what plan has taken up in a session of its own: so many files of a
// centre, wanted from a source.
const foundSQL = `WITH n AS (UPDATE control.counter SET value = value + 1 WHERE name = 'session' RETURNING value),
	s AS (INSERT INTO control.session (id, number, once, opened_at, polls_ended_at) SELECT md5($2)::uuid, value, false, now(), now() FROM n RETURNING id),
	b AS (INSERT INTO control.batch (id, session, domain, opened_at) SELECT id, id, $1, now() FROM s RETURNING id, session),
	f AS (INSERT INTO control.file (id, name, action, centre, file_date, file_inc)
		SELECT md5($1 || i)::uuid, $1 || '.2020-01-01.' || i || '.impc.zip', 'add', $1, '2020-01-01', i FROM generate_series(1, $3::int) i RETURNING id, name),
	h AS (INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) SELECT $2, id, 'add', name, 1, 100, '2020-01-02', true, 'present' FROM f)
	INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, not_before)
		SELECT '00000000-0000-5000-8000-000000000000', f.id, b.session, $1, b.id, $2, 1, 100, 'wanted', now() FROM f, b`

// The backlog of one source delays the single file of another, at the same server,
// whose priority is lower and that allows one session, by no more than the job that is
// under way: it is ordered for insertion before the second job of the many ends.
func TestABacklogDelaysNobody(t *testing.T) {
	many := number(t, "TRIBUTARY_SCALE_BACKLOG", 10_000)
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "test", 12)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := newWorld(t, pool, many)
	w.cfg.Plan.SilenceBudget = config.Duration(wait.Patience())
	lowest := 0
	for i := range w.cfg.Sources {
		switch s := &w.cfg.Sources[i]; s.ID {
		case otherSource:
			s.Priority = &lowest
			fallthrough
		case ownSource:
			s.Server, s.MaxSessions = "one:22", 1
		}
	}
	first, found, seen := make(chan struct{}), make(chan struct{}), make(chan string, 100)
	jobs := 0
	w.answers = func(j *schemas.DownloadRequested) bool {
		if seen <- j.Source; j.Source == otherSource {
			return true
		}
		if jobs++; jobs == 1 {
			close(first)
			select {
			case <-found:
			case <-t.Context().Done():
			}
		}
		return jobs == 1 // the second never ends
	}
	w.start()
	insert(t, pool, "H", ownSource, many)
	select {
	case <-first:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	insert(t, pool, "J", otherSource, 1)
	close(found)
	eventually(t, wait.Patience(), func() string {
		var out bool
		if err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM control.batch WHERE domain = 'J' AND last_position IS NOT NULL)").Scan(&out); err != nil {
			return err.Error()
		}
		if !out {
			return fmt.Sprintf("the single file's batch is not out; %d jobs were given", len(seen))
		}
		return ""
	})
	var order []string
	for len(seen) > 0 {
		order = append(order, <-seen)
	}
	if len(order) < 2 || order[0] != ownSource || order[1] != otherSource {
		t.Errorf("jobs of %v", order)
	}
}

// insert has files wanted.
func insert(t *testing.T, pool *pgxpool.Pool, centre, source string, files int) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), foundSQL, centre, source, files); err != nil {
		t.Fatal(err)
	}
}
