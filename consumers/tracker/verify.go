package tracker

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/sql/beside"
	trackersql "tributary/sql/tracker"
)

// Verification is what a comparison of the tracker with the log found.
type Verification struct {
	Records     int64           `json:"records"` // of the log, that the rows follow from
	Offsets     map[int32]int64 `json:"offsets"` // compared at, by partition
	Tables      []TableCompared `json:"tables"`
	Differences []Difference    `json:"differences"` // up to the limit
	Differ      int64           `json:"differ"`      // how many there are
}

// Verify builds the tracker's rows from the whole log in a schema of their
// own, while the tracker goes on, and compares every row of every table at the
// offsets that the tracker has reached. At most limit differences are listed;
// all are counted. What it holds in memory does not grow with the log.
//
// Beside errors of broker and database it returns ErrBusy, ErrLogCut or
// ErrTopicAnew.
func (b *Builder) Verify(ctx context.Context, limit int) (v Verification, err error) {
	err = b.room().Use(ctx, func(conn *pgxpool.Conn) error {
		s := b.newBuild(verifySchema)
		s.compared = true
		v, err = b.verify(ctx, conn, s, limit)
		return err
	})
	return v, err
}

func (b *Builder) verify(ctx context.Context, conn *pgxpool.Conn, s *build, limit int) (Verification, error) {
	now, err := b.comparable(ctx, conn, s)
	if err != nil {
		return Verification{}, err
	}
	if _, err := s.make(ctx); err != nil {
		return Verification{}, err
	}
	made, err := schemaVersion(ctx, b.Pool, s.offsets.Schema)
	if err != nil {
		return Verification{}, err
	}
	if made != now.version {
		return Verification{}, fmt.Errorf("the tracker's tables are of version %d, those of this program of %d: start the tracker of this program once, which brings them up to date", now.version, made)
	}
	// The tracker goes on meanwhile: first what takes long, then what has come
	// since.
	for range 20 {
		if err := b.apply(ctx, s, "building the rows from the log", now.at); err != nil {
			return Verification{}, err
		}
		if now, err = b.comparable(ctx, conn, s); err != nil {
			return Verification{}, err
		}
		if (span{s.at, now.at}).records() < int64(s.window) {
			break
		}
	}
	// One snapshot sees what the tracker holds and, since the last records are
	// applied in its transaction, all that was built. It is not committed.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return Verification{}, fmt.Errorf("look at the tracker: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// It is idle while the last records are read.
	if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return Verification{}, fmt.Errorf("settings: %w", err)
	}
	if now, err = b.readLive(ctx, tx); err != nil {
		return Verification{}, err
	}
	b.report(Progress{Step: "building what has come since"})
	if err := s.applyIn(ctx, tx, now.at); err != nil {
		return Verification{}, err
	}
	for p, at := range s.at {
		if at != now.at[p] {
			return Verification{}, fmt.Errorf("partition %d: the tracker moved back from offset %d to %d meanwhile: somebody replaces its rows; try again when that has ended", p, at, now.at[p])
		}
	}
	if err := pg.Exec(ctx, tx, "count the rows that were built", trackersql.Recount(s.offsets.Schema)); err != nil {
		return Verification{}, err
	}
	v := Verification{Offsets: now.at, Records: span{nil, now.at}.records(), Tables: []TableCompared{}, Differences: []Difference{}}
	err = beside.Look(ctx, b.Pool, tx, func(by beside.Sight) error { return b.compare(ctx, by, s.offsets.Schema, limit, &v) })
	return v, err
}

// comparable says where the tracker stands, or why it cannot be compared with
// the log.
func (b *Builder) comparable(ctx context.Context, conn *pgxpool.Conn, s *build) (live, error) {
	now, err := b.readLive(ctx, conn)
	if err != nil {
		return now, err
	}
	if !now.exists {
		return now, errors.New("there is no tracker (no schema tracker with its tables): tributary tracker rebuild makes it from the log")
	}
	bounds, err := s.log.bounds(ctx)
	if err != nil {
		return now, err
	}
	if now.anew(s.log) {
		return now, fmt.Errorf("%w: %s was deleted and made anew since the tracker read it: the log that its rows follow from is gone. "+
			"tributary tracker rebuild replaces them by what the new log says", ErrTopicAnew, s.log.name)
	}
	if err := s.log.requireComplete(bounds); err != nil {
		return now, err
	}
	return now, now.beyond(s.log, bounds)
}

func schemaVersion(ctx context.Context, pool *pgxpool.Pool, schema string) (n int64, err error) {
	return pg.One(ctx, pool, "look at the version of "+schema, pgx.RowTo[int64], "SELECT max(version_id) FROM "+schema+".schema_version WHERE is_applied")
}
