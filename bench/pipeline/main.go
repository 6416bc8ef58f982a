// Command pipeline times the whole pipeline beside what a user would write instead: a
// shell pipeline (lftp mirror, unzip and xmllint, without a database), and a script in
// Python that loads a Postgres (ingest.py). All fetch the same files from the same real
// OpenSSH servers, in turn, and the lines at the end give the medians of all rounds. With
// -growth it tells instead whether a zip costs the same among many as among few, and with
// -cost what a zip costs by statement of Postgres.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.zips, "zips", 2000, "zips of three documents")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	flag.IntVar(&b.growth, "growth", 0, "run ours alone, with so many zips and with 500 in turn, and compare the processor's time per zip")
	flag.IntVar(&b.statements, "cost", 0, "run ours once and no peer, and tell what it costs: the processor's time, and statements and bytes of the log of Postgres; list so many of its statements")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration; none: the default settings")
	program.Main("pipeline", b.run)
}

type bench struct {
	binary, dir, extra string
	zips, rounds       int
	growth, statements int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		if err := os.Chmod(b.dir, 0o755); err != nil { // another user runs the embedded Postgres
			return err
		}
	}
	switch {
	case b.growth > 0:
		return b.grow(ctx)
	case b.statements > 0:
		return b.cost(ctx)
	}
	return b.beside(ctx)
}

// rig serves zips from a folder of its own.
func (b *bench) rig(ctx context.Context, name string, zips int) (*rig.Rig, error) {
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return rig.Start(ctx, dir, c, rig.Options{Extra: b.extra})
}

// beside measures ours and both peers, round by round.
func (b *bench) beside(ctx context.Context) (err error) {
	for _, tool := range []string{"lftp", "unzip", "xmllint"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("the peer needs %s: install lftp, unzip and libxml2-utils", tool)
		}
	}
	s, err := startScript(ctx, b.dir)
	if err != nil {
		return err
	}
	defer s.stop()
	var shell, script rounds.Pairs
	var memory []float64
	for i := range b.rounds {
		err := func() error {
			r, err := b.rig(ctx, fmt.Sprint(i), b.zips)
			if err != nil {
				return err
			}
			defer r.Stop()
			o, err := b.ours(ctx, r)
			if err != nil {
				return err
			}
			memory = append(memory, o.memory)
			p, err := timeShell(ctx, r)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("round %d: ours %.2f s (%.2f s of CPU, engines included; %.0f MB), shell %.2f s, ratio %.2f", i+1, o.wall, o.cpu, o.memory, p, shell.Add(o.wall, p))
			if s != nil {
				took, cpu, err := s.time(ctx, r, i)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(", script %.2f s (%.2f s of CPU without its Postgres), ratio %.2f", took, cpu, script.Add(o.wall, took))
			}
			fmt.Println(text)
			return nil
		}()
		if err != nil {
			return err
		}
	}
	fmt.Println(shell.Line("pipeline", fmt.Sprintf("memory=%.0fMB", rounds.Median(memory))))
	if s != nil {
		fmt.Println(script.Line("script"))
	}
	return nil
}

// few is the number of zips that a growing number is compared with.
const few = 500

// grow compares the processor's time per zip of many zips with that of few. The clock
// says nothing of it.
func (b *bench) grow(ctx context.Context) error {
	var each rounds.Pairs
	for i := range b.rounds {
		var took [2]float64
		for k, zips := range []int{few, b.growth} {
			r, err := b.rig(ctx, fmt.Sprintf("%d-%d", i, zips), zips)
			if err != nil {
				return err
			}
			o, err := b.ours(ctx, r)
			r.Stop()
			if err != nil {
				return err
			}
			took[k] = o.cpu * 1000 / float64(zips)
			if err := os.RemoveAll(r.Dir); err != nil {
				return err
			}
		}
		// The time that grows stands where others have the peer's.
		fmt.Printf("round %d: %.2f ms a zip of %d, %.2f of %d, ratio %.2f\n", i+1, took[1], b.growth, took[0], few, each.Add(took[0], took[1]))
	}
	many, less := each.Peer(), each.Ours()
	fmt.Printf("bench growth ours=%.2fms/zip peer=%.2fms/zip ratio=%.2f rounds=%d\n", many, less, each.Ratio(), b.rounds)
	return nil
}
