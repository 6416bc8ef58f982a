package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/pg"
)

// ErrSessionElsewhere says that another member has a session open for the job,
// or may have: it was heard of less than its lease ago.
var ErrSessionElsewhere = errors.New("another member has a session open for this job")

const (
	// takeTimeout bounds an attempt to hold a session: without a database the
	// job goes on.
	takeTimeout = 2 * time.Second
	// againEvery is the time between attempts until the first has succeeded.
	againEvery = time.Second
	// endTimeout bounds giving a session up; one that fails runs out.
	endTimeout = 2 * time.Second
)

// A session that has run out may be taken by another member, and only then. It is
// counted where its job is, whose row is locked meanwhile, since the record may say
// under which name the server was known before; and from then on where Relabel has it.
const takeSessionSQL = `WITH j AS (SELECT server, source, address FROM control.job WHERE id = $1 FOR SHARE)
	INSERT INTO control.job_session AS s (job, session, holder, server, source, address, lease_until)
	SELECT $1, $2, $3, coalesce(j.server, $4), coalesce(j.source, ''), coalesce(j.address, ''), clock_timestamp() + $5::interval FROM (SELECT) one LEFT JOIN j ON true
	ON CONFLICT (job) DO UPDATE SET session = excluded.session, holder = excluded.holder, lease_until = excluded.lease_until,
		deaths = s.deaths + CASE WHEN s.session = excluded.session THEN 0 ELSE 1 END
	WHERE s.session = excluded.session OR s.lease_until < clock_timestamp()`

// jobSession is a session that a member holds.
type jobSession struct {
	pool                    *pgxpool.Pool
	id, job, server, holder string
	ttl                     time.Duration
}

// HoldSession says that a member is about to open a session for a job, of which
// there is one at a time: the error is [ErrSessionElsewhere] while another
// member has it. Server is what the job's record says, for a job that has ended
// already. It counts against its server's credit from then on, also when
// the job's last outcome is read meanwhile, until end is called or, if the
// member dies, ttl has passed. Whoever asks afterwards whether the job is
// outstanding and is told so may connect. held ends with that error as its cause
// if another member takes the session over, which it can only if this one could
// not be renewed for ttl.
//
// A database that is away is no error: then no credit is given either, and the
// session is counted as soon as it is back.
func HoldSession(ctx context.Context, pool *pgxpool.Pool, job, server, holder string, ttl time.Duration) (held context.Context, end func(), err error) {
	s := &jobSession{pool: pool, id: uuid.NewString(), job: job, server: server, holder: holder, ttl: ttl}
	taken, err := s.acquire(ctx)
	if errors.Is(err, ErrSessionElsewhere) {
		return ctx, func() {}, err
	}
	held, lose := context.WithCancelCause(ctx)
	keep, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(keep, taken, lose) })
	return held, func() {
		stop()
		renewing.Wait()
		s.giveUp()
		lose(nil)
	}, nil
}

// acquire takes the session or renews it. taken is false without an answer of the
// database.
func (s *jobSession) acquire(ctx context.Context) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	tag, err := s.pool.Exec(ctx, takeSessionSQL, s.job, s.id, s.holder, s.server, interval(s.ttl))
	switch {
	case err != nil:
		return false, err
	case tag.RowsAffected() == 0:
		return false, ErrSessionElsewhere
	}
	return true, nil
}

// renew keeps the session until ctx ends or another member has it.
func (s *jobSession) renew(ctx context.Context, taken bool, lose context.CancelCauseFunc) {
	for {
		pause := s.ttl / 3
		if !taken {
			pause = min(pause, againEvery)
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
		var err error
		if taken, err = s.acquire(ctx); errors.Is(err, ErrSessionElsewhere) {
			lose(err)
			return
		}
	}
}

// SessionDeaths tells how often a job's session ran out before it was ended,
// because its member died or was cut off, and another one followed.
func SessionDeaths(ctx context.Context, q pg.Querier, job string) (n int, err error) {
	return pg.One(ctx, q, "ask for deaths of job "+job, pgx.RowTo[int], "SELECT coalesce((SELECT deaths FROM control.job_session WHERE job = $1), 0)", job)
}

// giveUp gives the session up, and with it what dead members left of jobs that
// have ended.
func (s *jobSession) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_, _ = s.pool.Exec(ctx, `DELETE FROM control.job_session WHERE (job = $1 AND session = $2) 
		OR lease_until < clock_timestamp() - interval '1 minute' AND NOT EXISTS (SELECT FROM control.job j WHERE j.id = job_session.job)`, s.job, s.id)
}
