// Package beside builds a schema of Postgres beside a live one: to compare the
// two, or to put the new one in the live one's place while people read and
// programs write. It knows no table: a store gives it names.
//
// A build is done in a Room, which one process has at a time. Statements that are
// written for the live schema reach the other through a Target. Compare says in
// which rows two tables differ. Lock and Swap put the new schema in place, with
// the rights that people have to the old one.
//
// The history is rebuilt beside too, but not by this package: ClickHouse exchanges
// two tables in one step, and rights go by a table's name, so that nothing has to be
// locked, carried over or refused. Of several rebuilds at once the last one drops
// what the others have. Rows are compared with the log's records by sums of hashes,
// since the log is in no table.
package beside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/pg"
)

// Room is where schemas are built beside a live one.
type Room struct {
	Pool    *pgxpool.Pool // of at least two connections
	Lock    int64         // advisory lock of whoever builds
	Busy    error         // returned while another build is under way
	Schemas []string      // that builds make and need no longer when they end
}

// Bounds of the wait for a build that has just ended or was killed, and of the
// time in which its schemas are dropped.
const (
	busyTries   = 20
	busyPause   = 100 * time.Millisecond
	dropTimeout = time.Minute
)

// Use runs fn while no other build is under way, with the connection that holds
// the lock. The room's schemas are dropped before it, since killed builds leave
// them, and after it, also where ctx has ended.
func (r Room) Use(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if r.Pool.Config().MaxConns < 2 {
		return errors.New("a build beside what is live needs two connections: raise postgres.max_connections")
	}
	conn, err := r.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to build beside what is live: %w", err)
	}
	defer conn.Release()
	if err := r.lock(ctx, conn); err != nil {
		return err
	}
	defer func() {
		// Where fn was interrupted the connection may be in any state; one that
		// is closed gives up its lock.
		if _, err := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", r.Lock); err != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx))
		}
	}()
	if err := r.drop(ctx); err != nil {
		return err
	}
	err = fn(conn)
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return errors.Join(err, r.drop(clean))
}

func (r Room) lock(ctx context.Context, conn *pgxpool.Conn) error {
	for try := 0; ; try++ {
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", r.Lock).Scan(&locked); err != nil {
			return fmt.Errorf("take the lock of builds: %w", err)
		}
		if locked {
			return nil
		}
		if try == busyTries {
			return r.Busy
		}
		if err := backoff.Sleep(ctx, busyPause); err != nil {
			return err
		}
	}
}

func (r Room) drop(ctx context.Context) error {
	for _, schema := range r.Schemas {
		if _, err := r.Pool.Exec(ctx, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE; RESET client_min_messages",
			pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("drop the schema %s: %w", schema, err)
		}
	}
	return nil
}

// Strangers returns an error that names what lies in the live schema, or hangs on
// it from elsewhere, and would be lost with it: neither the schema that was built
// has it, nor is it named in own.
func Strangers(ctx context.Context, q pg.Querier, live, built string, own []string) error {
	names, err := pg.List(ctx, q, "look for what hangs on the schema "+live, pgx.RowTo[string], `
		WITH live AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind IN ('r', 'p', 'v', 'm', 'f'))
		SELECT format('the %s %s.%s', CASE WHEN relkind IN ('v', 'm') THEN 'view' ELSE 'table' END, $1::text, relname) FROM live
		WHERE relname <> ALL($3::text[]) AND NOT EXISTS (SELECT FROM pg_class b WHERE b.relnamespace = to_regnamespace(quote_ident($2)) AND b.relname = live.relname)
		UNION
		SELECT format('the function %s.%s', $1::text, f.proname) FROM pg_proc f WHERE f.pronamespace = to_regnamespace(quote_ident($1))
			AND NOT EXISTS (SELECT FROM pg_proc b WHERE b.pronamespace = to_regnamespace(quote_ident($2)) AND b.proname = f.proname)
		UNION
		SELECT format('the view %s.%s', v.relnamespace::regnamespace, v.relname) FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
		WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM live)
			AND v.relnamespace <> to_regnamespace(quote_ident($1))
		UNION
		SELECT format('the table %s.%s', t.relnamespace::regnamespace, t.relname) FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
		WHERE c.contype = 'f' AND c.confrelid IN (SELECT oid FROM live) AND c.connamespace <> to_regnamespace(quote_ident($1))
		ORDER BY 1`, live, built, append([]string{}, own...))
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("a rebuild replaces the schema %s and would drop what it can't make: %s; drop or move them, rebuild, and make them again (best in a schema of their own)", live, strings.Join(names, ", "))
	}
	return nil
}
