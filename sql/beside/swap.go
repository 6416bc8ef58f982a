package beside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/backoff"
)

// Bounds of the wait for those who use the tables of a live schema.
const (
	lockPatience = "250ms" // others wait so long behind each try; less than what the database takes for a deadlock
	lockTries    = 120
	lockPause    = 250 * time.Millisecond
)

// Lock waits until nobody uses tables and views of a schema, and keeps everybody
// from them until the transaction ends; without names, from all of them. Who
// holds some of them and comes to others must not be waited for while the
// transaction holds these: each try is short, and lets go of all. A statement
// that waited finds what has been swapped in meanwhile.
func Lock(ctx context.Context, tx pgx.Tx, schema string, names ...string) error {
	var all string
	if err := tx.QueryRow(ctx, `SELECT coalesce(string_agg(oid::regclass::text, ', ' ORDER BY relkind DESC, oid DESC), '') FROM pg_class
		WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind IN ('r', 'p', 'v') AND (cardinality($2::text[]) = 0 OR relname = ANY($2))`,
		schema, append([]string{}, names...)).Scan(&all); err != nil {
		return fmt.Errorf("list the tables of %s: %w", schema, err)
	}
	if all == "" {
		return nil
	}
	for range lockTries {
		err := pgx.BeginFunc(ctx, tx, func(try pgx.Tx) error {
			_, err := try.Exec(ctx, "SET LOCAL lock_timeout = '"+lockPatience+"'; LOCK TABLE "+all+" IN ACCESS EXCLUSIVE MODE", pgx.QueryExecModeSimpleProtocol)
			return err
		})
		if err == nil {
			_, err = tx.Exec(ctx, "SET LOCAL lock_timeout = 0")
		}
		if err == nil {
			return nil
		}
		if !hasCode(err, "55P03", "40P01") {
			return fmt.Errorf("lock the tables of %s: %w", schema, err)
		}
		if err := backoff.Sleep(ctx, lockPause); err != nil {
			return err
		}
	}
	return fmt.Errorf("the new rows are built, but the old ones cannot be replaced: %s use the tables of %s without a pause; end that, and run the rebuild again", holders(ctx, tx, schema), schema)
}

// hasCode says whether an error is the database's with one of the codes.
func hasCode(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// holders says who uses the tables of a schema.
func holders(ctx context.Context, tx pgx.Tx, schema string) string {
	var who string
	err := tx.QueryRow(ctx, `SELECT coalesce(string_agg(DISTINCT format('%s (process %s of the database, in a transaction since %s)', coalesce(nullif(a.application_name, ''), 'a connection'), a.pid, a.xact_start), ', '), 'others')
		FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND l.granted AND l.pid <> pg_backend_pid()`, schema).Scan(&who)
	if err != nil {
		return "others"
	}
	return who
}

// Swap puts a schema that was built into the place of a live one.
type Swap struct {
	Live, Built string
	Replaced    string   // name that the live schema gets; empty: it is dropped
	Moves       []string // tables that go over from the live schema as they are, with their rows
	Own         []string // of the live schema, that may be lost
}

// In does so in a transaction, which has locked what must not be written
// meanwhile. Where there is no live schema, the built one just gets its name.
// What people have made in the live schema, or on top of it, is an error.
func (s Swap) In(ctx context.Context, tx pgx.Tx) error {
	if err := Strangers(ctx, tx, s.Live, s.Built, s.Own); err != nil {
		return err
	}
	steps, err := rights(ctx, tx, s.Live, s.Built, s.Moves)
	if err != nil {
		return err
	}
	live, built := pgx.Identifier{s.Live}.Sanitize(), pgx.Identifier{s.Built}.Sanitize()
	for _, name := range s.Moves {
		table := pgx.Identifier{name}.Sanitize()
		steps = append(steps, "DROP TABLE "+built+"."+table, "ALTER TABLE "+live+"."+table+" SET SCHEMA "+built)
	}
	if s.Replaced == "" {
		steps = append(steps, "SET LOCAL client_min_messages = warning", "DROP SCHEMA IF EXISTS "+live+" CASCADE")
	} else {
		steps = append(steps, "ALTER SCHEMA "+live+" RENAME TO "+pgx.Identifier{s.Replaced}.Sanitize())
	}
	for _, sql := range append(steps, "ALTER SCHEMA "+built+" RENAME TO "+live) {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
