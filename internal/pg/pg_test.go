package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/test/wait"
)

// database is a new database with the tables that this package needs in the
// schema s.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, ddl := range []string{"CREATE SCHEMA s", fmt.Sprintf(pg.OffsetsDDL, "s"), fmt.Sprintf(pg.LeaseDDL, "s")} {
		if _, err := pool.Exec(t.Context(), ddl); err != nil {
			t.Fatalf("%s: %v", ddl, err)
		}
	}
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestOffsetsMoveOnlyFromWhereTheyAre(t *testing.T) {
	pool := database(t)
	o := pg.Offsets{Schema: "s", Group: "g"}
	steps := []struct {
		from, to int64
		moved    bool
		after    int64
	}{
		{5, 7, true, 0}, // nothing was read yet, so it can't be at 5
		{0, 3, false, 3},
		{0, 3, true, 3}, // the same again
		{3, 3, false, 3},
		{3, 10, false, 10},
		{3, 12, true, 10},
		{11, 12, true, 10},
	}
	for _, s := range steps {
		err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return o.Advance(t.Context(), tx, "topic", 1, s.from, s.to) })
		if errors.Is(err, pg.ErrMoved) != s.moved || err != nil && !s.moved {
			t.Fatalf("from %d to %d: %v", s.from, s.to, err)
		}
		got, err := o.Load(t.Context(), pool, "topic", 1)
		if err != nil || got != s.after {
			t.Fatalf("after %d to %d: at %d, want %d (%v)", s.from, s.to, got, s.after, err)
		}
	}
	for _, other := range []struct {
		o         pg.Offsets
		topic     string
		partition int32
	}{{o, "topic", 2}, {o, "other", 1}, {pg.Offsets{Schema: "s", Group: "h"}, "topic", 1}} {
		if got, err := other.o.Load(t.Context(), pool, other.topic, other.partition); err != nil || got != 0 {
			t.Errorf("%+v is at %d (%v)", other, got, err)
		}
	}
}

// Of members that apply the same range at the same moment one succeeds,
// whether the partition was read before or not.
func TestOffsetsMoveForOneMember(t *testing.T) {
	pool := database(t)
	o := pg.Offsets{Schema: "s", Group: "g"}
	for _, from := range []int64{0, 10} {
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() {
				errs[i] = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return o.Advance(t.Context(), tx, "topic", 0, from, from+10) })
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, pg.ErrMoved):
				t.Errorf("from %d: %v", from, err)
			}
		}
		if won != 1 {
			t.Errorf("from %d: %d members moved the offset", from, won)
		}
	}
}

func TestALeaseHasOneHolder(t *testing.T) {
	pool := database(t)
	a := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "a", TTL: time.Hour}
	b := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "b", TTL: time.Hour}
	first, err := a.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(t.Context(), 0); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("a second holder: %v", err)
	}
	if again, err := a.Acquire(t.Context(), first); err != nil || again != first {
		t.Fatalf("renewed as %d of %d: %v", again, first, err)
	}
	if _, err := b.Acquire(t.Context(), first); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("renewed by another member: %v", err)
	}
	// Another process of the same name has no part in it.
	if _, err := a.Acquire(t.Context(), 0); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("a namesake: %v", err)
	}
	if err := a.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second, err := b.Acquire(t.Context(), 0)
	if err != nil || second <= first {
		t.Fatalf("after its release: epoch %d after %d, %v", second, first, err)
	}
	if _, err := a.Acquire(t.Context(), first); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("the old holder renews: %v", err)
	}
	exec(t, pool, "UPDATE s.lease SET expires_at = '-infinity'")
	if _, err := a.Acquire(t.Context(), first); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("the old holder renews what is nobody's now: %v", err)
	}
	third, err := a.Acquire(t.Context(), 0)
	if err != nil || third <= second {
		t.Fatalf("after its expiry: epoch %d after %d, %v", third, second, err)
	}
	// A late release of the past holder takes nothing away.
	if err := b.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(t.Context(), 0); !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("taken after a late release: %v", err)
	}
	err = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return b.Check(t.Context(), tx, second) })
	if !errors.Is(err, pg.ErrLeaseLost) {
		t.Fatalf("a write of the past holder: %v", err)
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return a.Check(t.Context(), tx, third) }); err != nil {
		t.Fatalf("a write of the holder: %v", err)
	}
}

