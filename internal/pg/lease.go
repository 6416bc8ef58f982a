package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
)

// ErrLeaseLost says that another member holds the lease now. Whoever gets it
// stops what the lease allowed.
var ErrLeaseLost = errors.New("the lease is held by another member")

// Lease is the right of one member at a time to act. It is a row in
// <schema>.lease: name, holder, epoch, and when it was taken and expires by the
// database's clock. An epoch is given once; every write made under the lease checks it in its own
// transaction, so that a member that wakes up late changes nothing.
type Lease struct {
	Pool   *pgxpool.Pool
	Schema string
	Name   string
	Holder string        // who asks: host, process and role
	TTL    time.Duration // how long it holds without renewal
	// Renewed, if there is one, is told by Hold of when it asked for what it was
	// given: the lease, and each renewal.
	Renewed func(asked time.Time)
}

// LeaseDDL is the table that Lease needs; migrations include it with the
// schema's name.
const LeaseDDL = `CREATE TABLE %s.lease (
  name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL, expires_at timestamptz NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT now())`

// free tells of a lease l whether anybody may take it: it has expired, or was taken or
// renewed last when the clock was ahead, so that nobody knows when it should end. Who
// holds that one loses it, and finds that out. A minute is as much as clocks differ by
// when the database moves to another machine.
const free = "(l.expires_at < clock_timestamp() OR l.taken_at > clock_timestamp() + interval '1 minute')"

// Acquire takes the lease if it is free or expired and epoch is 0, or renews it
// if epoch is the current one. It returns the epoch held, or ErrLeaseLost. A
// renewal never takes what was lost: nobody would use the new epoch, and
// everybody would wait for its end.
func (l Lease) Acquire(ctx context.Context, epoch int64) (int64, error) {
	got, err := One(ctx, l.Pool, "lease "+l.Name, pgx.RowTo[int64], `INSERT INTO `+l.Schema+`.lease AS l (name, holder, epoch, expires_at, taken_at)
		VALUES ($1, $2, 1, clock_timestamp() + $3::interval, clock_timestamp())
		ON CONFLICT (name) DO UPDATE SET holder = $2, expires_at = excluded.expires_at, taken_at = excluded.taken_at,
			epoch = CASE WHEN l.epoch = $4 AND l.holder = $2 THEN l.epoch ELSE l.epoch + 1 END
		WHERE (l.epoch = $4 AND l.holder = $2) OR ($4 = 0 AND `+free+`)
		RETURNING epoch`, l.Name, l.Holder, fmt.Sprintf("%d milliseconds", l.TTL.Milliseconds()), epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, ErrLeaseLost
	}
	return got, err
}

// acquire is Acquire that tells of it.
func (l Lease) acquire(ctx context.Context, epoch int64) (int64, error) {
	asked := time.Now()
	got, err := l.Acquire(ctx, epoch)
	if err == nil && l.Renewed != nil {
		l.Renewed(asked)
	}
	return got, err
}

// Check fails with ErrLeaseLost unless epoch is still the lease's epoch; it
// locks the row until the transaction ends, so that nobody else acquires the
// lease before the write that it guards is committed.
func (l Lease) Check(ctx context.Context, tx pgx.Tx, epoch int64) error {
	_, err := One(ctx, tx, "lease "+l.Name, pgx.RowTo[int], "SELECT 1 FROM "+l.Schema+".lease WHERE name = $1 AND epoch = $2 FOR SHARE", l.Name, epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s: %w", l.Name, ErrLeaseLost)
	}
	return err
}

// Release gives the lease up at once, so that a successor need not wait for
// its expiry.
func (l Lease) Release(ctx context.Context, epoch int64) error {
	return Exec(ctx, l.Pool, "release lease "+l.Name, "UPDATE "+l.Schema+".lease SET expires_at = '-infinity' WHERE name = $1 AND epoch = $2", l.Name, epoch)
}

// Hold runs fn while the lease is held, renewing it every third of its TTL.
// When another member holds it, Hold waits. When it is lost, fn's context is
// cancelled with ErrLeaseLost as its cause, and Hold waits again. It returns
// when ctx ends, or with fn's error.
func (l Lease) Hold(ctx context.Context, fn func(ctx context.Context, epoch int64) error) error {
	tick := time.NewTicker(max(l.TTL/3, 50*time.Millisecond))
	defer tick.Stop()
	for {
		epoch, err := l.acquire(ctx, 0)
		if err == nil {
			err = l.hold(ctx, epoch, tick, fn)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Keep is Hold for ever: an error of fn, or of the database, is reported and
// the lease asked for again a second later. It returns when ctx ends.
func (l Lease) Keep(ctx context.Context, report func(error), fn func(ctx context.Context, epoch int64) error) {
	for ctx.Err() == nil {
		err := l.Hold(ctx, fn)
		if err == nil || ctx.Err() != nil {
			continue
		}
		report(err)
		_ = backoff.Sleep(ctx, time.Second)
	}
}

// giveUp releases the lease, within two seconds. It tries again when that fails:
// if all connections were cut, each is found out by its next use, and a lease that
// is not given up keeps everybody waiting until it expires, this member too.
func (l Lease) giveUp(ctx context.Context, epoch int64) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	for {
		err := l.Release(ctx, epoch)
		if err == nil {
			return nil
		}
		if backoff.Sleep(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

func (l Lease) hold(ctx context.Context, epoch int64, tick *time.Ticker, fn func(context.Context, int64) error) error {
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	result := make(chan error, 1)
	go func() { result <- fn(held, epoch) }()
	for {
		select {
		case err := <-result:
			if rerr := l.giveUp(ctx, epoch); rerr != nil && err == nil && ctx.Err() == nil {
				err = rerr
			}
			if errors.Is(context.Cause(held), ErrLeaseLost) {
				return ErrLeaseLost
			}
			return err
		case <-tick.C:
			// An unreachable database does not end the lease here: whoever
			// writes under it needs that database too, and checks the epoch.
			if _, err := l.acquire(ctx, epoch); errors.Is(err, ErrLeaseLost) {
				cancel(ErrLeaseLost)
			}
		}
	}
}

// LeaseState is a lease as its row shows it.
type LeaseState struct {
	Name   string
	Holder string // empty when nobody holds it now
	Epoch  int64
}

// Leases lists a schema's leases.
func Leases(ctx context.Context, q Querier, schema string) ([]LeaseState, error) {
	return List(ctx, q, "read leases of "+schema, pgx.RowToStructByPos[LeaseState],
		"SELECT name, CASE WHEN expires_at > clock_timestamp() THEN holder ELSE '' END, epoch FROM "+schema+".lease ORDER BY name")
}
