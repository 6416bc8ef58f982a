package control

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// endTimeout bounds the farewell of a session; one that fails runs out.
const endTimeout = 2 * time.Second

// HoldSession says that a member is about to open a session for a job. The
// session counts against its server's credit from then on, also when the
// job's last outcome is read meanwhile, until end is called or, if the member
// dies, ttl has passed. Whoever asks afterwards whether the job is outstanding
// and is told so may connect. Without a database the session is not counted:
// then no credit is given either.
func HoldSession(ctx context.Context, pool *pgxpool.Pool, job, server, holder string, ttl time.Duration) (end func(), err error) {
	const hold = `INSERT INTO control.job_session (job, holder, server, lease_until) VALUES ($1, $2, $3, clock_timestamp() + $4::interval)
		ON CONFLICT (job, holder) DO UPDATE SET lease_until = excluded.lease_until`
	renew := func(ctx context.Context) error {
		_, err := pool.Exec(ctx, hold, job, holder, server, interval(ttl))
		return err
	}
	if err := renew(ctx); err != nil {
		return func() {}, fmt.Errorf("hold a session of job %s: %w", job, err)
	}
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(ttl / 3)
		defer tick.Stop()
		for {
			select {
			case <-keep.Done():
				return
			case <-tick.C:
				_ = renew(keep) // a database that is away gives no credit
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
		farewell, done := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer done()
		// What dead members left goes with it.
		_, _ = pool.Exec(farewell, `DELETE FROM control.job_session WHERE (job = $1 AND holder = $2) OR lease_until < clock_timestamp() - interval '1 minute'`, job, holder)
	}, nil
}
