package pg

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// togetherAtOnce is how many connections one who asks several things takes: others ask
// the same pool.
const togetherAtOnce = 3

// Together asks several things of which none needs another's answer, and returns the first
// error. Of a pool some are asked at once, each on a connection of its own; of anything
// else, such as a transaction, which has one connection, one after the other. A task does
// not itself ask Together: its connections would not be bounded then.
func Together(ctx context.Context, q Querier, tasks ...func(context.Context) error) error {
	if _, many := q.(*pgxpool.Pool); !many {
		for _, task := range tasks {
			if err := task(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(togetherAtOnce)
	for _, task := range tasks {
		group.Go(func() error { return task(ctx) })
	}
	return group.Wait()
}

// Into is a task for Together that keeps its answer.
func Into[T any](to *T, ask func(context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*to, err = ask(ctx)
		return err
	}
}
