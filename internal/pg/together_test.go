package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/test/wait"
)

// Of a pool several things are asked at once, each on its own connection; a transaction
// is asked one thing after another, and no more once one has failed.
func TestTogether(t *testing.T) {
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	numbers := make([]int, 8)
	asking := func(q pg.Querier) (tasks []func(context.Context) error) {
		for i := range numbers {
			tasks = append(tasks, pg.Into(&numbers[i], func(ctx context.Context) (n int, err error) {
				err = q.QueryRow(ctx, "SELECT $1::int", i+1).Scan(&n)
				return n, err
			}))
		}
		return tasks
	}
	all := func(what string) {
		t.Helper()
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("%s: %d is answered with %d", what, i+1, n)
			}
		}
		clear(numbers)
	}
	if err := pg.Together(t.Context(), pool, asking(pool)...); err != nil {
		t.Error(err)
	}
	all("a pool")

	// Two that wait for each other come to their end only if they are asked at once.
	first, second := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}) func(context.Context) error {
		return func(ctx context.Context) error {
			close(mine)
			select {
			case <-other:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	if err := pg.Together(ctx, pool, meet(first, second), meet(second, first)); err != nil {
		t.Errorf("a pool is asked one thing after another: %v", err)
	}
	bad, later := errors.New("bad"), false
	fails := func(context.Context) error { return bad }
	ends := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if err := pg.Together(t.Context(), pool, fails, ends); !errors.Is(err, bad) {
		t.Errorf("a pool: %v", err)
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if err := pg.Together(t.Context(), tx, asking(tx)...); err != nil {
			return err
		}
		all("a transaction")
		if err := pg.Together(t.Context(), tx, fails, func(context.Context) error { later = true; return nil }); !errors.Is(err, bad) || later {
			t.Errorf("a transaction: %v, and what came later was asked: %v", err, later)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
