package control_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/centres"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/test/wait"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return controltest.Open(t, 10)
}

func inTx(t *testing.T, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) {
	t.Helper()
	if err := pg.InTx(t.Context(), pool, fn); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func text(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) string {
	t.Helper()
	var out string
	if err := pool.QueryRow(t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// source configures an available source of centre H.
func source(t *testing.T, pool *pgxpool.Pool, id, server string, sessions int) {
	t.Helper()
	inTx(t, pool, func(tx pgx.Tx) error {
		if _, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", Active: true}, 1); err != nil {
			return err
		}
		_, err := controltest.PutSource(t.Context(), tx, control.Source{ID: id, Centre: "H", Server: server, Protocol: "sftp", State: "available", MaxSessions: sessions, Interval: time.Hour, Definition: `{"id": "` + id + `"}`})
		return err
	})
}

var numbers struct {
	sync.Mutex
	n int64
}

// session opens a session with a poll of each of the given sources of a
// server.
func session(t *testing.T, pool *pgxpool.Pool, server string, sources ...string) string {
	t.Helper()
	numbers.Lock()
	numbers.n++
	number := numbers.n
	numbers.Unlock()
	id := uuid.NewString()
	polls := map[string]control.DueSource{}
	for _, s := range sources {
		polls[schemas.ID("poll", id, s)] = control.DueSource{ID: s, Centre: "H", Server: server}
	}
	inTx(t, pool, func(tx pgx.Tx) error {
		return control.OpenSession(t.Context(), tx, id, number, false, noon, polls)
	})
	return id
}

func take(t *testing.T, pool *pgxpool.Pool, holder string) (control.Poll, bool) {
	t.Helper()
	p, ok, err := control.TakePoll(t.Context(), pool, holder, nil, noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return p, ok
}

// job stores an outstanding job.
func job(t *testing.T, pool *pgxpool.Pool, server string, files int) string {
	t.Helper()
	id := uuid.NewString()
	inTx(t, pool, func(tx pgx.Tx) error {
		return control.AddJob(t.Context(), tx, id, server, "src", files, noon, schemas.Record{Topic: schemas.DownloadRequestedTopic, Key: id, Value: []byte("job " + id),
			Headers: []schemas.Header{{Key: "ce_id", Value: []byte("event of " + id)}}})
	})
	return id
}

func TestMigrateByTwoAtOnce(t *testing.T) {
	dsn := enginetest.Postgres(t)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			pool, err := pg.Open(t.Context(), dsn, "test", 4)
			if err != nil {
				errs[i] = err
				return
			}
			defer pool.Close()
			errs[i] = control.Migrate(t.Context(), pool)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A server allowed K sessions never has more than K jobs and polls
// outstanding, whoever takes and gives at the same time.
func TestCreditIsNeverExceeded(t *testing.T) {
	pool := database(t)
	const server, sessions, members = "host:22", 3, 6
	var sources []string
	for i := range 12 {
		id := fmt.Sprintf("src%02d", i)
		sources = append(sources, id)
		source(t, pool, id, server, sessions+i%2) // the least of a server's sources counts
	}
	session(t, pool, server, sources...)
	outstanding := func(tx pg.Querier) (n int, err error) {
		err = tx.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM control.job WHERE server = $1) + (SELECT count(*) FROM control.poll WHERE server = $1 AND state = 'running')", server).Scan(&n)
		return n, err
	}
	var wg sync.WaitGroup
	polls, jobs := make([]int, members), make([]int, members)
	for m := range members {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(m), 7))
			for range 40 {
				if rng.IntN(2) == 0 {
					p, ok, err := control.TakePoll(t.Context(), pool, fmt.Sprint(m), nil, noon, time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					if !ok {
						continue
					}
					polls[m]++
					n, err := outstanding(pool)
					if err != nil || n > sessions {
						t.Errorf("%d sessions outstanding of %d (%v)", n, sessions, err)
					}
					if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
						if err := control.CheckPoll(t.Context(), tx, p); err != nil {
							return err
						}
						return control.EndPoll(t.Context(), tx, p, "complete", "", "", noon)
					}); err != nil {
						t.Error(err)
					}
					continue
				}
				given := ""
				err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
					credits, err := control.Credits(t.Context(), tx, noon)
					if err != nil || credits[server] <= 0 {
						return err
					}
					given = uuid.NewString()
					if err := control.AddJob(t.Context(), tx, given, server, sources[0], 1, noon, schemas.Record{Value: []byte{1}}); err != nil {
						return err
					}
					n, err := outstanding(tx)
					if err == nil && n > sessions {
						t.Errorf("%d sessions outstanding of %d", n, sessions)
					}
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				if given != "" {
					jobs[m]++
					if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return control.JobNews(t.Context(), tx, map[string]int{given: 1}) }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range polls {
		sum += n
	}
	if sum != len(sources) {
		t.Errorf("%d polls were taken of %d", sum, len(sources))
	}
}

func TestPollsAndJobsShareTheCredit(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 2)
	source(t, pool, "b", "host:22", 5)
	source(t, pool, "elsewhere", "other:22", 1)
	credit := func() map[string]int {
		var out map[string]int
		inTx(t, pool, func(tx pgx.Tx) (err error) {
			out, err = control.Credits(t.Context(), tx, noon)
			return err
		})
		return out
	}
	if c := credit(); c["host:22"] != 2 || c["other:22"] != 1 {
		t.Fatalf("credit is %v", c)
	}
	session(t, pool, "host:22", "a", "b")
	if c := credit(); c["host:22"] != 0 || c["other:22"] != 1 {
		t.Fatalf("with two due polls, which go before jobs, credit is %v", c)
	}
	first := job(t, pool, "host:22", 2)
	if _, ok := take(t, pool, "m"); !ok {
		t.Fatal("the second session is free, but no poll gets it")
	}
	if _, ok := take(t, pool, "m"); ok {
		t.Fatal("a third session is opened")
	}
	inTx(t, pool, func(tx pgx.Tx) error { return control.JobNews(t.Context(), tx, map[string]int{first: 1}) })
	if _, ok := take(t, pool, "m"); ok {
		t.Fatal("a job gives its credit back before its last outcome")
	}
	if yes, err := control.JobOutstanding(t.Context(), pool, first); err != nil || !yes {
		t.Fatalf("the job is outstanding: %v, %v", yes, err)
	}
	inTx(t, pool, func(tx pgx.Tx) error { return control.JobNews(t.Context(), tx, map[string]int{first: 1}) })
	if yes, err := control.JobOutstanding(t.Context(), pool, first); err != nil || yes {
		t.Fatalf("the job is outstanding after its last outcome: %v, %v", yes, err)
	}
	if _, ok := take(t, pool, "m"); !ok {
		t.Fatal("the job's credit does not come back")
	}
	if c := credit(); c["host:22"] != 0 {
		t.Fatalf("credit is %v", c)
	}
	if yes, err := control.JobOutstanding(t.Context(), pool, uuid.NewString()); err != nil || yes {
		t.Fatalf("a job that never was is outstanding: %v, %v", yes, err)
	}
}

// A session that a downloader holds counts beside its job's credit only once
// the job has ended, until it is given up or has run out.
func TestAHeldSessionKeepsItsCredit(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 2)
	free := func() int {
		var out map[string]int
		inTx(t, pool, func(tx pgx.Tx) (err error) {
			out, err = control.Credits(t.Context(), tx, noon)
			return err
		})
		return out["host:22"]
	}
	id := job(t, pool, "host:22", 1)
	_, end, err := control.HoldSession(t.Context(), pool, id, "host:22", "member", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if n := free(); n != 1 {
		t.Errorf("%d sessions are free beside the one of the job", n)
	}
	inTx(t, pool, func(tx pgx.Tx) error { return control.JobNews(t.Context(), tx, map[string]int{id: 1}) })
	if n := free(); n != 1 {
		t.Errorf("%d sessions are free while that of the ended job is open", n)
	}
	end()
	if n := free(); n != 2 {
		t.Errorf("%d sessions are free when all are closed", n)
	}
	_, dead, err := control.HoldSession(t.Context(), pool, id, "host:22", "dead", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer dead()
	exec(t, pool, "UPDATE control.job_session SET lease_until = clock_timestamp() - interval '1 second'")
	if n := free(); n != 2 {
		t.Errorf("%d sessions are free when a dead member's has run out", n)
	}
}

// A job has one session at a time, whoever works on it: a second member gets it
// when the first gives it up, or was not heard of for its lease, and the first
// then learns that it has lost it.
func TestAJobHasOneSession(t *testing.T) {
	pool := database(t)
	id := uuid.NewString()
	held, end, err := control.HoldSession(t.Context(), pool, id, "host:22", "one", 6*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := control.HoldSession(t.Context(), pool, id, "host:22", "two", time.Hour); !errors.Is(err, control.ErrSessionElsewhere) {
		t.Fatalf("two members have a session of one job: %v", err)
	}
	// A member that can't renew for its lease, seen from the other's side.
	exec(t, pool, "UPDATE control.job_session SET session = gen_random_uuid(), holder = 'two', lease_until = clock_timestamp() + interval '1 hour'")
	select {
	case <-held.Done():
	case <-time.After(wait.Patience()):
		t.Fatal("a member whose session was taken over goes on")
	}
	if err := context.Cause(held); !errors.Is(err, control.ErrSessionElsewhere) {
		t.Errorf("it stops because of %v", err)
	}
	end()
	if got := text(t, pool, "SELECT holder FROM control.job_session"); got != "(two)" {
		t.Errorf("the first member's end has taken the session from the second: %s", got)
	}
	exec(t, pool, "UPDATE control.job_session SET lease_until = clock_timestamp() - interval '1 second'")
	_, end, err = control.HoldSession(t.Context(), pool, id, "host:22", "three", time.Hour)
	if err != nil {
		t.Fatalf("a session that has run out: %v", err)
	}
	end()
	_, end, err = control.HoldSession(t.Context(), pool, id, "host:22", "four", time.Hour)
	if err != nil {
		t.Fatalf("a session that was given up: %v", err)
	}
	end()
}

// A session begun while the database is away counts soon after it is back: the
// job's last outcome may be read then.
func TestASessionBegunWithoutADatabaseIsCounted(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 1)
	exec(t, pool, "ALTER TABLE control.job_session RENAME TO away")
	_, end, err := control.HoldSession(t.Context(), pool, uuid.NewString(), "host:22", "member", time.Minute)
	if err != nil {
		t.Fatalf("without a database the job does not go on: %v", err)
	}
	exec(t, pool, "ALTER TABLE control.away RENAME TO job_session")
	free := func() (n int) {
		inTx(t, pool, func(tx pgx.Tx) error {
			out, err := control.Credits(t.Context(), tx, noon)
			n = out["host:22"]
			return err
		})
		return n
	}
	for begun := time.Now(); free() != 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > wait.Patience() {
			t.Fatal("the session is not counted once the database is back")
		}
	}
	end()
	if n := free(); n != 1 {
		t.Errorf("%d sessions are free when all are closed", n)
	}
}

// A source that is due again and again comes after all that have waited since
// before, so that no source waits for ever where members can't keep up.
func TestTheOldestSessionIsPolledFirst(t *testing.T) {
	pool := database(t)
	var sources []string
	for n := range 20 {
		id := fmt.Sprint("s", n)
		source(t, pool, id, id+":22", 1)
		session(t, pool, id+":22", id)
		sources = append(sources, id)
	}
	for n := range sources {
		p, ok := take(t, pool, "m")
		if want := sources[n]; !ok || p.Source != want {
			t.Fatalf("%s was polled in place of %s, which has waited for longer", p.Source, want)
		}
		inTx(t, pool, func(tx pgx.Tx) error { return control.EndPoll(t.Context(), tx, p, "complete", "", "", noon) })
		session(t, pool, p.Source+":22", p.Source)
	}
}

// A poll is taken as its source is defined then, where it is then: nobody takes one
// of a server that is full, or of a source that is not defined or not polled.
func TestAPollIsTakenAsItsSourceIsDefined(t *testing.T) {
	for name, tt := range map[string]struct {
		change string
		full   []string
		want   string // server and definition; empty: not taken
	}{
		"as it was":          {"", []string{"other:22"}, `host:22 {"id": "a"}`},
		"its server is full": {"", []string{"other:22", "host:22"}, ""},
		"defined otherwise":  {`SET definition = '{"id": "a", "max_sessions": 2}'`, nil, `host:22 {"id": "a", "max_sessions": 2}`},
		"moved":              {"SET server = 'other:22'", []string{"host:22"}, `other:22 {"id": "a"}`},
		"moved to one full":  {"SET server = 'other:22'", []string{"other:22"}, ""},
		"not defined":        {"SET definition = '{}'", nil, ""},
		"suspended":          {"SET state = 'suspended'", nil, `host:22 {"id": "a"}`},
		"in maintenance":     {"SET state = 'maintenance'", nil, ""},
		"removed":            {"SET state = 'removed'", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pool := database(t)
			source(t, pool, "a", "host:22", 1)
			session(t, pool, "host:22", "a")
			if tt.change != "" {
				exec(t, pool, "UPDATE control.source "+tt.change)
			}
			p, ok, err := control.TakePoll(t.Context(), pool, "m", tt.full, noon, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(p.Server + " " + p.Definition); got != tt.want || ok != (tt.want != "") {
				t.Errorf("taken is %q, want %q", got, tt.want)
			}
			if kept := text(t, pool, "SELECT server FROM control.poll"); ok && kept != "("+p.Server+")" {
				t.Errorf("it is counted at %s", kept)
			}
		})
	}
}

func TestASilentPollIsTakenOver(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 1)
	session(t, pool, "host:22", "a")
	first, ok := take(t, pool, "one")
	if !ok || first.Epoch != 1 || first.Attempts != 1 || !first.StartedAt.Equal(noon) {
		t.Fatalf("poll is %+v", first)
	}
	if _, ok := take(t, pool, "two"); ok {
		t.Fatal("a poll that is alive is taken over")
	}
	exec(t, pool, "UPDATE control.poll SET lease_until = clock_timestamp() - interval '1 second'")
	second, ok := take(t, pool, "two")
	if !ok || second.Epoch != 2 || second.ID != first.ID {
		t.Fatalf("poll is %+v", second)
	}
	for name, err := range map[string]error{
		"renew": control.RenewPoll(t.Context(), pool, first, time.Hour),
		"write": pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return control.CheckPoll(t.Context(), tx, first) }),
	} {
		if !errors.Is(err, pg.ErrLeaseLost) {
			t.Errorf("%s of the member that lost it: %v", name, err)
		}
	}
	if err := control.PostponePoll(t.Context(), pool, first, noon, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := text(t, pool, "SELECT state, holder FROM control.poll"); got != "(running,two)" {
		t.Errorf("poll is %s", got)
	}
	if err := control.RenewPoll(t.Context(), pool, second, time.Hour); err != nil {
		t.Error(err)
	}
}

