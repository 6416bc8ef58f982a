// Command up measures a process (up, with its engines) that zips appear to, all at the same
// moment: how many a second are in the warehouse, their overviews made, beside the same in
// runs of few (-at-once); when the first document is there (-first); and how long a single
// one takes with nothing else to do (-one-file).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tributary/bench/counters"
	"tributary/bench/rounds"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration")
	flag.IntVar(&b.atOnce, "at-once", 0, "zips of four centres that appear at once, and then in runs of few")
	flag.IntVar(&b.few, "few", 500, "zips of such a run")
	flag.IntVar(&b.first, "first", 0, "zips of one centre that appear at once, of which the first document is waited for")
	flag.BoolVar(&b.oneFile, "one-file", false, "show one zip after the other")
	flag.IntVar(&b.rounds, "rounds", 9, "how many, one after the other")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench up:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary, extra      string
	atOnce, few, first int
	oneFile            bool
	rounds             int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	switch {
	case b.atOnce > 0:
		return b.measureAtOnce(ctx)
	case b.first > 0:
		return b.measureFirst(ctx)
	case b.oneFile:
		return b.measureOne(ctx)
	}
	return errors.New("say what to measure: -at-once, -first or -one-file")
}

// measureAtOnce compares the zips per second of many that appear at once with those of runs
// of few, from the session that found the first to the last overview.
func (b *bench) measureAtOnce(ctx context.Context) error {
	var rate [2]float64
	var still time.Duration
	var memory int64
	for i, run := range []int{b.atOnce, b.few} {
		err := b.with(ctx, b.atOnce, func(s *system) error {
			var took time.Duration
			for shown := 0; shown < b.atOnce; shown += run {
				one, longest, err := s.ingest(ctx, s.take(run))
				if err != nil {
					return err
				}
				if took += one; i == 0 {
					still, memory = longest, counters.Peak(s.up.Process.Pid)
				}
			}
			rate[i] = float64(b.atOnce) / took.Seconds()
			fmt.Printf("%d zips in runs of %d: %.1f s, %.0f zips a second\n", b.atOnce, run, took.Seconds(), rate[i])
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("bench at-once ours=%.0f/s peer=%.0f/s ratio=%.2f rounds=1 longest_without_progress=%.2fs memory=%dMB\n", rate[0], rate[1], rate[0]/rate[1], still.Seconds(), memory/1e6)
	return nil
}

// measureFirst waits for the first document of many zips of one centre.
func (b *bench) measureFirst(ctx context.Context) error {
	return b.with(ctx, b.first*centres, func(s *system) error {
		if err := s.show(ctx, s.hidden[0]); err != nil {
			return err
		}
		var first time.Duration
		err := s.eventually(ctx, func() (done bool, err error) {
			var loaded bool
			var since float64
			err = s.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM warehouse.document), "+sinceFound, s.before).Scan(&loaded, &since)
			first = time.Duration(since * float64(time.Second))
			return loaded, err
		})
		if err != nil {
			return err
		}
		took, _, err := s.ingested(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("bench first first=%.2fs all=%.1fs rounds=1\n", first.Seconds(), took.Seconds())
		return nil
	})
}

// measureOne shows one zip after the other, and times each from its listing on.
func (b *bench) measureOne(ctx context.Context) error {
	return b.with(ctx, b.rounds+1, func(s *system) error {
		var took []float64
		for i := range b.rounds + 1 {
			if _, _, err := s.ingest(ctx, s.take(1)); err != nil {
				return err
			}
			var since float64
			if err := s.conn.QueryRow(ctx, "SELECT extract(epoch FROM clock_timestamp() - max(listed_at))::float8 FROM control.look").Scan(&since); err != nil {
				return err
			}
			fmt.Printf("zip %d: %.2f s\n", i+1, since)
			if i > 0 { // the first makes plans and connections
				took = append(took, since)
			}
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
		}
		fmt.Printf("bench one-file ours=%.2fs rounds=%d\n", rounds.Median(took), len(took))
		return nil
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
