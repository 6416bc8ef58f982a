package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/retry"
)

func TestDo(t *testing.T) {
	cause := errors.New("cause")
	for name, tc := range map[string]struct {
		policy retry.Policy
		fail   func(call int) error
		calls  int
		want   error
	}{
		"at once":    {retry.Policy{}, func(int) error { return nil }, 1, nil},
		"third time": {retry.Policy{}, func(n int) error { return map[bool]error{true: cause}[n < 3] }, 3, nil},
		"permanent":  {retry.Policy{}, func(int) error { return retry.Permanent(cause) }, 1, cause},
		"wrapped":    {retry.Policy{}, func(int) error { return fmt.Errorf("w: %w", retry.Permanent(cause)) }, 1, cause},
		"attempts":   {retry.Policy{Attempts: 4}, func(int) error { return cause }, 4, cause},
		"total":      {retry.Policy{Base: time.Nanosecond, Total: time.Nanosecond}, func(int) error { return cause }, 1, cause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, told := 0, 0
				err := retry.Do(t.Context(), tc.policy, func(context.Context) error {
					calls++
					return tc.fail(calls)
				}, func(attempt int, err error, pause time.Duration) {
					told++
					if attempt != told || err == nil || pause <= 0 {
						t.Errorf("told attempt %d, %v, %s", attempt, err, pause)
					}
				})
				if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || calls < 1 || name != "total" && calls != tc.calls {
					t.Errorf("%v after %d calls; want %v after %d", err, calls, tc.want, tc.calls)
				}
				if told != calls-1 {
					t.Errorf("told %d failures of %d calls", told, calls)
				}
			})
		})
	}
}

func TestContextEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cause := errors.New("cause")
		calls := 0
		err := retry.Do(ctx, retry.Policy{Base: time.Hour, Max: time.Hour}, func(context.Context) error { calls++; return cause },
			func(int, error, time.Duration) { cancel() })
		if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

func TestPauseStaysBelowItsBound(t *testing.T) {
	p := retry.Policy{Base: time.Second, Max: 5 * time.Second}
	for attempt, bound := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 5, 1000: 5} {
		var most time.Duration
		for range 2000 {
			pause := p.Pause(attempt)
			if pause <= 0 || pause > bound*time.Second {
				t.Fatalf("attempt %d: pause %s beyond %d s", attempt, pause, bound)
			}
			most = max(most, pause)
		}
		if most < bound*time.Second/2 {
			t.Errorf("attempt %d: no pause of 2,000 beyond half the bound", attempt)
		}
	}
}
