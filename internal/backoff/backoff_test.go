package backoff_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/backoff"
)

func TestPausesDoubleUpToTheirBound(t *testing.T) {
	e := backoff.Exponential{Base: time.Second, Max: 5 * time.Second}
	for n, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 40: 5 * time.Second, 4000: 5 * time.Second} {
		if got := e.After(n); got != want {
			t.Errorf("after %d failures %v, want %v", n, got, want)
		}
	}
}

func TestHalfIsLeftToChance(t *testing.T) {
	e := backoff.Exponential{Base: 100, Max: 1000}
	for n, want := range map[int]time.Duration{1: 100, 2: 200, 3: 400, 5: 1000, 1000: 1000} {
		for range 100 {
			if got := e.Jittered(n); got < want/2 || got > want {
				t.Errorf("after %d failures: %d, want %d to %d", n, got, want/2, want)
			}
		}
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := backoff.Sleep(ctx, 40*time.Second); err != nil || time.Since(began) != 40*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := backoff.Sleep(ctx, 40*time.Second); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestTurnsComeAtOnceAndAfterEachPauseUntilTheirContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var at []time.Duration
		for range backoff.Every(ctx, time.Minute) {
			if at = append(at, time.Since(began)); len(at) == 2 {
				time.Sleep(90 * time.Second) // a turn that takes longer than the pause
			}
			if len(at) == 4 {
				cancel()
			}
		}
		if want := []time.Duration{0, time.Minute, 150 * time.Second, 180 * time.Second}; !slices.Equal(want, at) {
			t.Errorf("turns at %v, want %v", at, want)
		}
	})
}

func TestTurnsEndWithTheLoop(t *testing.T) {
	n := 0
	for range backoff.Every(t.Context(), time.Hour) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
}