// A lease that was taken by a clock which was ahead, and was set back since, is not waited
// for until then, and whoever holds it finds out that it is lost. One of another member
// that holds it for long by the clock as it is, is waited for.
func TestALeaseOfAClockThatWasAhead(t *testing.T) {
	pool := database(t)
	a := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "a", TTL: 10 * time.Second}
	b := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "b", TTL: time.Second}
	for _, ahead := range []string{"2 minutes", "1 hour", "1 day", "1 year"} {
		held, err := a.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, longer := range []string{"1 minute", "1 year", "infinity"} {
			exec(t, pool, "UPDATE s.lease SET expires_at = CASE $1 WHEN 'infinity' THEN 'infinity' ELSE now() + nullif($1, 'infinity')::interval END", longer)
			if _, err := b.Acquire(t.Context(), 0); !errors.Is(err, pg.ErrLeaseLost) {
				t.Fatalf("a lease of another member that expires in %s is taken: %v", longer, err)
			}
		}
		exec(t, pool, "UPDATE s.lease SET taken_at = taken_at + $1::interval", ahead)
		taken, err := b.Acquire(t.Context(), 0)
		if err != nil || taken <= held {
			t.Fatalf("ahead by %s: epoch %d after %d, %v", ahead, taken, held, err)
		}
		if _, err := a.Acquire(t.Context(), held); !errors.Is(err, pg.ErrLeaseLost) {
			t.Fatalf("ahead by %s, and it was taken by another: %v", ahead, err)
		}
		if err := b.Release(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
	}
}

// Nobody gets an expired lease while a write that it guards is not committed.
func TestAGuardedWriteKeepsTheLease(t *testing.T) {
	pool := database(t)
	a := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "a", TTL: time.Hour}
	b := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "b", TTL: time.Hour}
	epoch, err := a.Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "UPDATE s.lease SET expires_at = '-infinity'")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if err := a.Check(t.Context(), tx, epoch); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := b.Acquire(t.Context(), 0)
		got <- err
	}()
	until(t, "the other member waits for the row", func() bool {
		var waits int
		err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waits)
		return err == nil && waits == 1
	})
	select {
	case err := <-got:
		t.Fatalf("the lease was taken while it guards a write: %v", err)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatalf("after the commit: %v", err)
	}
}

// until asks again and again, at the pace of the database, until something is
// so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// Hold cancels its work when the lease is lost, takes it again when it can,
// and gives it back at the end.
func TestHold(t *testing.T) {
	pool := database(t)
	l := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "a", TTL: 150 * time.Millisecond}
	steal := func(t *testing.T) { // another member took it, and has it for an hour
		exec(t, pool, "UPDATE s.lease SET epoch = epoch + 1, holder = 'b', expires_at = clock_timestamp() + interval '1 hour'")
	}
	tests := []struct {
		name string
		lose func(t *testing.T)
	}{
		{"taken by another", steal},
		{"taken by another that is gone already", func(t *testing.T) {
			exec(t, pool, "UPDATE s.lease SET epoch = epoch + 1, holder = 'b', expires_at = '-infinity'")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			exec(t, pool, "DELETE FROM s.lease")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			started := make(chan int64, 16)
			causes := make(chan error, 16)
			ended := make(chan error, 1)
			go func() {
				ended <- l.Hold(ctx, func(ctx context.Context, epoch int64) error {
					started <- epoch
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return nil
				})
			}()
			first := receive(t, started)
			tt.lose(t)
			if cause := receive(t, causes); !errors.Is(cause, pg.ErrLeaseLost) {
				t.Fatalf("the work was cancelled because of %v", cause)
			}
			exec(t, pool, "UPDATE s.lease SET expires_at = '-infinity'")
			if second := receive(t, started); second <= first {
				t.Errorf("epoch %d after %d", second, first)
			}
			cancel()
			if cause := receive(t, causes); !errors.Is(cause, context.Canceled) {
				t.Errorf("at the end the cause is %v", cause)
			}
			if err := receive(t, ended); err != nil {
				t.Errorf("Hold: %v", err)
			}
			b := pg.Lease{Pool: pool, Schema: "s", Name: "l", Holder: "b", TTL: time.Hour}
			if _, err := b.Acquire(t.Context(), 0); err != nil {
				t.Errorf("a successor has to wait: %v", err)
			}
		})
	}
	t.Run("an error of the work", func(t *testing.T) {
		exec(t, pool, "DELETE FROM s.lease")
		boom := errors.New("boom")
		if err := l.Hold(t.Context(), func(context.Context, int64) error { return boom }); !errors.Is(err, boom) {
			t.Errorf("Hold: %v", err)
		}
	})
	t.Run("one at a time", func(t *testing.T) {
		exec(t, pool, "DELETE FROM s.lease")
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		holders, turns := 0, 0
		enough := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 3 {
			m := l
			m.Holder, m.TTL = fmt.Sprint("member ", i), 3*time.Second // for which a busy machine may keep it from its write
			wg.Go(func() {
				for ctx.Err() == nil {
					err := m.Hold(ctx, func(ctx context.Context, epoch int64) error {
						mu.Lock()
						defer mu.Unlock()
						holders++
						if holders > 1 {
							t.Error("two members hold the lease")
						}
						if turns++; turns == 6 {
							close(enough)
						}
						err := pg.InTx(ctx, pool, func(tx pgx.Tx) error { return m.Check(ctx, tx, epoch) })
						holders--
						if err != nil && ctx.Err() == nil {
							t.Errorf("the holder's write: %v", err)
						}
						return errors.New("enough for now")
					})
					if err == nil && ctx.Err() == nil {
						t.Error("Hold returned without a reason")
					}
				}
			})
		}
		receive(t, enough)
		cancel()
		wg.Wait()
	})
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(wait.Patience()):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

