package insert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/sql/beside"
	"tributary/sql/warehouse"
)

// A rebuild follows document.ordered from position 1 into a schema beside the
// live one, and tells nobody, since all of it was told when it was done first.
// It goes exactly as far as the live warehouse has come; or, where the schema
// was lost, as far as status.changed says that insert had told of everything:
// what it had not goes on in the live warehouse, so that it is told then.

// ErrRebuilding says that another rebuild is under way.
var ErrRebuilding = errors.New("another rebuild or verification of this warehouse is under way: wait for its end, or stop it")

// rebuildLock is the advisory lock of a rebuild.
const rebuildLock = 0x7472_6962_7265_6275

// Bounds of a rebuild.
const (
	closeEnough  = 200 // positions behind the live warehouse, from when on its lease is taken
	maxRounds    = 20  // of catching up before
	builtEpoch   = 1   // of the lease in the schema that is built, which nobody else asks for
	renewDivisor = 3   // a lease is renewed so often in its time
)

// Rebuild is a rebuild of the warehouse that an inserter would fill. It needs an
// inserter of its own.
type Rebuild struct {
	In *Inserter
	// Profile is the profile's folder.
	Profile fs.FS
	// Report is told of the progress, now and then; may be nil.
	Report func(RebuildProgress)

	report    RebuildReport
	began     time.Time
	at        progress
	feed      *feed
	pending   []*item    // read, but beyond what may be applied
	ends      *batchEnds // worked off beside loading, as in the live warehouse
	published *published // where the live warehouse doesn't say it all
	last      int64      // position ordered last, when it was looked
	agreement
	verifies bool
}

// Run builds the warehouse anew beside the live one, catches up with it, and
// takes its place under insert's lease. An error, such as a missing blob, leaves
// the live warehouse as it is. After a crash it is run again.
func (r *Rebuild) Run(ctx context.Context) (RebuildReport, error) {
	err := r.beside(ctx, func(ctx context.Context, conn *pgxpool.Conn, live *takeover) error {
		return r.swap(ctx, conn, live)
	})
	return r.report, err
}

// Verify builds the warehouse anew beside the live one and compares every row of
// every table at the same position. Nothing is swapped. each gets the tables one
// after another; insertion goes on meanwhile.
func (r *Rebuild) Verify(ctx context.Context, each func(warehouse.TableComparison) error) (RebuildReport, error) {
	r.verifies = true
	err := r.beside(ctx, func(ctx context.Context, conn *pgxpool.Conn, live *takeover) error {
		if live == nil {
			return errors.New("there is no warehouse to be verified: rebuild it")
		}
		return r.compare(ctx, conn, live, each)
	})
	return r.report, err
}

// beside fills the schema Built and calls end once it holds what the live warehouse
// holds, under insert's lease. The schema is dropped in any case.
func (r *Rebuild) beside(ctx context.Context, end func(context.Context, *pgxpool.Conn, *takeover) error) error {
	r.began = time.Now()
	room := beside.Room{Pool: r.In.deps.Pool, Lock: rebuildLock, Busy: ErrRebuilding, Schemas: []string{warehouse.Built, warehouse.Replaced}}
	return room.Use(ctx, func(conn *pgxpool.Conn) error {
		return r.build(ctx, func(ctx context.Context, live *takeover) error { return end(ctx, conn, live) })
	})
}

// build fills the schema Built and calls end under insert's lease.
func (r *Rebuild) build(ctx context.Context, end func(context.Context, *takeover) error) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	work, err := r.In.deps.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the warehouse: %w", err)
	}
	defer work.Release()
	r.feed = r.In.read(ctx, r.at)
	defer func() {
		release(r.pending)
		r.feed.stop()
	}()
	return r.besideEnds(ctx, func(ctx context.Context) error {
		if err := r.catchUp(ctx, work); err != nil {
			return err
		}
		return r.finish(ctx, work, end)
	})
}

// prepare makes the schema Built and finds out how far to go.
func (r *Rebuild) prepare(ctx context.Context) error {
	in := r.In
	in.target = target{Target: warehouse.Target(), givenUp: map[int64]string{}, failed: map[string]bool{}}
	r.report.Profile = in.deps.Mapping.Name + "@" + in.deps.Mapping.Version
	r.report.Others = map[string]int64{}
	r.at = progress{position: 1}
	before, err := r.applied(ctx)
	if err != nil {
		return err
	}
	if err := r.judge(ctx); err != nil {
		return err
	}
	if r.verifies && r.passed > 0 {
		return fmt.Errorf("the warehouse was not compared: it holds the record of position %d that is passed over by now, so it is not what the order says. Nothing is changed; run: tributary warehouse rebuild", r.passed)
	}
	if err := in.chooseCompression(ctx); err != nil {
		return err
	}
	in.settings += "; SET LOCAL synchronous_commit = off" // the swap waits for all of it
	if err := warehouse.MakeBuilt(ctx, in.deps.Pool, r.Profile, in.deps.Mapping, !r.verifies); err != nil {
		return err
	}
	_, err = in.deps.Pool.Exec(ctx, "INSERT INTO "+warehouse.Built+".lease (name, holder, epoch, expires_at) VALUES ($1, 'rebuild', $2, 'infinity')", Stage, builtEpoch)
	if err != nil {
		return fmt.Errorf("prepare the rebuild: %w", err)
	}
	live, err := warehouse.Exists(ctx, in.deps.Pool, warehouse.Schema)
	if err != nil {
		return err
	}
	r.report.Lost = !live
	applied, err := r.applied(ctx)
	if err != nil {
		return err
	}
	if before = r.within(before); before > r.last {
		return fmt.Errorf("the warehouse holds what was ordered up to position %d, but document.ordered ends at %d: the topic was lost or made anew, and the warehouse can't be made from it. It is the only copy of what it holds: keep it, and back it up", before, r.last)
	}
	if applied < r.last {
		// A warehouse that was dropped, or has just been begun again, knows less
		// than was told to the world.
		if r.published, err = in.readPublished(ctx, r.last); err != nil {
			return err
		}
		maps.Copy(in.target.givenUp, r.published.givenUp)
	}
	if !r.report.Lost {
		return r.readVerdicts(ctx)
	}
	return nil
}

// applied is the position up to which the live warehouse has done everything; 0
// if there is none.
func (r *Rebuild) applied(ctx context.Context) (int64, error) {
	live, err := warehouse.Exists(ctx, r.In.deps.Pool, warehouse.Schema)
	if err != nil || !live {
		return 0, err
	}
	return AppliedPosition(ctx, r.In.deps.Pool)
}

// readVerdicts reads what the live warehouse has decided and the order doesn't
// say.
func (r *Rebuild) readVerdicts(ctx context.Context) error {
	var position int64
	var exception string
	for err := range pg.Each(ctx, r.In.deps.Pool, "read documents that were given up", []any{&position, &exception}, "SELECT position, exception FROM warehouse.document WHERE exception IN ('quarantined','blob_lost') AND phase = 'upload'") {
		if err != nil {
			return err
		}
		r.In.target.givenUp[position] = exception
	}
	failed, err := pg.List(ctx, r.In.deps.Pool, "read failed operations", pgx.RowTo[string], "SELECT operation::text FROM warehouse.operation_outcome WHERE state = $1", OutcomeFailed)
	if err != nil {
		return err
	}
	for _, id := range failed {
		r.In.target.failed[id] = true
	}
	return nil
}

// log says what happens around the work.
func (r *Rebuild) log() *slog.Logger { return r.In.deps.Log }
