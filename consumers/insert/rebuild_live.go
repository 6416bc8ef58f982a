package insert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/sql/beside"
	"tributary/sql/warehouse"
)

// takeover is the live warehouse while a rebuild holds insert's lease.
type takeover struct {
	lease pg.Lease
	epoch int64
	at    int64          // its next position
	due   map[int64]bool // its batch ends that are due
	end   func()         // gives the lease up; may be called twice
}

// finish takes insert's lease, applies what is left, and calls end. Members that
// insert stop meanwhile, and go on afterwards; if this process dies, when the
// lease has expired.
func (r *Rebuild) finish(ctx context.Context, db *pgxpool.Conn, end func(context.Context, *takeover) error) error {
	live, err := r.takeOverLease(ctx)
	if err != nil {
		return err
	}
	if live == nil {
		return end(ctx, nil)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	live.keep(ctx, stop, r.log())
	defer live.end()
	if err := r.follow(ctx, db, r.within(live.at-1), live.due); err != nil {
		return err
	}
	if err := end(ctx, live); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return errors.Join(cause, err)
		}
		return err
	}
	return nil
}

// takeOverLease takes insert's lease over, from whoever has it, and reads where the live
// warehouse stands then; nil if there is none.
func (r *Rebuild) takeOverLease(ctx context.Context) (*takeover, error) {
	there, err := warehouse.Exists(ctx, r.In.deps.Pool, warehouse.Schema)
	if err == nil && !there && !r.report.Lost {
		err = errors.New("the warehouse was dropped while it was rebuilt: rebuild once more")
	}
	if err != nil || !there {
		return nil, err
	}
	t := &takeover{lease: r.In.lease(), due: map[int64]bool{}}
	err = pg.InTx(ctx, r.In.deps.Pool, func(tx pgx.Tx) error {
		if err := warehouse.CompleteLease(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO warehouse.lease AS l (name, holder, epoch, expires_at, taken_at) VALUES ($1, $2, 1, clock_timestamp() + $3::interval, clock_timestamp())
			ON CONFLICT (name) DO UPDATE SET holder = $2, epoch = l.epoch + 1, expires_at = excluded.expires_at, taken_at = excluded.taken_at RETURNING epoch`,
			Stage, t.lease.Holder, fmt.Sprintf("%d milliseconds", t.lease.TTL.Milliseconds())).Scan(&t.epoch)
	})
	if err != nil {
		return nil, fmt.Errorf("take insert's lease: %w", err)
	}
	// From here on no other member's transaction is committed.
	if err := r.In.deps.Pool.QueryRow(ctx, "SELECT next_position FROM warehouse.state").Scan(&t.at); err != nil {
		return nil, fmt.Errorf("read the warehouse's position: %w", err)
	}
	positions, err := pg.List(ctx, r.In.deps.Pool, "read batch ends that are due", pgx.RowTo[int64], "SELECT position FROM warehouse.batch_end")
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		// What has been told is done: the live warehouse has only begun again.
		if r.published == nil || !r.published.ends.has(p) {
			t.due[p] = true
		}
	}
	return t, nil
}

// keep renews the lease until it is given up by end, and calls stop when it is
// lost.
func (t *takeover) keep(ctx context.Context, stop context.CancelCauseFunc, log *slog.Logger) {
	ending, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(t.lease.TTL/renewDivisor, 50*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ending:
				return
			case <-tick.C:
				if _, err := t.lease.Acquire(ctx, t.epoch); errors.Is(err, pg.ErrLeaseLost) {
					stop(fmt.Errorf("the rebuild was stopped or cut off for longer than insert's lease lasts, and nothing was swapped: %w", err))
					return
				}
			}
		}
	}()
	t.end = sync.OnceFunc(func() {
		close(ending)
		<-done
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.lease.Release(ctx, t.epoch); err != nil {
			log.Warn("insert's lease could not be given up; it expires by itself", "error", err)
		}
	})
}

// swap makes the schema Built the live one, if it stands where the live one does.
func (r *Rebuild) swap(ctx context.Context, conn *pgxpool.Conn, live *takeover) error {
	err := warehouse.Swap(ctx, conn, r.Profile, r.In.deps.Mapping, func(tx pgx.Tx) error {
		if live != nil {
			if err := live.lease.Check(ctx, tx, live.epoch); err != nil {
				return err
			}
			if r.at.position <= r.within(live.at-1) {
				return fmt.Errorf("the rebuilt warehouse is at position %d, the live one at %d", r.at.position, live.at)
			}
			_, err := tx.Exec(ctx, "UPDATE "+warehouse.Built+".state SET epoch = $1", live.epoch)
			return err
		}
		there, err := warehouse.Exists(ctx, tx, warehouse.Schema)
		if err == nil && there {
			err = errors.New("a member has begun the warehouse again meanwhile: rebuild once more")
		}
		return err
	})
	if err != nil {
		return err
	}
	r.progress(r.at.position - 1)
	r.log().Info("the rebuilt warehouse is the live one", "position", r.at.position-1, "rows", r.report.Rows)
	return nil
}

// compare compares the schema Built with the live one in one snapshot, for which
// insertion is held up; it goes on while rows are compared.
func (r *Rebuild) compare(ctx context.Context, conn *pgxpool.Conn, live *takeover, each func(warehouse.TableComparison) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var at int64
		if err := tx.QueryRow(ctx, "SELECT next_position FROM warehouse.state").Scan(&at); err != nil { // also takes the snapshot
			return fmt.Errorf("read the warehouse's position: %w", err)
		}
		if at != r.at.position {
			return fmt.Errorf("the rebuilt warehouse is at position %d, the live one at %d", r.at.position, at)
		}
		live.end()
		r.progress(at - 1)
		return beside.Look(ctx, r.In.deps.Pool, tx, func(by beside.Sight) error { return warehouse.Compare(ctx, by, each) })
	})
}
