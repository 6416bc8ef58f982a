// Command xsd times the judging of 5,000 documents of 8 KB by the IMPC's schema, on all
// processors as the validate stage does it, beside xmllint --stream, which has one process
// for all of them. Both read the same files, in turn, and the line at the end gives the
// medians of all rounds.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/bench/document"
	"tributary/bench/program"
	"tributary/bench/rounds"
	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/internal/xsdcheck"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.documents, "documents", 5000, "documents")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	program.Main("xsd", b.run)
}

type bench struct {
	dir               string
	documents, rounds int
}

// experiments of a document, which make 8 KB.
const experiments = 2

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	names := make([]string, b.documents)
	for i := range names {
		names[i] = fmt.Sprintf("%d.xml", i)
		if err := os.WriteFile(filepath.Join(b.dir, names[i]), document.Experiments(i, experiments), 0o600); err != nil {
			return err
		}
	}
	impc, err := profile.Builtin(config.Default().Profile)
	if err != nil {
		return err
	}
	fsys, entry, err := impc.SchemaFS("experiment")
	if err != nil {
		return err
	}
	schema, err := xsdcheck.Compile(fsys, entry)
	if err != nil {
		return err
	}
	xsd, err := filepath.Abs("schemas/impc/xsd/experiment.xsd")
	if err != nil {
		return err
	}
	var p rounds.Pairs
	for i := range b.rounds {
		began := time.Now()
		if err := b.ours(ctx, schema, names); err != nil {
			return err
		}
		ours := time.Since(began).Seconds()
		began = time.Now()
		if err := b.peer(ctx, xsd, names); err != nil {
			return err
		}
		peer := time.Since(began).Seconds()
		fmt.Printf("round %d: ours %.2f s, xmllint %.2f s, ratio %.2f\n", i+1, ours, peer, p.Add(ours, peer))
	}
	fmt.Println(p.Line("xsd"))
	return nil
}

func (b *bench) ours(ctx context.Context, schema *xsdcheck.Schema, names []string) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return nil
				}
				text, err := os.ReadFile(filepath.Join(b.dir, names[i]))
				if err != nil {
					return err
				}
				result, err := schema.Validate(ctx, bytes.NewReader(text))
				if err != nil {
					return err
				}
				if !result.Valid {
					return fmt.Errorf("%s is invalid: %v", names[i], result.Errors)
				}
			}
		})
	}
	return g.Wait()
}

func (b *bench) peer(ctx context.Context, xsd string, names []string) error {
	cmd := exec.CommandContext(ctx, "xmllint", append([]string{"--noout", "--stream", "--schema", xsd}, names...)...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("xmllint: %w\n%.500s", err, out)
	}
	if n := strings.Count(string(out), "validates"); n != len(names) {
		return fmt.Errorf("xmllint found %d documents valid, not %d", n, len(names))
	}
	return nil
}