// Two polls that end at the same moment end their session's polls once.
func TestASessionsLastPollsEndAtOnce(t *testing.T) {
	pool := database(t)
	for i := range 6 {
		source(t, pool, fmt.Sprint("s", i), "host:22", 6)
	}
	for range 5 {
		id := session(t, pool, "host:22", "s0", "s1", "s2", "s3", "s4", "s5")
		var polls []control.Poll
		for range 6 {
			p, ok := take(t, pool, "m")
			if !ok {
				t.Fatal("no poll")
			}
			polls = append(polls, p)
		}
		end := func(p control.Poll) error {
			return pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
				if err := control.CheckPoll(t.Context(), tx, p); err != nil {
					return err
				}
				return control.EndPoll(t.Context(), tx, p, "complete", "", "", noon)
			})
		}
		for _, p := range polls[:3] {
			if err := end(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := text(t, pool, "SELECT polls_ended_at IS NULL FROM control.session WHERE id = $1", id); got != "(t)" {
			t.Fatal("the polls have ended before the last one")
		}
		var wg sync.WaitGroup
		for _, p := range polls[3:] {
			wg.Go(func() {
				if err := end(p); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := text(t, pool, "SELECT polls_ended_at IS NOT NULL FROM control.session WHERE id = $1", id); got != "(t)" {
			t.Fatal("all polls have ended, the session does not know")
		}
	}
}

// The second of two polls ends while the first one's end is not committed.
func TestTheLastPollEndsBeforeTheOthersEndIsCommitted(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 2)
	source(t, pool, "b", "host:22", 2)
	session(t, pool, "host:22", "a", "b")
	first, _ := take(t, pool, "m")
	second, _ := take(t, pool, "m")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if err := control.EndPoll(t.Context(), tx, first, "complete", "", "", noon); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return control.EndPoll(t.Context(), tx, second, "complete", "", "", noon) })
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(wait.Patience())
	for waits := false; !waits && len(ended) == 0; {
		select {
		case <-deadline:
			t.Fatal("the second poll neither waits nor ends")
		case <-tick.C:
		}
		waits = text(t, pool, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == "(1)"
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := text(t, pool, "SELECT polls_ended_at IS NOT NULL FROM control.session"); got != "(t)" {
		t.Error("all polls have ended, the session does not know")
	}
}

// What has had no news for its budget is requested again, once per budget,
// with the same bytes and headers.
func TestSilentThingsAreRequestedAgain(t *testing.T) {
	pool := database(t)
	source(t, pool, "src", "host:22", 5)
	id := session(t, pool, "host:22", "src")
	quiet := job(t, pool, "host:22", 1)
	lively := job(t, pool, "host:22", 1)
	name, date, inc := "H.2026-01-02.1.impc.zip", "2026-01-02", int64(1)
	file, centre := schemas.FileID("add", name), "H"
	p, _ := take(t, pool, "m")
	inTx(t, pool, func(tx pgx.Tx) error {
		_, err := control.Record(t.Context(), tx, p, noon, []control.Sighting{{File: file, Name: name, Action: "add", Centre: &centre, FileDate: &date, FileInc: &inc, Look: 1, Size: 9,
			ListedAt: noon, Settled: true, Class: "announced", Event: []byte("look \x00\xff"), Headers: []schemas.Header{{Key: "ce_id", Value: []byte("look")}}}})
		return err
	})
	received := &control.Acquisition{New: true, Run: schemas.LiveRun, File: file, Session: &id, Domain: "H", Source: "src", Look: 1, State: control.Wanted, NotBefore: noon}
	inTx(t, pool, func(tx pgx.Tx) error {
		if err := control.StoreAcquisitions(t.Context(), tx, []*control.Acquisition{received}); err != nil {
			return err
		}
		all, err := control.Acquisitions(t.Context(), tx, []string{file})
		if err != nil {
			return err
		}
		a := all[0]
		a.Changed, a.State, a.LastEvent, a.LastHeaders = true, control.Received, []byte("fetched \x00\xff"), []schemas.Header{{Key: "ce_id", Value: []byte("fetched")}}
		if err := control.StoreAcquisitions(t.Context(), tx, all); err != nil {
			return err
		}
		// A later change keeps the event.
		a.State, a.LastEvent, a.LastHeaders = control.Extracted, nil, nil
		return control.StoreAcquisitions(t.Context(), tx, all)
	})
	exec(t, pool, "UPDATE control.look SET announced_at = $1", noon)
	exec(t, pool, "UPDATE control.job SET news_at = $1 WHERE id = $2", noon, quiet)
	exec(t, pool, "UPDATE control.acquisition SET news_at = $1", noon)

	silent := func(since time.Time) map[string]schemas.Record {
		out := map[string]schemas.Record{}
		inTx(t, pool, func(tx pgx.Tx) error {
			records, err := control.Silent(t.Context(), tx, since, 100)
			for _, r := range records {
				out[string(r.Headers[0].Value)] = r
			}
			return err
		})
		return out
	}
	if got := silent(noon); len(got) != 0 {
		t.Fatalf("within its budget %v", got)
	}
	got := silent(noon.Add(time.Second))
	want := map[string]schemas.Record{
		"look":              {Topic: schemas.FileDiscoveredTopic, Key: file, Value: []byte("look \x00\xff")},
		"event of " + quiet: {Topic: schemas.DownloadRequestedTopic, Key: quiet, Value: []byte("job " + quiet)},
		"fetched":           {Topic: schemas.DownloadFinishedTopic, Key: file, Value: []byte("fetched \x00\xff")},
	}
	if len(got) != len(want) {
		t.Fatalf("%d events are repeated: %v", len(got), got)
	}
	for id, w := range want {
		g := got[id]
		if g.Topic != w.Topic || g.Key != w.Key || string(g.Value) != string(w.Value) {
			t.Errorf("%s: repeated as %+v", id, g)
		}
	}
	if again := silent(noon.Add(time.Second)); len(again) != 0 {
		t.Errorf("repeated twice in one budget: %v", again)
	}
	if all := silent(time.Now().Add(time.Hour)); len(all) != 4 {
		t.Errorf("after another budget %d of 4, with %s", len(all), lively)
	}
}

func TestSourcesAsConfigured(t *testing.T) {
	pool := database(t)
	base := control.Source{ID: "a", Centre: "H", Server: "host:22", Protocol: "sftp", URL: "sftp://host/", State: "available", MaxSessions: 2, Interval: 90 * time.Second, Declared: true}
	put := func(s control.Source, revision int64) (changed bool) {
		inTx(t, pool, func(tx pgx.Tx) (err error) {
			if _, err := tx.Exec(t.Context(), "UPDATE control.counter SET value = $1 - 1 WHERE name = 'revision'", revision); err != nil {
				return err
			}
			changed, err = controltest.PutSource(t.Context(), tx, s)
			return err
		})
		return changed
	}
	state := func() string { return text(t, pool, "SELECT state, revision FROM control.source") }
	if !put(base, 1) || put(base, 2) {
		t.Error("a source is news once")
	}
	exec(t, pool, "UPDATE control.source SET state = 'suspended'")
	if put(base, 3) || state() != "(suspended,1)" {
		t.Errorf("a suspended source is %s", state())
	}
	changed := base
	changed.MaxSessions = 1
	if !put(changed, 4) || state() != "(suspended,4)" {
		t.Errorf("a suspended source with fewer sessions is %s", state())
	}
	// Who tells how else it is reached has mended it.
	moved := changed
	moved.AccessKey = "env:OTHER"
	exec(t, pool, "UPDATE control.source SET failed_polls = 9, suspended_at = now(), suspended_why = 'why', next_due = 'infinity'")
	if !put(moved, 5) || text(t, pool, "SELECT state, failed_polls, suspended_at, suspended_why, next_due FROM control.source") != `(available,0,,"",-infinity)` {
		t.Errorf("a suspended source with another key is %s", text(t, pool, "SELECT state, failed_polls, suspended_at, suspended_why, next_due FROM control.source"))
	}
	// So has who tells another key of the server, but not who changes anything else.
	exec(t, pool, `UPDATE control.source SET definition = '{"id": "a", "host_key": "old"}'`)
	for definition, want := range map[string]string{`{"id": "a", "host_key": "old", "interval": "1m", "hosts": "all", "server": "both"}`: "(suspended,5)", `{"id": "a", "host_key": "new"}`: "(available,5)"} {
		exec(t, pool, "UPDATE control.source SET state = 'suspended'")
		defined := moved
		defined.Definition = definition
		if !put(defined, 5) || state() != want {
			t.Errorf("a suspended source that is now %s is %s", definition, state())
		}
		exec(t, pool, `UPDATE control.source SET definition = '{"id": "a", "host_key": "old"}'`)
	}
	exec(t, pool, "UPDATE control.source SET definition = '{}'")
	// What control.restore knows of a source has no address.
	exec(t, pool, "UPDATE control.source SET state = 'suspended', url = ''")
	if !put(changed, 5) || state() != "(suspended,5)" {
		t.Errorf("a suspended source of a restored control is %s", state())
	}
	changed.State = "maintenance"
	if !put(changed, 5) || state() != "(maintenance,5)" {
		t.Errorf("in maintenance it is %s", state())
	}
	if !put(base, 6) || state() != "(available,6)" {
		t.Errorf("available again it is %s", state())
	}
	var gone []control.Source
	remove := func() {
		inTx(t, pool, func(tx pgx.Tx) (err error) {
			gone, err = control.RemoveSources(t.Context(), tx, []string{"b"}, 7)
			return err
		})
	}
	remove()
	if len(gone) != 1 || gone[0].ID != "a" || gone[0].State != "removed" || state() != "(removed,7)" {
		t.Errorf("removed %+v; it is %s", gone, state())
	}
	if remove(); len(gone) != 0 {
		t.Error("removed twice")
	}
	if !put(base, 8) || !strings.HasPrefix(state(), "(available") {
		t.Errorf("configured again it is %s", state())
	}
	inTx(t, pool, func(tx pgx.Tx) (err error) {
		gone, err = control.RemoveSources(t.Context(), tx, nil, 9)
		return err
	})
	if len(gone) != 1 || state() != "(removed,9)" {
		t.Errorf("with no source configured it is %s", state())
	}
}

func TestPendingCountsAllThatIsUnfinished(t *testing.T) {
	pool := database(t)
	pending := func() control.Unfinished {
		t.Helper()
		u, err := control.Pending(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if u := pending(); u.Any() {
		t.Fatalf("pending: %s", u)
	}
	if open, err := control.SessionOpen(t.Context(), pool); err != nil || open {
		t.Errorf("a session is open before any was opened: %v", err)
	}
	source(t, pool, "src", "host:22", 2)
	session(t, pool, "host:22", "src")
	if open, err := control.SessionOpen(t.Context(), pool); err != nil || !open {
		t.Errorf("no session is open: %v", err)
	}
	if u := pending(); !u.Any() || u.Polls != 1 || u.Sessions != 1 {
		t.Errorf("pending: %s", u)
	}
}
