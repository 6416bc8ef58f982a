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
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	timeout := flag.Duration("timeout", 3*time.Minute, "time that one run of a test may take")
	fresh := flag.Bool("fresh", false, "run also what is known to be caught")
	budget := flag.Duration("budget", 0, "begin no mutant after this time; what is left is for another run; 0: no limit")
	from := flag.String("from", "", "any text, such as a commit: decides with which mutant a run begins, so that short runs take others each time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Stdout, options{only: os.Getenv("TRIBUTARY_MUTANTS"), timeout: *timeout, budget: *budget, fresh: *fresh, from: *from})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// options say what is run.
type options struct {
	only    string        // names of mutants, separated by commas; empty: all
	timeout time.Duration // of one run of a test
	budget  time.Duration // after which no mutant is begun; 0: none
	fresh   bool          // nothing counts as known
	from    string        // decides with which mutant to begin; empty: the first
}

// run judges mutants and reports whether each was caught.
func run(ctx context.Context, out io.Writer, o options) (bool, error) {
	start := time.Now()
	all, err := Load()
	if err != nil {
		return false, err
	}
	if all, err = pick(all, o.only); err != nil {
		return false, err
	}
	all = rotate(all, o.from)
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "tributary-mutants-")
	if err != nil {
		return false, fmt.Errorf("make a directory for the changed files: %w", err)
	}
	defer os.RemoveAll(scratch)
	known, err := openCache(ctx, root, packagesOf(all), o.fresh)
	if err != nil {
		return false, err
	}
	j := judge{root: root, all: all, scratch: scratch, timeout: o.timeout, known: known, sound: map[string]string{}}
	tried, caught, left := 0, 0, 0
	for _, m := range all {
		began := time.Now()
		j.late = o.budget > 0 && began.Sub(start) > o.budget
		verdict, err := j.try(ctx, m)
		if errors.Is(err, errLate) {
			left++
			continue
		}
		if err != nil {
			return false, err
		}
		tried++
		if verdict.caught {
			caught++
		}
		fmt.Fprintf(out, "%-8s  %-38s %s %s  %s\n", verdict.word(), m.Name, m.Package, m.Test, verdict.took(began))
		if !verdict.caught {
			fmt.Fprintf(out, "          %s\n          %s\n", m.Breaks, strings.ReplaceAll(verdict.why, "\n", "\n          "))
		}
	}
	if left > 0 {
		fmt.Fprintf(out, "%d mutants, %d caught (%d are left for another run: the budget of %s is spent)\n", tried, caught, left, o.budget)
	} else {
		fmt.Fprintf(out, "%d mutants, %d caught\n", tried, caught)
	}
	return caught == tried, nil
}

// rotate begins with a mutant that a text decides.
func rotate(all []Mutant, from string) []Mutant {
	if from == "" || len(all) == 0 {
		return all
	}
	sum := sha256.Sum256([]byte(from))
	n := int(binary.BigEndian.Uint32(sum[:])) % len(all)
	return slices.Concat(all[n:], all[:n])
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
