package sink

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// InOrder makes something of each part of a log and hands that on in the order of the
// parts. Read calls next with each part; the workers make something of several beside each
// other; take is called with what was made of one after another, in a goroutine of its
// own, while more is read and made. Ahead is how many more parts may wait for take than
// there are workers. The first error of any of them ends all, and is returned; without one
// all parts were taken.
func InOrder[In, Out any](ctx context.Context, ahead int, workers []func(In) (Out, error),
	read func(ctx context.Context, next func(In) error) error, take func(ctx context.Context, out Out) error) error {
	type job struct {
		in  In
		out chan Out // of one
	}
	g, ctx := errgroup.WithContext(ctx)
	todo, outs := make(chan job), make(chan chan Out, ahead)
	g.Go(func() error {
		defer close(todo)
		defer close(outs)
		return read(ctx, func(in In) error {
			j := job{in, make(chan Out, 1)}
			if err := Send(ctx, todo, j); err != nil {
				return err
			}
			return Send(ctx, outs, j.out)
		})
	})
	for _, work := range workers {
		g.Go(func() error {
			for j := range todo {
				out, err := work(j.in)
				if err != nil {
					return err
				}
				j.out <- out
			}
			return nil
		})
	}
	g.Go(func() error {
		for made := range outs {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case out := <-made:
				if err := take(ctx, out); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
	return g.Wait()
}

// Send sends a value, or returns the context's error when it ends before.
func Send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case to <- v:
		return nil
	}
}
