package tracker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/pg"
	"tributary/test/wait"
)

// While the log grows, the tracker goes on and people read, rebuilds replace
// the rows: no query fails, none finds fewer rows than one before, and no
// member of the tracker stops. In the end all is what the log says.
func TestRebuildUnderWay(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 6)...)
	stop := s.run()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var wg sync.WaitGroup
	read := make([]atomic.Int64, 4)
	for i, sql := range []string{
		"SELECT count(*) FROM tracker.file", "SELECT count(*) FROM tracker.xml_file x JOIN tracker.zip_download d ON d.id = x.zip_id",
		"SELECT count(*) FROM tracker.document_error e JOIN tracker.document d USING (document)",
		"SELECT coalesce(sum(next_offset), 0)::bigint FROM tracker.consumed",
	} {
		// Statements are kept prepared, as pools do; the last reader looks
		// twice in one transaction.
		pool, err := pg.Open(t.Context(), s.pool.Config().ConnString(), "reader", 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		wg.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for before := int64(0); ctx.Err() == nil; read[i].Add(1) {
				<-tick.C
				var n, again int64
				err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
					if err := tx.QueryRow(t.Context(), sql).Scan(&n); err != nil || i < 3 {
						return err
					}
					return tx.QueryRow(t.Context(), "SELECT coalesce(sum(next_offset), 0)::bigint FROM tracker.consumed").Scan(&again)
				})
				if err != nil {
					t.Errorf("a reader failed: %s: %v", sql, err)
					return
				}
				if i != 2 && n < before || i == 3 && again < n {
					t.Errorf("rows went back: %s: %d, then %d, %d", sql, before, n, again)
				}
				before = n
			}
		})
	}
	// Logs of other seeds speak of the same files: rows change, too.
	var produced atomic.Int64
	wg.Go(func() {
		for n := 6; ctx.Err() == nil && n < 20; n++ {
			s.produce(logs(n, n+1)...)
			produced.Add(1)
		}
	})
	for n := range 2 {
		if n == 1 { // what a killed one leaves
			s.exec("CREATE SCHEMA IF NOT EXISTS tracker_rebuild; CREATE TABLE tracker_rebuild.xml_file (x int)")
		}
		if _, err := s.builder.Rebuild(t.Context()); err != nil {
			t.Error(err)
		}
		if v := s.verify(5); v.Differ != 0 {
			t.Errorf("after rebuild %d: %+v", n, v.Differences)
		}
	}
	for i := range read {
		n := read[i].Load()
		await(t, "every reader to read on", func() (bool, error) { return read[i].Load() > n+3 || t.Failed(), nil })
	}
	end()
	wg.Wait()
	s.caughtUp()
	stop()
	if v := s.verify(5); v.Differ != 0 || v.Records != s.ends() {
		t.Errorf("in the end: %+v", v)
	}
	if produced.Load() < 3 {
		t.Error("the log hardly grew meanwhile: the test shows nothing")
	}
}

// A rebuild that is killed, at whatever moment, leaves the tracker as it was,
// and can be run again.
func TestRebuildKilled(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 8)...)
	s.track()
	s.exec("UPDATE tracker.centre SET full_name = 'as it was'")
	want := dump(t, s.pool)
	// The connections are cut by the database, as when the process dies, once
	// the rebuild has come to the step; a kill in the last transaction too.
	for _, step := range []string{"building the rows", "building indexes", "putting them", ""} {
		t.Run(step, func(t *testing.T) {
			pool, err := pg.Open(t.Context(), s.pool.Config().ConnString(), "killed", 4)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			b := s.build(pool)
			killed := make(chan struct{})
			var once sync.Once
			kill := func() {
				once.Do(func() {
					s.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'killed'")
					close(killed)
				})
			}
			b.Told = func(p Progress) {
				if step != "" && strings.HasPrefix(p.Step, step) && (p.Total == 0 || p.Done > 0) {
					kill()
				}
			}
			if step == "" {
				// A reader keeps it in its last transaction.
				hold, err := s.pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer hold.Rollback(t.Context())
				if _, err := hold.Exec(t.Context(), "SELECT FROM tracker.centre"); err != nil {
					t.Fatal(err)
				}
				go func() {
					for deadline := time.Now().Add(wait.Patience()); time.Now().Before(deadline); {
						if waits, err := column(s.pool, "SELECT 'x' FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'killed' AND NOT granted"); err == nil && len(waits) > 0 {
							kill()
							return
						}
					}
				}()
			}
			if _, err := b.Rebuild(t.Context()); err == nil {
				t.Fatal("the rebuild was not killed: the test shows nothing")
			}
			<-killed
			if d := gocmp.Diff(want, dump(t, s.pool)); d != "" {
				t.Errorf("the tracker changed:\n%s", d)
			}
		})
	}
	if _, err := s.builder.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := s.verify(5); v.Differ != 0 {
		t.Errorf("after a whole one: %+v", v.Differences)
	}
	if left := s.leftovers(); left != "" {
		t.Errorf("schemas are left: %s", left)
	}
}

// A topic that was made anew stops the tracker; a rebuild is the way back.
func TestRebuildFromATopicMadeAnew(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 3)...)
	s.track()
	if _, err := kadm.NewClient(s.client).DeleteTopic(t.Context(), s.topic); err != nil {
		t.Fatal(err)
	}
	s.makeTopic()
	s.client.PurgeTopicsFromClient(s.topic)
	s.produce(logs(3, 6)...)
	r, err := s.builder.Rebuild(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "made anew") {
		t.Errorf("notes: %q", r.Notes)
	}
	s.produce(logs(6, 8)...)
	s.track()
	if v := s.verify(5); v.Differ != 0 || v.Records != s.ends() {
		t.Errorf("after the tracker went on: %+v", v)
	}
}

