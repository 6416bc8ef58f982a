package deadline_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/deadline"
)

var errLate = errors.New("late")

// A limit counts the time in which nobody holds it, whoever else does, and that of all
// around it likewise.
func TestALimitStandsStillWhileItIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		around, cancel := deadline.After(t.Context(), 10*time.Second, errLate)
		defer cancel()
		within, cancel := deadline.After(around, 5*time.Second, errLate)
		defer cancel()
		time.Sleep(4 * time.Second)
		first, second := deadline.Hold(within), deadline.Hold(within)
		time.Sleep(time.Hour)
		first()
		time.Sleep(time.Hour)
		second()
		time.Sleep(999 * time.Millisecond)
		if within.Err() != nil {
			t.Fatal("it ends early:", context.Cause(within))
		}
		time.Sleep(2 * time.Millisecond)
		if !errors.Is(context.Cause(within), errLate) || around.Err() != nil {
			t.Fatalf("after 5 s that count: %v, around it %v", context.Cause(within), around.Err())
		}
		deadline.Hold(within)() // of what has ended
		time.Sleep(5 * time.Second)
		if !errors.Is(context.Cause(around), errLate) {
			t.Fatal("what is around it does not end:", context.Cause(around))
		}
	})
}

// What is watched goes on when the watch is stopped, and is told of when it is late.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Int32
		watched, stop := deadline.Watch(t.Context(), time.Second, func() { late.Add(1) })
		release := deadline.Hold(watched)
		time.Sleep(time.Minute)
		release()
		if !stop() || stop() || watched.Err() != nil {
			t.Error("it is late, or ends, though it was held and stopped")
		}
		_, stop = deadline.Watch(t.Context(), time.Second, func() { late.Add(1) })
		time.Sleep(2 * time.Second)
		if stop() || late.Load() != 1 {
			t.Errorf("late %d times, want once", late.Load())
		}
	})
}

// Without a limit there is nothing to hold, and what was given up stays so.
func TestHoldOfNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadline.Hold(t.Context())()
		ctx, cancel := deadline.After(t.Context(), time.Second, errLate)
		release := deadline.Hold(ctx)
		cancel()
		release()
		time.Sleep(time.Minute)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Error(context.Cause(ctx))
		}
	})
}
