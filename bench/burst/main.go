// Command burst measures files that appear all at once at a running system (up), beside
// the same files in runs, one after another: how long it takes until the first document
// is in the warehouse, and how many files come in per second, from the first listing to
// the last overview. Each round has a data directory of its own, and both ways take turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/bench/counters"
	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.IntVar(&b.zips, "zips", 10000, "zips of three documents")
	flag.IntVar(&b.run, "run", 500, "zips in a run; 0: they only come at once")
	flag.IntVar(&b.centres, "centres", 4, "centres that the zips are of, each with a server: 1 to 4")
	flag.IntVar(&b.rounds, "rounds", 1, "measurements of each")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration; none: the default settings")
	program.Main("burst", b.measure)
}

type bench struct {
	binary, extra              string
	zips, run, centres, rounds int
}

// measure takes turns, and tells the medians.
func (b *bench) measure(ctx context.Context) error {
	if b.centres < 1 || b.centres > ofShape || b.zips < b.centres || b.rounds < 1 || b.run < 0 {
		return fmt.Errorf("give 1 to %d centres, a zip for each, and a round", ofShape)
	}
	var firsts, onces, runs, ratios []float64
	for i := range b.rounds {
		at, err := b.round(ctx, b.zips)
		if err != nil {
			return err
		}
		firsts, onces = append(firsts, at.first.Seconds()), append(onces, at.rate)
		fmt.Printf("round %d: at once: first document after %.2f s, %.1f zips/s, at most %.1f s without a document\n", i+1, at.first.Seconds(), at.rate, at.still.Seconds())
		if b.run == 0 {
			continue
		}
		of, err := b.round(ctx, b.run)
		if err != nil {
			return err
		}
		runs, ratios = append(runs, of.rate), append(ratios, at.rate/of.rate)
		fmt.Printf("round %d: in runs of %d: %.1f zips/s; ratio %.2f\n", i+1, b.run, of.rate, at.rate/of.rate)
	}
	line := fmt.Sprintf("bench burst zips=%d centres=%d first=%.2fs once=%.1f/s", b.zips, b.centres, rounds.Median(firsts), rounds.Median(onces))
	if b.run > 0 {
		line += fmt.Sprintf(" runs=%.1f/s ratio=%.2f", rounds.Median(runs), rounds.Median(ratios))
	}
	fmt.Println(line)
	return nil
}

// What the corpus has, whatever is asked for.
const (
	ofShape = 4 // centres of corpus.Bench
	perZip  = 3 // documents
)

// figures are what one way took.
type figures struct {
	first time.Duration // from the first listing to the first document
	still time.Duration // the longest time without another document, from then to the last
	rate  float64       // zips per second, from the first listing to the last overview
}

// round has the zips appear in runs of so many at a system of its own.
func (b *bench) round(ctx context.Context, run int) (f figures, err error) {
	dir, err := os.MkdirTemp("", "tributary-burst-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs the embedded Postgres
		return f, err
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: b.zips * ofShape / b.centres})
	if err != nil {
		return f, err
	}
	r, err := rig.Start(ctx, dir, c, rig.Options{Extra: "schedule: {interval: 24h}\npoll: {settle: 0s}\n" + b.extra})
	if err != nil {
		return f, err
	}
	defer r.Stop()
	files, err := setAside(filepath.Join(dir, "sources"), filepath.Join(dir, "later"))
	if err != nil {
		return f, err
	}
	var sources []string
	for _, s := range c.Sources[:b.centres] {
		sources = append(sources, s.ID)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(sources, strings.Split(f, "/")[0]) })
	s, err := start(ctx, b.binary, r.Config, filepath.Join(dir, "data"))
	if err != nil {
		return f, err
	}
	defer s.stop()
	var took time.Duration
	shown := 0
	for part := range slices.Chunk(files, run) {
		shown += len(part)
		one, lasts, err := s.ingest(ctx, dir, part, sources, shown)
		if err != nil {
			return f, err
		}
		took += lasts
		if shown == len(part) {
			f.first = one.first
		}
		f.still = max(f.still, one.still)
	}
	f.rate = float64(shown) / took.Seconds()
	return f, nil
}

// setAside takes the files of sources away. Every source's come in turn.
func setAside(sources, later string) (files []string, err error) {
	err = filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".zip") {
			return err
		}
		below, err := filepath.Rel(sources, path)
		if err != nil {
			return err
		}
		files = append(files, below)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(later, below)), 0o755); err != nil {
			return err
		}
		return os.Rename(path, filepath.Join(later, below))
	})
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return files, err
}

// system is a running up.
type system struct {
	binary, config string
	up             *program.Up
	conn           *pgx.Conn
}

// start starts up, whose sources show nothing, and waits until its first session is over.
func start(ctx context.Context, binary, config, data string) (*system, error) {
	up, err := program.Start(ctx, binary, config, look, patience)
	if err != nil {
		return nil, err
	}
	s := &system{binary: binary, config: config, up: up}
	if s.conn, err = counters.Connect(ctx, data); err == nil {
		err = s.up.Eventually(ctx, func() (bool, error) {
			var over bool
			err := s.conn.QueryRow(ctx, "SELECT count(*) > 0 AND bool_and(closed_at IS NOT NULL) FROM control.session").Scan(&over)
			return err == nil && over, nil // the tables may not be there yet
		})
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *system) stop() {
	if s.conn != nil {
		_ = s.conn.Close(context.Background()) // the engines go next
	}
	s.up.Stop()
}

const (
	patience = time.Hour
	look     = 50 * time.Millisecond
)

// ingest shows files to the sources, has them polled, and waits until all that were ever
// shown are in the warehouse, with their overviews. It lasts from when the first session
// was opened that found some until the last was closed.
func (s *system) ingest(ctx context.Context, dir string, files, sources []string, shown int) (f figures, lasts time.Duration, err error) {
	var before, sessions int64
	if err := s.conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM warehouse.document), (SELECT max(number) FROM control.session)").Scan(&before, &sessions); err != nil {
		return f, 0, err
	}
	for _, file := range files {
		if err := os.Rename(filepath.Join(dir, "later", file), filepath.Join(dir, "sources", file)); err != nil {
			return f, 0, err
		}
	}
	args := slices.Concat([]string{"sources", "poll", "--reason", "files have appeared", "--config", s.config}, sources)
	if out, err := exec.CommandContext(ctx, s.binary, args...).CombinedOutput(); err != nil {
		return f, 0, fmt.Errorf("tributary sources poll: %w\n%s", err, out)
	}
	var opened, closed, first, last time.Time
	loaded := before
	err = s.up.Eventually(ctx, func() (bool, error) {
		var n int64
		var open bool
		if err := s.conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM warehouse.document), EXISTS (SELECT FROM control.session WHERE closed_at IS NULL)").Scan(&n, &open); err != nil {
			return false, err
		}
		if now := time.Now(); n > loaded {
			if loaded > before {
				f.still = max(f.still, now.Sub(last))
			} else {
				first = now
			}
			loaded, last = n, now
		}
		return loaded >= int64(shown*perZip) && !open, nil
	})
	if err != nil {
		return f, 0, err
	}
	if err := s.conn.QueryRow(ctx, "SELECT min(opened_at), max(closed_at) FROM control.session WHERE number > $1", sessions).Scan(&opened, &closed); err != nil {
		return f, 0, err
	}
	f.first = first.Sub(opened)
	return f, closed.Sub(opened), nil
}
