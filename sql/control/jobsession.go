package control

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// holdTimeout bounds each word of a session to the database, its farewell too;
// a session whose farewell fails runs out.
const holdTimeout = 2 * time.Second

// HoldSession says that a member is about to open a session for a job. The
// session counts against its server's credit from then on, also when the
// job's last outcome is read meanwhile, until end is called or, if the member
// dies, ttl has passed. Whoever asks afterwards whether the job is outstanding
// and is told so may connect. An error says that the session is not counted
// yet. Without a database no credit is given either, but once it is back the
// job may be found to have ended: so it is told every second until it has
// heard, and end, which is never nil, is to be called all the same.
func HoldSession(ctx context.Context, pool *pgxpool.Pool, job, server, holder string, ttl time.Duration) (end func(), err error) {
	const hold = `INSERT INTO control.job_session (job, holder, server, lease_until) VALUES ($1, $2, $3, clock_timestamp() + $4::interval)
		ON CONFLICT (job, holder) DO UPDATE SET lease_until = excluded.lease_until`
	renew := func(ctx context.Context) error {
		ctx, done := context.WithTimeout(ctx, holdTimeout)
		defer done()
		_, err := pool.Exec(ctx, hold, job, holder, server, interval(ttl))
		return err
	}
	err = renew(ctx)
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for heard := err == nil; ; heard = renew(keep) == nil {
			pause := ttl / 3
			if !heard {
				pause = min(pause, time.Second)
			}
			select {
			case <-keep.Done():
				return
			case <-time.After(pause):
			}
		}
	})
	end = func() {
		cancel()
		renewing.Wait()
		farewell, done := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
		defer done()
		// What dead members left goes with it.
		_, _ = pool.Exec(farewell, `DELETE FROM control.job_session WHERE (job = $1 AND holder = $2) OR lease_until < clock_timestamp() - interval '1 minute'`, job, holder)
	}
	if err != nil {
		return end, fmt.Errorf("hold a session of job %s: %w", job, err)
	}
	return end, nil
}
