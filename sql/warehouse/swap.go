package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// How long a swap tries to get the tables of running members for itself, and
// for how long at a time: meanwhile everybody else waits behind it.
const (
	swapPatience = 2 * time.Minute
	swapLock     = "300ms"
)

// Swap makes the shadow the live schema, in one transaction: leases, what waits
// in the outbox, and the tries stay those of the live one; so do the rights that
// were granted. check is done first, in the same transaction. Whoever reads sees
// the one or the other. The schema that was live is left as Replaced.
func Swap(ctx context.Context, db pg.Beginner, fsys fs.FS, m *mapping.Mapping, check func(pgx.Tx) error) error {
	p, err := readProfile(fsys, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, swapPatience, errors.New("others keep the warehouse's outbox or leases locked"))
	defer cancel()
	for {
		err := pg.InTx(ctx, db, func(tx pgx.Tx) error { return swap(ctx, tx, p, check) })
		var pe *pgconn.PgError
		if errors.As(err, &pe) && (pe.Code == "55P03" || pe.Code == "40P01") && ctx.Err() == nil {
			continue // somebody was at work; it has waited long enough to let them
		}
		if err != nil && ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			return fmt.Errorf("swap the rebuilt schema in: %w", err)
		}
		return nil
	}
}

func swap(ctx context.Context, tx pgx.Tx, p *profile, check func(pgx.Tx) error) error {
	live, err := Exists(ctx, tx, Schema)
	if err != nil {
		return err
	}
	if err := execAll(ctx, tx, []string{"SET LOCAL lock_timeout = '" + swapLock + "'"}); err != nil {
		return err
	}
	if err := pg.LockSchema(ctx, tx, Schema); err != nil { // nobody migrates it meanwhile, or gives rights to it
		return err
	}
	if live {
		// Members take these in different orders: who can't have all gives up.
		if err := execAll(ctx, tx, []string{"LOCK TABLE warehouse.outbox, warehouse.lease, warehouse.try IN ACCESS EXCLUSIVE MODE"}); err != nil {
			return err
		}
	}
	if err := check(tx); err != nil {
		return err
	}
	var steps []string
	if live {
		own := []string{"outbox", "lease", "try"}
		var letters bool // of the outbox: a schema that only older members have migrated has no table for them
		if err := tx.QueryRow(ctx, "SELECT to_regclass('warehouse.outbox_letter') IS NOT NULL").Scan(&letters); err != nil {
			return fmt.Errorf("look for the dead letters of the outbox: %w", err)
		}
		if letters {
			own = append(own, "outbox_letter")
		}
		if steps, err = pg.Grants(ctx, tx, Schema, Shadow, own...); err != nil { // own move as they are
			return err
		}
		for _, table := range own {
			steps = append(steps, "DROP TABLE "+Shadow+"."+table, "ALTER TABLE warehouse."+table+" SET SCHEMA "+Shadow)
		}
		// What people have asked for by hand, and no batch end has done yet.
		steps = append(steps, "INSERT INTO "+Shadow+".recheck (centre, test) SELECT centre, test FROM warehouse.recheck ON CONFLICT DO NOTHING")
		steps = append(steps, "ALTER SCHEMA warehouse RENAME TO "+Replaced)
	} else {
		// What is left of a schema that was dropped and partly made anew.
		steps = append(steps, "DROP SCHEMA IF EXISTS warehouse CASCADE", "DELETE FROM "+Shadow+".lease", "DELETE FROM "+Shadow+".try")
	}
	steps = append(steps, "ALTER SCHEMA "+Shadow+" RENAME TO warehouse")
	if err := execAll(ctx, tx, steps); err != nil {
		return err
	}
	// Functions, comments: what holds names as text.
	return runFile(ctx, tx, tablesFile, p.tables)
}

func execAll(ctx context.Context, tx pgx.Tx, steps []string) error {
	for _, sql := range steps {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(sql, " (", 2)[0], err)
		}
	}
	return nil
}
