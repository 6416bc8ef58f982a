package tracker

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/beside"
	trackersql "tributary/sql/tracker"
)

// Rebuilt is what a rebuild has put in place.
type Rebuilt struct {
	Records int64           `json:"records"` // of the log, that the rows follow from
	Offsets map[int32]int64 `json:"offsets"` // from which the tracker goes on, by partition
	Notes   []string        `json:"notes"`   // what people should know about it
}

// Rebuild builds the tracker's rows from the whole log in a schema of their
// own and puts it in the tracker's place, in one transaction: who reads finds
// the old rows until then and the new ones from then on. The tracker goes on
// meanwhile, and afterwards from the new offsets. Where there is no tracker, it
// is made. Killed at any moment it leaves the tracker as it was, and can be run
// again.
//
// A topic that was made anew is taken as the log from now on. Beside errors of
// broker and database it returns ErrBusy or ErrLogCut.
func (b *Builder) Rebuild(ctx context.Context) (r Rebuilt, err error) {
	err = b.room().Use(ctx, func(conn *pgxpool.Conn) error {
		r, err = b.rebuild(ctx, conn, b.newBuild(rebuildSchema))
		return err
	})
	return r, err
}

func (b *Builder) rebuild(ctx context.Context, conn *pgxpool.Conn, s *build) (Rebuilt, error) {
	bounds, err := s.log.bounds(ctx)
	if err == nil {
		err = s.log.requireComplete(bounds)
	}
	if err != nil {
		return Rebuilt{}, err
	}
	dress, err := s.make(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	if err := beside.Strangers(ctx, conn, trackersql.Schema, s.offsets.Schema, nil); err != nil {
		return Rebuilt{}, err // said before the work is done
	}
	if err := b.catchUp(ctx, s, "building the rows from the log", bounds); err != nil {
		return Rebuilt{}, err
	}
	b.report(Progress{Step: "building indexes and checking references"})
	if err := dress(ctx); err != nil {
		return Rebuilt{}, err
	}
	if err := b.catchUp(ctx, s, "building what has come since", bounds); err != nil {
		return Rebuilt{}, err
	}
	if s.log.id != (pg.TopicID{}) {
		if _, err := s.offsets.TopicID(ctx, b.Pool, schemas.StatusChangedTopic, s.log.id); err != nil {
			return Rebuilt{}, err
		}
	}
	b.report(Progress{Step: "putting them in place"})
	var r Rebuilt
	err = pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		r, err = b.swap(ctx, tx, s)
		return err
	})
	return r, err
}

// catchUp applies the log until little is left.
func (b *Builder) catchUp(ctx context.Context, s *build, step string, bounds logBounds) error {
	id := s.log.id
	for range 20 {
		if err := b.apply(ctx, s, step, bounds.end); err != nil {
			return err
		}
		var err error
		if bounds, err = s.log.bounds(ctx); err != nil {
			return err
		}
		if s.log.id != id {
			return fmt.Errorf("%w: %s was deleted and made anew meanwhile: run tributary tracker rebuild again", ErrTopicAnew, s.log.name)
		}
		if (span{s.at, bounds.end}).records() < int64(s.window)/10 {
			break
		}
	}
	return nil
}

// swap applies what the tracker has read beyond the build, and puts the
// build in its place. The tracker waits until the transaction ends, and goes
// on in the new tables; readers wait only for its last steps.
func (b *Builder) swap(ctx context.Context, tx pgx.Tx, s *build) (Rebuilt, error) {
	r := Rebuilt{Notes: []string{}}
	if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return r, fmt.Errorf("settings: %w", err)
	}
	if err := pg.LockSchema(ctx, tx, trackersql.Schema); err != nil {
		return r, err
	}
	now, err := b.readLive(ctx, tx)
	if err != nil {
		return r, err
	}
	if now.exists {
		if _, err := tx.Exec(ctx, "LOCK TABLE tracker.consumed IN EXCLUSIVE MODE"); err != nil {
			return r, fmt.Errorf("stop the tracker: %w", err)
		}
		if now, err = b.readLive(ctx, tx); err != nil {
			return r, err
		}
	}
	to, notes, err := b.target(ctx, s, now)
	if err != nil {
		return r, err
	}
	r.Notes = append(r.Notes, notes...)
	if err := s.applyIn(ctx, tx, to); err != nil {
		return r, err
	}
	if err := beside.Lock(ctx, tx, trackersql.Schema); err != nil {
		return r, err
	}
	if err := (beside.Swap{Live: trackersql.Schema, Built: s.offsets.Schema}).In(ctx, tx); err != nil {
		return r, fmt.Errorf("put the new schema in place of the tracker's: %w", err)
	}
	r.Offsets, r.Records = s.at, span{nil, s.at}.records()
	return r, nil
}

// target is where the build has to be to replace a tracker that stands where
// it does: no reader shall see rows go back.
func (b *Builder) target(ctx context.Context, s *build, now live) (map[int32]int64, []string, error) {
	bounds, err := s.log.bounds(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !now.exists {
		return s.at, nil, nil
	}
	if now.anew(s.log) {
		return s.at, []string{fmt.Sprintf("%s was deleted and made anew since the tracker read it: the rows are those of the new log, and what only the old one said is gone", s.log.name)}, nil
	}
	to := further(s.at, now.at)
	var notes []string
	for p, at := range to {
		if end := bounds.end[p]; at > end {
			notes = append(notes, fmt.Sprintf("the tracker had read partition %d of %s up to offset %d, but the log ends at %d: the rows are those of this log", p, s.log.name, at, end))
			to[p] = end
		}
	}
	return to, notes, nil
}
