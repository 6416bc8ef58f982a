package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// judge runs tests against mutants.
type judge struct {
	root    string // of the module
	scratch string // changed files
	timeout time.Duration
	all     []Mutant
	late    bool // only what is known is judged
	known   *cache
	sound   map[string]string // by package and test: why it fails without a mutant; empty: it passes
}

// errLate says that there is no time left to run a test.
var errLate = errors.New("no time is left")

// try runs the named test, first without the mutant, where it must pass, then
// with it, where it must fail.
func (j *judge) try(ctx context.Context, m Mutant) (verdict, error) {
	changed, err := m.Apply(j.root)
	if err != nil {
		return verdict{why: err.Error()}, nil //nolint:nilerr // a mutant that does not fit is not caught; the others are tried
	}
	key := j.known.key(m, changed)
	if j.known.has(key) {
		return verdict{caught: true, known: true}, nil
	}
	if j.late {
		return verdict{}, errLate
	}
	why, err := j.unmutated(ctx, m)
	if err != nil || why != "" {
		return verdict{why: why}, err
	}
	overlay, err := j.overlay(m, changed)
	if err != nil {
		return verdict{}, err
	}
	r, err := j.test(ctx, m, "-overlay", overlay)
	if err != nil {
		return verdict{}, err
	}
	v := r.verdict(m)
	if v.caught {
		j.known.put(key, m.Name)
	}
	return v, nil
}

// verdict says whether a test has noticed the mutant: by failing itself, and
// not because something else ended it.
func (r result) verdict(m Mutant) verdict {
	switch {
	case !r.built:
		return verdict{why: "it does not compile:\n" + r.tail()}
	case r.timedOut && !m.Hangs:
		return verdict{why: "the test ran into its time-out instead of failing by itself:\n" + r.tail()}
	case r.crashed && !r.timedOut:
		return verdict{why: "the process crashed instead of the test failing by itself:\n" + r.tail()}
	case len(r.failed) == 0 && !r.timedOut:
		return verdict{why: "the test passes"}
	}
	return verdict{caught: true}
}

// sound says why a test does not pass; nothing if it does.
func (r result) sound() string {
	switch {
	case !r.built || r.crashed || r.timedOut || len(r.failed) > 0:
		return "the test fails without the mutant, too:\n" + r.tail()
	case len(r.passed) == 0:
		return "no test of this name ran (was it skipped?):\n" + r.tail()
	}
	return ""
}

// caught says whether it is known that a mutant is caught.
func (j *judge) caught(m Mutant) bool {
	changed, err := m.Apply(j.root)
	return err == nil && j.known.has(j.known.key(m, changed))
}

// unmutated says why the mutant's test does not pass on the program as it is;
// nothing if it does.
func (j *judge) unmutated(ctx context.Context, m Mutant) (string, error) {
	if why, ok := j.sound[m.id()]; ok {
		return why, nil
	}
	// All tests of the package at once, which is quicker; each alone where that
	// does not end well.
	if err := j.together(ctx, m); err != nil {
		return "", err
	}
	if why, ok := j.sound[m.id()]; ok {
		return why, nil
	}
	r, err := j.test(ctx, m)
	if err != nil {
		return "", err
	}
	why := r.sound()
	if why == "" {
		j.known.put(j.known.key(Mutant{Package: m.Package, Test: m.Test}, nil), m.id())
	}
	j.sound[m.id()] = why
	return why, nil
}

// together runs the tests of all mutants of a package on the program as it is,
// and notes those that pass.
func (j *judge) together(ctx context.Context, one Mutant) error {
	var names []string
	for _, m := range j.all {
		if m.Package != one.Package || j.caught(m) {
			continue
		}
		if j.known.has(j.known.key(Mutant{Package: m.Package, Test: m.Test}, nil)) {
			j.sound[m.id()] = ""
			continue
		}
		for _, name := range m.tests() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if _, ok := j.sound[one.id()]; ok || len(names) == 0 {
		return nil
	}
	several := *j
	several.timeout *= time.Duration(min(len(names), 5))
	r, err := several.test(ctx, Mutant{Package: one.Package, Test: strings.Join(names, "|")})
	if err != nil || r.sound() != "" {
		return err
	}
	for _, m := range j.all {
		if m.Package == one.Package && slices.ContainsFunc(m.tests(), func(name string) bool { return slices.Contains(r.passed, name) }) {
			j.sound[m.id()] = ""
			j.known.put(j.known.key(Mutant{Package: m.Package, Test: m.Test}, nil), m.id())
		}
	}
	return nil
}

// overlay writes the changed files and the list that gives them to the
// compiler in place of the originals.
func (j *judge) overlay(m Mutant, changed map[string]string) (string, error) {
	dir := filepath.Join(j.scratch, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		replace[filepath.Join(j.root, filepath.FromSlash(file))] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return name, nil
}

// result is what a run of go test told.
type result struct {
	built, timedOut, crashed bool
	passed, failed           []string // tests that ran to their end
	output                   []string
}

// tail is the end of the output, for people.
func (r result) tail() string {
	const most = 30
	return strings.TrimSpace(strings.Join(r.output[max(0, len(r.output)-most):], ""))
}

// pattern makes of a test's name what -run takes: each part whole.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^(" + p + ")$"
	}
	return strings.Join(parts, "/")
}

// test runs the mutant's test. Engines must be there: a test that is skipped
// catches nothing.
func (j *judge) test(ctx context.Context, m Mutant, flags ...string) (result, error) {
	// The test's own limit ends it with a word about where it hangs; the context is for a
	// test that does not end even then, and leaves a busy machine time to compile.
	bounded, cancel := context.WithTimeout(ctx, j.timeout+10*time.Minute)
	defer cancel()
	args := []string{"test", "-json", "-vet=off", "-failfast", "-count=1", "-timeout", j.timeout.String(), "-run", pattern(m.Test)}
	cmd := exec.CommandContext(bounded, "go", append(append(args, flags...), m.Package)...)
	cmd.Dir = j.root
	// What a mutant fails at is no counterexample to keep for the program.
	// A test that waits for what the mutant never does fails by itself before its
	// limit: it waits half of it at most.
	cmd.Env = append(os.Environ(), "TRIBUTARY_REQUIRE_ENGINES=1", "RAPID_NOFAILFILE=1", "TRIBUTARY_PATIENCE="+(j.timeout/2).String())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && bounded.Err() == nil {
		return result{}, fmt.Errorf("run go test: %w", err)
	}
	r := read(out)
	r.timedOut = r.timedOut || bounded.Err() != nil
	return r, nil
}

// read interprets what go test -json wrote.
func read(out []byte) result {
	r := result{built: true}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			r.output = append(r.output, lines.Text()+"\n")
			continue
		}
		switch {
		case e.FailedBuild != "" || e.Action == "build-fail":
			r.built = false
		case e.Output != "":
			r.output = append(r.output, e.Output)
			r.timedOut = r.timedOut || strings.HasPrefix(e.Output, "panic: test timed out after")
			r.crashed = r.crashed || strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ")
		case e.Test == "":
		case e.Action == "pass":
			r.passed = append(r.passed, e.Test)
		case e.Action == "fail" && !slices.Contains(r.failed, e.Test):
			r.failed = append(r.failed, e.Test)
		}
	}
	return r
}
