package warehouse

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/sql/beside"
)

// Swap makes the schema Built the live one, in one transaction: leases, what waits
// in the outbox, and the tries stay those of the live one; so do the rights that
// were granted. check is done first, in the same transaction. Whoever reads sees
// the one or the other. The schema that was live is left as Replaced.
func Swap(ctx context.Context, db pg.Beginner, fsys fs.FS, m *mapping.Mapping, check func(pgx.Tx) error) error {
	p, err := readProfile(fsys, m)
	if err != nil {
		return err
	}
	if err := pg.InTx(ctx, db, func(tx pgx.Tx) error { return swap(ctx, tx, p, check) }); err != nil {
		return fmt.Errorf("swap the rebuilt schema in: %w", err)
	}
	return nil
}

func swap(ctx context.Context, tx pgx.Tx, p *profile, check func(pgx.Tx) error) error {
	if err := pg.LockSchema(ctx, tx, Schema); err != nil { // nobody migrates it meanwhile, or gives rights to it
		return err
	}
	// Of a schema that was dropped and partly made anew nothing is kept.
	s := beside.Swap{Live: Schema, Built: Built}
	live, err := Exists(ctx, tx, Schema)
	if err != nil {
		return err
	}
	if live {
		if s, err = exchange(ctx, tx); err != nil {
			return err
		}
		if err := beside.Lock(ctx, tx, Schema, s.Moves...); err != nil {
			return err
		}
	}
	if err := check(tx); err != nil {
		return err
	}
	keep := "DELETE FROM " + Built + ".lease; DELETE FROM " + Built + ".try"
	if live {
		// What people have asked for by hand, and no batch end has done yet.
		keep = "INSERT INTO " + Built + ".recheck (centre, test) SELECT centre, test FROM warehouse.recheck ON CONFLICT DO NOTHING"
	}
	if _, err := tx.Exec(ctx, keep); err != nil {
		return fmt.Errorf("prepare %s: %w", Built, err)
	}
	if err := s.In(ctx, tx); err != nil {
		return err
	}
	// Functions, comments: what holds names as text.
	return runFile(ctx, tx, tablesFile, p.tables)
}

// exchange is the swap with a live schema. A schema that only older members have
// migrated has no table for the dead letters of its outbox.
func exchange(ctx context.Context, tx pgx.Tx) (beside.Swap, error) {
	s := beside.Swap{Live: Schema, Built: Built, Replaced: Replaced, Moves: []string{"outbox", "lease", "try"}}
	var letters bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass('warehouse.outbox_letter') IS NOT NULL").Scan(&letters); err != nil {
		return s, fmt.Errorf("look for the dead letters of the outbox: %w", err)
	}
	if letters {
		s.Moves = append(s.Moves, "outbox_letter")
	}
	var err error
	s.Own, err = own(ctx, tx)
	return s, err
}

// CompleteLease adds what the table of leases lacks in a schema that only older members
// have migrated: a rebuild works there under a lease, and keeps the table.
func CompleteLease(ctx context.Context, tx pgx.Tx) error {
	return pg.Exec(ctx, tx, "complete the leases of the warehouse", "ALTER TABLE warehouse.lease ADD COLUMN IF NOT EXISTS taken_at timestamptz NOT NULL DEFAULT now()")
}
