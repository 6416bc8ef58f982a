package clock_test

import (
	"testing"
	"time"

	"tributary/internal/clock"
)

func TestEvenSeconds(t *testing.T) {
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	for name, tt := range map[string]struct {
		shows func(*clock.Even)
		want  time.Duration
	}{
		"nothing": {func(*clock.Even) {}, 0},
		"sixteen even ones": {func(e *clock.Even) {
			for i := range 16 {
				e.Shows(second(2*i+2), time.Second)
			}
		}, clock.FAT},
		"fifteen": {func(e *clock.Even) {
			for i := range 15 {
				e.Shows(second(2*i+2), time.Second)
			}
		}, 0},
		"the same one again and again": {func(e *clock.Even) {
			for range 100 {
				e.Shows(second(2), time.Second)
			}
		}, 0},
		"one odd one after many": {func(e *clock.Even) {
			for i := range 30 {
				e.Shows(second(2*i+2), time.Second)
			}
			e.Shows(second(5), time.Second)
		}, 0},
		"even ones after an odd one": {func(e *clock.Even) {
			e.Shows(second(5), time.Second)
			for i := range 30 {
				e.Shows(second(2*i+2), time.Second)
			}
		}, 0},
		"fractions": {func(e *clock.Even) {
			for i := range 30 {
				e.Shows(second(2*i+2).Add(time.Millisecond), time.Nanosecond)
			}
		}, 0},
		"minutes, as they are shown": {func(e *clock.Even) {
			for i := range 30 {
				e.Shows(second(2*i+2), time.Minute)
			}
		}, 0},
		"minutes that look like seconds": {func(e *clock.Even) {
			for i := range 30 {
				e.Shows(second(60*i), time.Second)
			}
		}, 0},
		"no time": {func(e *clock.Even) {
			for i := range 30 {
				e.Shows(second(2*i+2), time.Second)
				e.Shows(time.Time{}, 0)
			}
		}, clock.FAT},
	} {
		var e clock.Even
		tt.shows(&e)
		if got := e.Exact(); got != tt.want {
			t.Errorf("%s: exact to %s, want %s", name, got, tt.want)
		}
	}
}
