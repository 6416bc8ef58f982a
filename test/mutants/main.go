// Command mutants runs wrong programs and shows that the tests notice.
//
// A mutant is this program with one mistake seeded into it: an offset that is
// committed too early, an epoch that nobody checks. Each is a file below
// programs, says which law or promise it breaks, and names the test that must
// catch it. One that survives is a hole in the suite. The tree is never
// edited: the compiler is given the changed file in place of the original.
//
// It is run by `make mutants`. TRIBUTARY_MUTANTS picks some of them by name.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	timeout := flag.Duration("timeout", 3*time.Minute, "time that one run of a test may take")
	fresh := flag.Bool("fresh", false, "run also what is known to be caught")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Stdout, os.Getenv("TRIBUTARY_MUTANTS"), *timeout, *fresh)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// run judges the mutants that only names, separated by commas; all without
// any. It reports whether each was caught.
func run(ctx context.Context, out io.Writer, only string, timeout time.Duration, fresh bool) (bool, error) {
	all, err := Load()
	if err != nil {
		return false, err
	}
	if all, err = pick(all, only); err != nil {
		return false, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "tributary-mutants-")
	if err != nil {
		return false, fmt.Errorf("make a directory for the changed files: %w", err)
	}
	defer os.RemoveAll(scratch)
	known, err := openCache(ctx, root, packagesOf(all), fresh)
	if err != nil {
		return false, err
	}
	j := judge{root: root, scratch: scratch, timeout: timeout, known: known, sound: map[string]string{}}
	caught := 0
	for _, m := range all {
		began := time.Now()
		verdict, err := j.try(ctx, m)
		if err != nil {
			return false, err
		}
		if verdict.caught {
			caught++
		}
		fmt.Fprintf(out, "%-8s  %-38s %s %s  %s\n", verdict.word(), m.Name, m.Package, m.Test, verdict.took(began))
		if !verdict.caught {
			fmt.Fprintf(out, "          %s\n          %s\n", m.Breaks, strings.ReplaceAll(verdict.why, "\n", "\n          "))
		}
	}
	fmt.Fprintf(out, "%d mutants, %d caught\n", len(all), caught)
	return caught == len(all), nil
}

// pick keeps the mutants named; an unknown name is an error.
func pick(all []Mutant, only string) ([]Mutant, error) {
	if only == "" {
		return all, nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var out []Mutant
	for _, m := range all {
		if wanted[m.Name] {
			out = append(out, m)
			delete(wanted, m.Name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("TRIBUTARY_MUTANTS names %q, which is no mutant below test/mutants/programs", name)
	}
	return out, nil
}

func packagesOf(all []Mutant) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range all {
		if !seen[m.Package] {
			seen[m.Package] = true
			out = append(out, m.Package)
		}
	}
	return out
}

// verdict is what became of a mutant.
type verdict struct {
	caught bool
	known  bool   // from an earlier run of the same code
	why    string // it was not caught
}

func (v verdict) word() string {
	if v.caught {
		return "caught"
	}
	return "SURVIVED"
}

func (v verdict) took(began time.Time) string {
	if v.known {
		return "(known)"
	}
	return cmp.Or(time.Since(began), time.Millisecond).Round(100 * time.Millisecond).String()
}