func TestRebuildOfALogWithoutItsBeginning(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 3)...)
	s.track()
	want := dump(t, s.pool)
	before := kadm.Offsets{}
	before.AddOffset(s.topic, 0, 2, -1)
	if _, err := kadm.NewClient(s.client).DeleteRecords(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if _, err := s.builder.Rebuild(t.Context()); !errors.Is(err, ErrLogCut) {
		t.Errorf("%v, want %v", err, ErrLogCut)
	}
	if d := gocmp.Diff(want, dump(t, s.pool)); d != "" {
		t.Errorf("the tracker changed:\n%s", d)
	}
}

// Rights stay, what people have made on top is not dropped silently, and two
// do not build at once.
func TestRebuildBesideWhatPeopleHave(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 2)...)
	s.track()
	role := "reader_" + fmt.Sprint(time.Now().UnixNano())
	s.exec("CREATE ROLE " + role)
	t.Cleanup(func() {
		ctx := context.Background()
		_, _ = s.pool.Exec(ctx, "DROP OWNED BY "+role)
		if _, err := s.pool.Exec(ctx, "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	s.exec("GRANT USAGE ON SCHEMA tracker TO " + role)
	s.exec("GRANT SELECT ON tracker.file, tracker.centre TO " + role)
	s.exec("GRANT SELECT (id) ON tracker.zip_log TO " + role)
	s.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA tracker GRANT SELECT ON TABLES TO " + role)
	s.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA tracker GRANT USAGE ON SEQUENCES TO " + role)
	s.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA tracker GRANT EXECUTE ON FUNCTIONS TO " + role)
	s.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA tracker GRANT USAGE ON TYPES TO " + role + " WITH GRANT OPTION")
	rights := func() []string {
		t.Helper()
		rows, err := s.pool.Query(t.Context(), "SELECT defaclobjtype::text || defaclacl::text FROM pg_default_acl WHERE defaclnamespace = 'tracker'::regnamespace ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		out, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(out) != 4 {
			t.Errorf("rights to what is made later: %v, %v", out, err)
		}
		return out
	}
	before := rights()
	s.exec("CREATE VIEW public.mine AS SELECT count(*) FROM tracker.file")
	_, err := s.builder.Rebuild(t.Context())
	if err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("beside a view that depends on it: %v", err)
	}
	s.exec("DROP VIEW public.mine; CREATE TABLE tracker.own (x int)")
	if _, err = s.builder.Rebuild(t.Context()); err == nil || !strings.Contains(err.Error(), "tracker.own") {
		t.Errorf("beside a table in its schema: %v", err)
	}
	s.exec("DROP TABLE tracker.own")
	if _, err := s.builder.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(before, rights()); d != "" {
		t.Errorf("rights to what is made later (-before +after):\n%s", d)
	}
	s.exec("CREATE TABLE tracker.later (x int)")
	for sql, allowed := range map[string]bool{
		"SELECT count(*) FROM tracker.file": true, "SELECT count(*) FROM tracker.centre": true, "SELECT id FROM tracker.zip_log": true, "SELECT FROM tracker.later": true,
		"SELECT message FROM tracker.zip_log": false, "SELECT FROM tracker.xml_file": false, "DELETE FROM tracker.centre": false,
	} {
		err := pg.InTx(t.Context(), s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
		var refused *pgconn.PgError
		if allowed != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Code != "42501") {
			t.Errorf("%s: %v", sql, err)
		}
	}

	s.exec("DROP TABLE tracker.later")
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", advisoryLock); err != nil {
		t.Fatal(err)
	}
	if _, err := s.builder.Verify(t.Context(), 1); !errors.Is(err, ErrBusy) {
		t.Errorf("beside another build: %v", err)
	}
}

// What the tracker is about to commit when it is replaced is in the new rows:
// nobody sees them go back.
func TestRebuildWaitsForTheTracker(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 3)...)
	s.track()
	var tx pgx.Tx
	var committed sync.WaitGroup
	s.builder.Told = func(p Progress) {
		if !strings.HasPrefix(p.Step, "putting them") {
			return
		}
		s.produce(logs(3, 5)...)
		listed, err := kadm.NewClient(s.client).ListEndOffsets(t.Context(), s.topic)
		if err != nil {
			t.Error(err)
			return
		}
		if tx, err = s.pool.Begin(t.Context()); err != nil {
			t.Error(err)
			return
		}
		listed.Each(func(o kadm.ListedOffset) {
			if _, err := tx.Exec(t.Context(), "UPDATE tracker.consumed SET next_offset = $1 WHERE partition = $2", o.Offset, o.Partition); err != nil {
				t.Error(err)
			}
		})
		committed.Go(func() {
			await(t, "the rebuild to wait", func() (bool, error) {
				waits, err := column(s.pool, "SELECT 'x' FROM pg_locks WHERE relation = 'tracker.consumed'::regclass AND NOT granted")
				return len(waits) > 0, err
			})
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	r, err := s.builder.Rebuild(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	committed.Wait()
	if tx == nil || r.Records != s.ends() {
		t.Errorf("built from %d records of %d", r.Records, s.ends())
	}
	s.builder.Told = nil
	if v := s.verify(5); v.Differ != 0 || v.Records != s.ends() {
		t.Errorf("afterwards: %+v", v)
	}
}
