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
	"path/filepath"
	"time"

	"tributary/bench/counters"
	"tributary/bench/program"
	"tributary/test/corpus"
	"tributary/test/ports"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.zips, "zips", 4000, "zips of three documents, in all slices together")
	flag.IntVar(&b.slices, "slices", 8, "slices, every other one with readers; an even number")
	flag.IntVar(&b.readers, "readers", 500, "people who have a page open")
	program.Main("readers", b.run)
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
	free, err := ports.Free(1)
	if err != nil {
		return err
	}
	listen := free[0].String()
	r, err := rig.Start(ctx, b.dir, c, rig.Options{Local: true, Extra: "web: {listen: '" + listen + "'}\npoll: {settle: 0s}\n"})
	if err != nil {
		return err
	}
	defer r.Stop()
	parts, err := setAside(filepath.Join(b.dir, "sources"), filepath.Join(b.dir, "later"), b.slices)
	if err != nil {
		return err
	}
	var sources []string
	for _, x := range c.Sources {
		sources = append(sources, x.ID)
	}
	s, err := startSystem(ctx, binary, r.Config, "http://"+listen, sources)
	if err != nil {
		return err
	}
	defer s.up.Stop()
	return b.measure(ctx, s, parts)
}

// half is what came of the slices with readers, or of those without.
type half struct {
	files         int
	took          time.Duration
	cost          counters.Used
	events, pages int64
}

func (h *half) add(x half) {
	h.files, h.took, h.cost = h.files+x.files, h.took+x.took, h.cost.Plus(x.cost)
	h.events, h.pages = h.events+x.events, h.pages+x.pages
}

func (h half) rate() float64 { return float64(h.files) / h.took.Seconds() }

// each is how many milliseconds of the processor the program, or its engines, took for
// each file.
func (h half) each(of time.Duration) float64 {
	return float64(of.Microseconds()) / 1000 / float64(h.files)
}

// measure ingests slice after slice, the first of each half to warm up.
func (b *bench) measure(ctx context.Context, s *system, parts []part) error {
	var halves [2]half
	seen := 0
	for i, p := range parts {
		seen += len(p.files)
		readers := 0
		if i%2 == 1 {
			readers = b.readers
		}
		h, err := slice(ctx, s, p, seen, readers)
		if err != nil {
			return fmt.Errorf("slice %d: %w", i+1, err)
		}
		fmt.Printf("slice %d: %d files in %.1f s, %d readers heard %d events and fetched %d pages; processor: %.1f s program, %.1f s engines, %.1f s readers\n",
			i+1, h.files, h.took.Seconds(), readers, h.events, h.pages, h.cost.Program.Seconds(), h.cost.Engines().Seconds(), h.cost.Self.Seconds())
		if i >= 2 || len(parts) == 2 {
			halves[i%2].add(h)
		}
	}
	without, with := halves[0], halves[1]
	fmt.Printf("bench readers without=%.1f/s with=%.1f/s readers=%d ratio=%.2f\n", without.rate(), with.rate(), b.readers, with.rate()/without.rate())
	// What a file costs without readers is taken away, the rest is theirs.
	page := func(without, with float64) float64 {
		return (with - without) * float64(halves[1].files) / float64(max(1, halves[1].pages))
	}
	fmt.Printf("bench readers processor per file: program %.0f ms, engines %.0f ms; per page and what led to it: program %.1f ms, engines %.1f ms, reader %.1f ms\n",
		without.each(without.cost.Program), without.each(without.cost.Engines()),
		page(without.each(without.cost.Program), with.each(with.cost.Program)), page(without.each(without.cost.Engines()), with.each(with.cost.Engines())),
		page(0, with.each(with.cost.Self)))
	return nil
}

// slice ingests one of them, with so many readers; all are the files that will then have
// been shown.
func slice(ctx context.Context, s *system, p part, all, readers int) (h half, err error) {
	look := openPages(ctx, s.address, s.token, readers)
	if err := look.wait(ctx); err != nil {
		return h, err
	}
	before, err := counters.Of(s.up.PID())
	if err != nil {
		return h, err
	}
	if h.took, err = s.ingest(ctx, p, all); err != nil {
		return h, err
	}
	after, err := counters.Of(s.up.PID())
	if err != nil {
		return h, err
	}
	h.files, h.cost = len(p.files), after.Minus(before)
	if h.events, h.pages, err = look.close(); err != nil {
		return h, fmt.Errorf("a reader met an error: %w", err)
	}
	return h, nil
}
