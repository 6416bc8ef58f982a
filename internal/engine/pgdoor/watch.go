package pgdoor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/backoff"
	"tributary/internal/pg"
)

// Bounds of transactions, which a session can't lift.
const (
	// maxTransaction is how long one may last: Postgres keeps for it what others
	// delete meanwhile.
	maxTransaction = 20 * time.Minute
	// maxIdle is how long one may be open in which nothing is asked.
	maxIdle = time.Minute
	// maxBlocking is how long one may stand in somebody's way who is no reader.
	maxBlocking = 10 * time.Second
	// watchEvery is how often they are looked at.
	watchEvery = time.Second
)

// limits are the bounds in time that a door holds.
type limits struct{ login, transaction, idle, blocking, look time.Duration }

// watch ends sessions of the reader that go beyond their limits, and confines the
// processes that help them.
type watch struct {
	dsn      string
	limits   limits
	log      *slog.Logger
	served   func() int // how many sessions there are
	confined map[int]bool
}

func newWatch(o Options, served func() int) *watch {
	return &watch{dsn: o.DSN, limits: o.limits, log: o.Logger, served: served, confined: map[int]bool{}}
}

// run looks again and again until ctx ends.
func (w *watch) run(ctx context.Context) {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	failed := false
	for range backoff.Every(ctx, w.limits.look) {
		if w.served() == 0 {
			continue
		}
		var err error
		if conn == nil || conn.IsClosed() {
			conn, err = pgx.Connect(ctx, w.dsn)
		}
		if err == nil {
			err = w.enforce(ctx, conn)
		}
		// While Postgres is down there are no sessions either.
		if err != nil && ctx.Err() == nil && !failed {
			w.log.Warn("sessions of readers can't be watched; trying again every second", "error", err)
		}
		failed = err != nil
	}
}

// process is one of Postgres' that works for the reader.
type process struct {
	Pid    int
	Helps  bool   // it works for another process
	Beyond string // which limit it is beyond; empty: none
}

// enforce ends what is beyond its limits, and confines what is new.
func (w *watch) enforce(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	found, err := pg.List(ctx, conn, "look at sessions", pgx.RowToStructByName[process], `SELECT a.pid, a.leader_pid IS NOT NULL AS helps, CASE
			WHEN a.leader_pid IS NOT NULL THEN ''
			WHEN a.xact_start < clock_timestamp() - $2::interval THEN 'its transaction took too long'
			WHEN a.state LIKE 'idle in transaction%' AND a.state_change < clock_timestamp() - $3::interval THEN 'its transaction was idle for too long'
			WHEN EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity o ON o.pid = l.pid
				WHERE NOT l.granted AND l.waitstart < clock_timestamp() - $4::interval AND o.usename IS DISTINCT FROM $1 AND a.pid = ANY (pg_blocking_pids(l.pid))) THEN 'others waited for its locks'
			ELSE '' END AS beyond
		FROM pg_stat_activity a WHERE a.usename = $1`, User, w.limits.transaction, w.limits.idle, w.limits.blocking)
	if err != nil {
		return err
	}
	confined := map[int]bool{}
	for _, p := range found {
		confined[p.Pid] = true
		if p.Helps && !w.confined[p.Pid] {
			// One that has ended meanwhile needs nothing any more.
			if err := confine(p.Pid); err != nil {
				w.log.Debug("a process of a reader", "error", err)
			}
		}
		if p.Beyond != "" {
			w.log.Info("ended a session of "+User, "why", p.Beyond, "pid", p.Pid)
			if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend($1) FROM pg_stat_activity WHERE pid = $1 AND usename = $2", p.Pid, User); err != nil {
				return fmt.Errorf("end a session: %w", err)
			}
		}
	}
	w.confined = confined
	return nil
}
