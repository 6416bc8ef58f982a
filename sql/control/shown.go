package control

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/listing"
	"tributary/internal/pg"
)

// StorePassedOver adds entries of a listing that are no files of ours to what the
// connection's listing showed.
func StorePassedOver(ctx context.Context, c pg.Querier, entries []listing.Entry) error {
	var directories, names, notes []string
	var sizes []int64
	var times []*time.Time
	for _, e := range entries {
		directories, names, notes = append(directories, e.Directory), append(names, e.Name), append(notes, e.Note)
		sizes, times = append(sizes, e.Size), append(times, e.ModTime)
	}
	return pg.Exec(ctx, c, "store what a listing showed", `INSERT INTO pg_temp.passed_over (directory, name, size, mtime, note)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::text[])`, directories, names, sizes, times, notes)
}

// ShownAtOnce is how many entries are read at once.
const ShownAtOnce = 2000

// allShown reads the connection's listing in the order of listing.Compare.
const allShown = `SELECT * FROM (SELECT action AS directory, name, size, coalesce(shown, mtime) AS mod_time, exception AS note FROM pg_temp.listed
		UNION ALL SELECT directory, name, size, mtime, note FROM pg_temp.passed_over) e
	ORDER BY directory COLLATE "C", name COLLATE "C", size, mod_time NULLS FIRST, note COLLATE "C"`

// FewShown returns the entries of a connection's listing of at most ShownAtOnce, in the
// order of listing.Compare.
func FewShown(ctx context.Context, q pg.Querier) ([]listing.Entry, error) {
	return pg.List(ctx, q, "read what a listing showed", pgx.RowToStructByName[listing.Entry], allShown)
}

// AllShown gives all entries of the connection's listing in the order of
// listing.Compare. It reads them within the given transaction, in which each
// statement may take as long as patience, and only one at a time can be read.
func AllShown(ctx context.Context, tx pgx.Tx, patience time.Duration) (listing.Next, error) {
	if _, err := tx.Exec(ctx, "SELECT set_config('statement_timeout', $1, true)", strconv.FormatInt(patience.Milliseconds(), 10)); err != nil {
		return nil, fmt.Errorf("read what a listing showed: %w", err)
	}
	if _, err := tx.Exec(ctx, "CLOSE ALL"); err != nil {
		return nil, fmt.Errorf("read what a listing showed: %w", err)
	}
	if _, err := tx.Exec(ctx, "DECLARE shown NO SCROLL CURSOR FOR "+allShown); err != nil {
		return nil, fmt.Errorf("read what a listing showed: %w", err)
	}
	var left []listing.Entry
	return func() (listing.Entry, error) {
		if len(left) == 0 {
			rows, err := tx.Query(ctx, "FETCH "+strconv.Itoa(ShownAtOnce)+" FROM shown")
			if err == nil {
				left, err = pgx.CollectRows(rows, pgx.RowToStructByName[listing.Entry])
			}
			if err != nil {
				return listing.Entry{}, fmt.Errorf("read what a listing showed: %w", err)
			}
			if len(left) == 0 {
				return listing.Entry{}, io.EOF
			}
		}
		e := left[0]
		left = left[1:]
		return e, nil
	}, nil
}
