package report

import (
	"testing"
	"time"
)

// An attempt's speed is that until it was received, or until it failed.
func TestSpeedOfAnAttempt(t *testing.T) {
	began := time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { moment := began.Add(d); return &moment }
	for name, tt := range map[string]struct {
		a    Attempt
		want int64
	}{
		"received":                     {Attempt{Bytes: 3000, Started: &began, Received: at(2 * time.Second)}, 1500},
		"failed":                       {Attempt{Bytes: 3000, Started: &began, Log: []LogLine{{At: *at(time.Second)}, {At: *at(time.Minute)}}}, 3000},
		"resumed":                      {Attempt{Bytes: 3000, From: new(int64(1000)), Started: &began, Received: at(2 * time.Second)}, 1000},
		"resumed and cut again":        {Attempt{Bytes: 3000, From: new(int64(9000)), Started: &began, Log: []LogLine{{At: *at(time.Second)}}}, 3000},
		"resumed from beyond its end":  {Attempt{Bytes: 3000, From: new(int64(9000)), Started: &began, Received: at(time.Second)}, 0},
		"under way":                    {Attempt{Bytes: 3000, Started: &began}, 0},
		"not begun":                    {Attempt{Bytes: 3000, Received: at(time.Second)}, 0},
		"too fast to be told":          {Attempt{Bytes: 3000, Started: &began, Received: &began}, 0},
		"received before it was begun": {Attempt{Bytes: 3000, Started: &began, Received: at(-time.Hour)}, 0},
	} {
		if got := tt.a.Speed(); got != tt.want {
			t.Errorf("%s: %d bytes a second, want %d", name, got, tt.want)
		}
	}
}
