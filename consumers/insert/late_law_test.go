package insert

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

// What is told leaves with the transaction that it tells of, or not at all: who
// lost the lease, or finds its position applied by another, tells nothing.
func TestStaleMemberTellsNothing(t *testing.T) {
	b := newBench(t)
	first := b.version(doc{inc: 1, xml: mice("H", "m1=a")})
	b.free()
	taken, err := b.in.lease().Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.apply(first...); !errors.Is(err, pg.ErrLeaseLost) {
		t.Errorf("with an old epoch: error %v", err)
	}
	same(t, "told by a member without the lease", b.told(), []string{})

	b.epoch = taken
	b.must(first...)
	if len(b.told()) == 0 {
		t.Fatal("nothing is told of a document that was applied")
	}
	b.at.position = 1
	if err := b.apply(first...); !errors.Is(err, pg.ErrMoved) {
		t.Errorf("at a position that is applied: error %v", err)
	}
	same(t, "told of a position that another applied", b.told(), []string{})
}

// A member that wakes up late knows that it is, also when its successor has
// stopped meanwhile, and keeps nobody waiting: asking takes no lease.
func TestAskingWhetherTheLeaseIsLostTakesNone(t *testing.T) {
	b := newBench(t)
	refused := errors.New("refused")
	lease := func() string {
		return b.texts("SELECT epoch || ' until ' || expires_at FROM warehouse.lease")[0]
	}
	before := lease()
	if b.in.lost(t.Context(), refused, b.epoch) || lease() != before {
		t.Errorf("the lease is lost while it is held, or was %s and is %s", before, lease())
	}
	b.free()
	taken, err := b.in.lease().Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.in.lease().Release(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	before = lease()
	if !b.in.lost(t.Context(), refused, b.epoch) {
		t.Error("a member does not know that another has taken over")
	}
	if after := lease(); after != before {
		t.Errorf("asking made the lease %s of %s", after, before)
	}
}

// Who renews the lease may find that it is lost while another part of the
// member, refused for the same reason, still asks: it must not stop in silence.
func TestTheLeaseIsLostWhileAsking(t *testing.T) {
	b := newBench(t)
	held, cancel := context.WithCancelCause(t.Context())
	cfg := b.pool.Config()
	cfg.PrepareConn = func(ctx context.Context, _ *pgx.Conn) (bool, error) {
		if ctx == held {
			cancel(pg.ErrLeaseLost)
		}
		return true, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b.in.deps.Pool = pool
	if !b.in.lost(held, errors.New("refused"), b.epoch) {
		t.Error("a member does not know that another has taken over")
	}
}

// A position counts as applied when it and all batch ends up to it are: whoever
// waits for a session's end, or for an operation, waits for the checks too.
func TestAppliedMeansBatchEndsToo(t *testing.T) {
	b := newBench(t)
	applied := func() int64 {
		t.Helper()
		at, err := AppliedPosition(t.Context(), b.pool)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if at := applied(); at != 0 {
		t.Fatalf("before the first position: %d", at)
	}
	events := append(b.version(doc{inc: 1, xml: mice("H", "m1=a")}), b.batchEnd("one"))
	events = append(events, b.event(doc{inc: 2, xml: mice("H", "m2=a")}))
	if err := b.applyGroup(events[:2]); err != nil {
		t.Fatal(err)
	}
	if at := applied(); at != 2 {
		t.Errorf("after two positions: %d", at)
	}
	if err := b.applyGroup(events[2:3]); err != nil {
		t.Fatal(err)
	}
	if err := b.applyGroup(events[3:]); err != nil {
		t.Fatal(err)
	}
	if at := applied(); at != 2 {
		t.Errorf("while the batch end at position 3 is due: %d", at)
	}
	if err := b.in.finishEnds(t.Context(), b.pool, b.epoch); err != nil {
		t.Fatal(err)
	}
	if at := applied(); at != 4 {
		t.Errorf("after it: %d", at)
	}
}
