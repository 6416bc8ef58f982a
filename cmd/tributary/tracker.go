package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/consumers/tracker"
	"tributary/internal/screen"
)

func newTracker(c *cli) *cobra.Command {
	return group("tracker", "Prove the tracker's rows equal to the log, or build them anew from it", newTrackerVerify(c), newTrackerRebuild(c))
}

// withBuilder runs fn with what builds the tracker from the log.
func (c *cli) withBuilder(ctx context.Context, fn func(*tracker.Builder) error) error {
	return c.open(ctx, need{Kafka: true, Postgres: true}, func(s *stores) error {
		_, codec, err := s.decided(ctx)
		if err != nil {
			return err
		}
		p, err := loadProfile(s.cfg)
		if err != nil {
			return usage(err)
		}
		known, err := meanings(p)
		if err != nil {
			return err
		}
		told := &steps{w: c.stderr, now: time.Now}
		err = fn(&tracker.Builder{Pool: s.Tracker, Connect: s.Kafka, Prefix: s.cfg.Kafka.TopicPrefix, Codec: codec, Meanings: known,
			Told: func(p tracker.Progress) { told.step(p.Step, p.Done, p.Total) }})
		told.end()
		return err
	})
}

// steps writes the progress of something long: a line when a step begins, and
// every few seconds how far it is; on a terminal in one line.
type steps struct {
	w   io.Writer
	now func() time.Time

	name  string
	began time.Time
	last  time.Time
}

// stepEvery is how often progress is told: people look at a terminal, others
// keep what is written.
func (s *steps) every() time.Duration {
	if screen.On(s.w) != nil {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

func (s *steps) step(name string, done, total int64) {
	now := s.now()
	if name != s.name {
		s.name, s.began, s.last = name, now, time.Time{}
	}
	if now.Sub(s.last) < s.every() {
		return
	}
	s.last = now
	text := name
	if total > 0 {
		text += fmt.Sprintf(": %d of %d records (%d %%)", done, total, done*100/total)
		if took := now.Sub(s.began); done > 0 && took > time.Second {
			text += fmt.Sprintf(", %.0f a second", float64(done)/took.Seconds())
		}
	}
	showLine(s.w, text)
}

func (s *steps) end() {
	if s.name != "" {
		showLine(s.w, "")
	}
}
