// Command readers measures what people who look on cost ingest. One process (up) ingests
// a corpus slice by slice; every other slice READERS people have a page open, hear of
// changes by server-sent events, and fetch the page again as its script does: at the
// soonest after nine times as long as the last fetch took, between a second and a
// minute. Both halves are of one run, in turn, so that both meet the same machine; the
// readers run on it too, in this process. The last line gives the rates and their ratio.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.zips, "zips", 4000, "zips of three documents, in all slices together")
	flag.IntVar(&b.slices, "slices", 8, "slices, every other one with readers; an even number")
	flag.IntVar(&b.readers, "readers", 500, "people who have a page open")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench readers:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary, dir           string
	zips, slices, readers int
}

func (b *bench) run(ctx context.Context) error {
	binary, err := filepath.Abs(b.binary)
	if err != nil {
		return err
	}
	if b.slices < 2 || b.slices%2 != 0 || b.zips < b.slices {
		return fmt.Errorf("%d slices of %d zips: give an even number of slices, and at least a zip for each", b.slices, b.zips)
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-readers-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		if err := os.Chmod(b.dir, 0o755); err != nil { // another user runs the embedded Postgres
			return err
		}
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: b.zips})
	if err != nil {
		return err
	}
	listen, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	r, err := rig.Start(ctx, b.dir, c, rig.Options{Local: true, Extra: "web: {listen: '" + listen + "'}\npoll: {settle: 0s}\n"})
	if err != nil {
		return err
	}
	defer r.Stop()
	parts, err := setAside(filepath.Join(b.dir, "sources"), filepath.Join(b.dir, "later"), b.slices)
	if err != nil {
		return err
	}
	s, err := startSystem(ctx, binary, r.Config, "http://"+listen)
	if err != nil {
		return err
	}
	defer s.stop()
	return b.measure(ctx, s, parts)
}

// measure ingests slice after slice, the first of them to warm up.
func (b *bench) measure(ctx context.Context, s *system, parts []part) error {
	var took [2]time.Duration
	var files [2]int
	seen := 0
	for i, p := range parts {
		with := i % 2
		var look *readers
		if with == 1 {
			look = openPages(ctx, s.address, s.token, b.readers)
			if err := look.wait(ctx); err != nil {
				return err
			}
		}
		seen += len(p.files)
		d, err := s.ingest(ctx, p, seen)
		if err != nil {
			return err
		}
		said := "without readers"
		if look != nil {
			events, pages, failed := look.close()
			said = fmt.Sprintf("with %d readers: %d events, %d pages", b.readers, events, pages)
			if failed != nil {
				return fmt.Errorf("slice %d: a reader met an error: %w", i+1, failed)
			}
		}
		fmt.Printf("slice %d: %d files in %.1f s, %s\n", i+1, len(p.files), d.Seconds(), said)
		if i >= 2 || len(parts) == 2 { // the first of each warm up
			took[with], files[with] = took[with]+d, files[with]+len(p.files)
		}
	}
	rate := func(i int) float64 { return float64(files[i]) / took[i].Seconds() }
	fmt.Printf("bench readers without=%.1f/s with=%.1f/s readers=%d ratio=%.2f\n", rate(0), rate(1), b.readers, rate(1)/rate(0))
	return nil
}
