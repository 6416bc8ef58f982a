package report_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
)

// Statements are answered while others ask too, the schema is migrated and
// replaced, and a build makes one of its own; and none of these is disturbed.
func TestSQLWhileTablesChange(t *testing.T) {
	pool := reporttest.Filled(t)
	locked := func(sql string) func() error {
		return func() error {
			return pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
				if err := pg.LockSchema(t.Context(), tx, "tracker"); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), sql)
				return err
			})
		}
	}
	free := func(sql string) func() error {
		return func() error {
			_, err := pool.Exec(t.Context(), sql)
			return err
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var changing errgroup.Group
	for _, steps := range [][]func() error{
		{locked("CREATE TABLE tracker.passing (n int)"), locked("ALTER TABLE tracker.passing ADD COLUMN m int"), locked("DROP TABLE tracker.passing")},
		{locked("CREATE TABLE tracker.unseen (n int); ALTER SCHEMA tracker RENAME TO away; ALTER SCHEMA away RENAME TO tracker"), locked("DROP TABLE tracker.unseen")},
		{free("CREATE SCHEMA tracker_verify"), free("CREATE TABLE tracker_verify.t (n int)"), free("ALTER TABLE tracker_verify.t ADD COLUMN m int"), free("DROP SCHEMA tracker_verify CASCADE")},
	} {
		changing.Go(func() error {
			for ctx.Err() == nil {
				for _, step := range steps {
					if err := step(); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	times := 40 // of each who asks
	if testing.Short() {
		times = 10
	}
	var asking errgroup.Group
	for range 4 {
		asking.Go(func() error {
			for range times {
				if _, err := sqlOn(t.Context(), report.Postgres{Pool: pool, Schema: "tracker"}, "SELECT 1 AS n", report.JSON); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := asking.Wait()
	stop()
	if err := errors.Join(err, changing.Wait()); err != nil {
		t.Error(err)
	}
}
