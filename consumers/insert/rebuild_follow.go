package insert

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/beside"
	"tributary/sql/warehouse"
)

// endWorkers is how many ends of batches are worked off at a time in a rebuild, where no
// documents of other centres wait to be loaded at the end.
const endWorkers = 2

// besideEnds works off the ends of batches while do goes on. Those of several centres are
// worked off side by side where each statement of the profile is about one centre.
func (r *Rebuild) besideEnds(ctx context.Context, do func(context.Context) error) error {
	r.ends = newBatchEnds(r.In.deps.Mapping.Separate())
	working, stop := context.WithCancelCause(ctx)
	workers := 1
	if r.ends.separate && r.In.deps.Statements.OfCentres() {
		workers = endWorkers
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := r.In.workOff(working, r.built(r.In.deps.Pool), builtEpoch, r.ends); working.Err() == nil {
				stop(err)
			}
		})
	}
	err := do(working)
	if working.Err() != nil && ctx.Err() == nil {
		err = context.Cause(working)
	}
	stop(nil)
	wg.Wait()
	return err
}

// built is a database whose statements act in the schema Built.
func (r *Rebuild) built(db pg.Beginner) pg.Beginner {
	return beside.DB{Beginner: db, Target: r.In.target.Target}
}

// catchUp follows the live warehouse until little is left to be done under its
// lease.
func (r *Rebuild) catchUp(ctx context.Context, db *pgxpool.Conn) error {
	for round := range maxRounds {
		applied, err := r.applied(ctx)
		if err != nil {
			return err
		}
		if err := r.follow(ctx, db, r.within(applied), nil); err != nil {
			return err
		}
		if round == 0 && !r.verifies { // nobody asks what is only compared
			if err := warehouse.AnalyzeBuilt(ctx, db); err != nil {
				return err
			}
		}
		if applied, err = r.applied(ctx); err != nil || r.within(applied)-r.at.position < closeEnough {
			return err
		}
	}
	return nil
}

// follow applies positions up to the given one, and beyond it those that were
// told to the world, ends of batches included. Those named in due are left due.
func (r *Rebuild) follow(ctx context.Context, db pg.Beginner, upTo int64, due map[int64]bool) error {
	if err := r.followPositions(ctx, db, upTo, due); err != nil {
		return err
	}
	return r.ends.await(ctx, nil, true)
}

func (r *Rebuild) followPositions(ctx context.Context, db pg.Beginner, upTo int64, due map[int64]bool) error {
	target := upTo
	if r.published != nil {
		target = r.within(max(target, r.last))
	}
	for r.at.position <= target {
		group, err := r.next(ctx)
		if err != nil {
			return err
		}
		n := 0
		for n < len(group) && group[n].ev.Position <= target && (group[n].ev.Position <= upTo || r.published.has(group[n].ev, r.last)) {
			n++
		}
		r.pending = group[n:]
		if n == 0 {
			return nil
		}
		if err := r.apply(ctx, db, group[:n], due); err != nil {
			return err
		}
		r.progress(target)
	}
	return nil
}

func (r *Rebuild) next(ctx context.Context) ([]*item, error) {
	if len(r.pending) > 0 {
		group := r.pending
		r.pending = nil
		return group, nil
	}
	group, err := r.In.gather(ctx, r.feed)
	if errors.Is(err, ErrGap) {
		err = fmt.Errorf("%w: the order isn't whole, as after document.ordered was lost or made anew, and the warehouse can't be made from it. Nothing was swapped. "+
			"Restore the topic from a backup; without one the live warehouse is the only copy of what it holds: keep it, and back it up", err)
	}
	return group, explainMissing(err)
}

// explainMissing says what a missing or damaged blob means.
func explainMissing(err error) error {
	if !blob.Unusable(err) {
		return err
	}
	return fmt.Errorf("%w: without this blob the warehouse can't be made, and nothing was swapped. Running members fetch it again where a source has it (tributary blobs damaged says how that goes); "+
		"otherwise restore it in the blobs' store. Then rebuild again", err)
}

// apply applies a group. The end of its batch is worked off beside what follows.
func (r *Rebuild) apply(ctx context.Context, db pg.Beginner, group []*item, due map[int64]bool) error {
	defer release(group)
	if err := r.ends.await(ctx, group, false); err != nil {
		return err
	}
	if err := r.In.guarded(ctx, r.built(db), builtEpoch, r.at, group); err != nil {
		return explainMissing(err)
	}
	last := group[len(group)-1]
	if last.ev.What == schemas.PositionBatchEnd && !due[last.ev.Position] {
		r.In.metrics.due.Inc()
		r.ends.add(last)
	}
	r.at = progress{position: last.ev.Position + 1, offset: last.offset + 1}
	for _, it := range group {
		if it.ev.What == schemas.PositionDocument && it.ev.Profile != "" && it.ev.Profile != r.report.Profile {
			r.report.Others[it.ev.Profile]++
		}
	}
	return nil
}
