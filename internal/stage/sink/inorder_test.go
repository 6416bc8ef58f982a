package sink

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is made of the first part is handed on first, though the second is made before it.
func TestInOrder(t *testing.T) {
	second := make(chan struct{})
	work := func(n int) (int, error) {
		switch n {
		case 0:
			<-second
		case 1:
			close(second)
		}
		return 10 * n, nil
	}
	var got []int
	err := InOrder(t.Context(), 1, []func(int) (int, error){work, work}, upTo(6), func(_ context.Context, n int) error {
		got = append(got, n)
		return nil
	})
	if d := cmp.Diff([]int{0, 10, 20, 30, 40, 50}, got); err != nil || d != "" {
		t.Errorf("%v, (-want +got):\n%s", err, d)
	}
}

// Whoever fails ends the others.
func TestInOrderEnds(t *testing.T) {
	wrong := errors.New("wrong")
	fails := func(at int) func(int) (int, error) {
		return func(n int) (int, error) {
			if n == at {
				return 0, wrong
			}
			return n, nil
		}
	}
	for name, c := range map[string]struct {
		work, take int // the part at which each fails
		read       func(context.Context, func(int) error) error
	}{
		"a worker": {work: 3, take: -1, read: upTo(1000)},
		"take":     {work: -1, take: 3, read: upTo(1000)},
		"read": {work: -1, take: -1, read: func(ctx context.Context, next func(int) error) error {
			return errors.Join(upTo(3)(ctx, next), wrong)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			take := fails(c.take)
			err := InOrder(t.Context(), 1, []func(int) (int, error){fails(c.work), fails(c.work)}, c.read, func(_ context.Context, n int) error {
				_, err := take(n)
				return err
			})
			if !errors.Is(err, wrong) {
				t.Errorf("got %v, want the error", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := InOrder(ctx, 1, []func(int) (int, error){fails(-1)}, upTo(3), func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a context that has ended", err)
	}
}

func upTo(n int) func(context.Context, func(int) error) error {
	return func(_ context.Context, next func(int) error) error {
		for i := range n {
			if err := next(i); err != nil {
				return err
			}
		}
		return nil
	}
}