func TestMigrateByManyAtOnce(t *testing.T) {
	dsn := enginetest.Postgres(t)
	fsys := fstest.MapFS{
		"00001_one.sql": {Data: []byte("-- +goose Up\nCREATE TABLE many.one (a int);\nINSERT INTO many.one VALUES (1);\n")},
		"00002_two.sql": {Data: []byte("-- +goose Up\nINSERT INTO many.one VALUES (2);\n")},
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			pool, err := pg.Open(t.Context(), dsn, "test", 4)
			if err != nil {
				errs[i] = err
				return
			}
			defer pool.Close()
			errs[i] = pg.Migrate(t.Context(), pool, "many", fsys)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM many.one").Scan(&n); err != nil || n != 2 {
		t.Fatalf("%d rows: %v", n, err)
	}
}

func TestAMigrationThatFailsSaysWhich(t *testing.T) {
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	good := fstest.MapFS{"00001_one.sql": {Data: []byte("-- +goose Up\nCREATE TABLE s1.one (a int);\n")}}
	bad := fstest.MapFS{"00001_one.sql": good["00001_one.sql"], "00002_two.sql": {Data: []byte("-- +goose Up\nCREATE TABLE s1.two (b int);\nSELECT nonsense;\n")}}
	if err := pg.Migrate(t.Context(), pool, "s1", bad); err == nil {
		t.Fatal("it succeeded")
	}
	var one, two bool
	if err := pool.QueryRow(t.Context(), "SELECT to_regclass('s1.one') IS NOT NULL, to_regclass('s1.two') IS NOT NULL").Scan(&one, &two); err != nil || !one || two {
		t.Fatalf("one %v, two %v: %v", one, two, err)
	}
}

// Text that strangers wrote goes into Postgres, which refuses NUL.
func TestTextIsFitForPostgres(t *testing.T) {
	pool := database(t)
	for _, text := range []string{"plain", "a\x00b", `a\u0000b`, `a\\u0000` + "\x00", "broken \xff utf-8", "line\nend\t\"quoted\" \\", "\u2028 <&> ü"} {
		var got string
		rows := pg.JSON([]struct {
			T string `json:"t"`
		}{{text}})
		if err := pool.QueryRow(t.Context(), "SELECT t FROM jsonb_to_recordset($1) AS r(t text)", rows).Scan(&got); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := ""
		for _, r := range text {
			if r == 0 {
				r = '\uFFFD'
			}
			want += string(r)
		}
		if got != want {
			t.Errorf("%q came back as %q", text, got)
		}
		if err := pool.QueryRow(t.Context(), "SELECT $1::text", pg.Text(text)).Scan(&got); err != nil || got != want {
			t.Errorf("%q came back as %q: %v", text, got, err)
		}
	}
}

func TestOpenDoesNotConnect(t *testing.T) {
	pool, err := pg.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	pool.Close()
	if _, err := pg.Open(t.Context(), "postgres://%zz", "test", 2); err == nil {
		t.Error("an address that is none is accepted")
	}
}

func TestTopicsAreToldApartByTheirIDs(t *testing.T) {
	pool := database(t)
	exec(t, pool, "CREATE TABLE s.consumed_topic (consumer_group text NOT NULL, topic text NOT NULL, topic_id uuid NOT NULL, PRIMARY KEY (consumer_group, topic))")
	o, other := pg.Offsets{Schema: "s", Group: "g"}, pg.Offsets{Schema: "s", Group: "h"}
	first, second, third := pg.TopicID{1}, pg.TopicID{2}, pg.TopicID{3}
	is := func(o pg.Offsets, given, want pg.TopicID) {
		t.Helper()
		if got, err := o.TopicID(t.Context(), pool, "t", given); err != nil || got != want {
			t.Errorf("id %v, %v; want %v", got, err, want)
		}
	}
	at := func(want int64) {
		t.Helper()
		if got, err := o.Load(t.Context(), pool, "t", 0); err != nil || got != want {
			t.Errorf("offset %d, %v; want %d", got, err, want)
		}
	}
	startOver := func(from, to pg.TopicID) {
		t.Helper()
		if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { return o.StartOver(t.Context(), tx, "t", from, to) }); err != nil {
			t.Fatal(err)
		}
	}
	is(o, first, first)
	is(o, second, first)
	is(other, second, second)
	if err := o.Advance(t.Context(), pool, "t", 0, 0, 7); err != nil {
		t.Fatal(err)
	}
	startOver(third, second) // another member was faster, with another id
	is(o, third, first)
	at(7)
	startOver(first, second)
	is(o, third, second)
	at(0)
}

// Postgres ends a transaction whose client says nothing, after a minute or what the
// address says.
func TestIdleTransactionsEnd(t *testing.T) {
	dsn := enginetest.Postgres(t)
	for more, want := range map[string]string{"": "1min", "&idle_in_transaction_session_timeout=7s": "7s"} {
		pool, err := pg.Open(t.Context(), dsn+more, "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		var got string
		if err := pool.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got); err != nil || got != want {
			t.Errorf("%q: idle transactions end after %q (%v), want %q", more, got, err, want)
		}
	}
}
