package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every mutant still fits the program: its text occurs once, what it makes of
// it compiles, and the test that is to catch it exists. Whether it does catch
// it is for `make mutants`.
func TestMutantsFit(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("there are only %d mutants", len(all))
	}
	dir := root(t)
	dirs, seen := []string{}, map[string]bool{}
	for _, m := range all {
		for _, e := range m.Edits {
			if d := "./" + path.Dir(e.File); path.Ext(e.File) == ".go" && !seen[d] {
				seen[d] = true
				dirs = append(dirs, d)
			}
		}
	}
	c := newCompiler(t, dir, dirs)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			changed, err := m.Apply(dir)
			if err != nil {
				t.Fatal(err)
			}
			for file := range changed {
				if path.Ext(file) != ".go" {
					continue // embedded, and compiled by nobody
				}
				if err := c.check(path.Dir(file), changed); err != nil {
					t.Errorf("it does not compile: %v", err)
				}
			}
			exists(t, filepath.Join(dir, m.Package), m.Test)
		})
	}
}

// exists looks for at least one test that a pattern names.
func exists(t *testing.T, dir, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(pattern, "/")
	decl, err := regexp.Compile(`(?m)^func (` + name + `)\(`)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if decl.Match(text) {
			return
		}
	}
	t.Errorf("%s has no test %s", dir, pattern)
}

func TestParse(t *testing.T) {
	const text = "breaks: L1: a law.\ntest: ./a TestB/c\nhangs: yes\n--- a/x.go\n\tone\n\ttwo\n+++\n\tthree\n--- b/y.go\ngone\n+++\n"
	got, err := parse("m", text)
	if err != nil {
		t.Fatal(err)
	}
	want := Mutant{Name: "m", Breaks: "L1: a law.", Package: "./a", Test: "TestB/c", Hangs: true,
		Edits: []Edit{{"a/x.go", "\tone\n\ttwo\n", "\tthree\n"}, {"b/y.go", "gone\n", ""}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(- want, + got):\n%s", d)
	}
	for name, bad := range map[string]string{
		"no edit":     "breaks: x\ntest: ./a T\n",
		"no test":     "breaks: x\n--- a\nb\n+++\n",
		"no law":      "test: ./a T\n--- a\nb\n+++\n",
		"no end":      "breaks: x\ntest: ./a T\n--- a\nb\n",
		"finds none":  "breaks: x\ntest: ./a T\n--- a\n+++\nc\n",
		"another key": "breaks: x\ntest: ./a T\nrun: now\n--- a\nb\n+++\n",
	} {
		if _, err := parse("m", bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("one\n\ttwo\nthree\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, find, with, want string
	}{
		{"a line", "one\n", "1\n", "1\n\ttwo\nthree\ntwo\nthree\n"},
		{"lines with their indentation", "\ttwo\nthree\n", "2\n", "one\n2\ntwo\nthree\n"},
		{"the first line taken away", "one\n", "", "\ttwo\nthree\ntwo\nthree\n"},
		{"not there", "four\n", "", ""},
		{"part of a line", "on\n", "", ""},
		{"twice", "three\n", "3\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Mutant{Name: "m", Edits: []Edit{{"x.go", tt.find, tt.with}}}.Apply(dir)
			if (err != nil) != (tt.want == "") || got["x.go"] != tt.want {
				t.Errorf("got %q, %v; want %q", got["x.go"], err, tt.want)
			}
		})
	}
}

// TestRunsTests judges mutants of a module of their own, and remembers what was
// caught.
func TestRunsTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"go.sum":    "",
		"m.go":      "package m\n\nfunc one() int {\n\treturn 1\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 1 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n\nfunc TestNothing(*testing.T) { one() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, step := range []struct {
		test          string
		caught, known bool
	}{{"TestOne", true, false}, {"TestOne", true, true}, {"TestNothing", false, false}, {"TestNothing", false, false}} {
		known, err := openCache(t.Context(), dir, []string{"."}, false)
		if err != nil {
			t.Fatal(err)
		}
		j := judge{root: dir, scratch: t.TempDir(), timeout: 5 * time.Minute, known: known, sound: map[string]string{}}
		got, err := j.try(t.Context(), Mutant{Name: "m", Package: ".", Test: step.test, Edits: []Edit{{"m.go", "\treturn 1\n", "\treturn 2\n"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got.caught != step.caught || got.known != step.known || (got.why == "the test passes") == step.caught {
			t.Errorf("%+v: verdict %+v", step, got)
		}
	}
}

// Only a test that fails by itself has caught something.
func TestVerdicts(t *testing.T) {
	const (
		fails     = `{"Action":"output","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}` + "\n" + `{"Action":"fail","Test":"TestA"}` + "\n" + `{"Action":"fail"}`
		passes    = `{"Action":"pass","Test":"TestA"}` + "\n" + `{"Action":"pass"}`
		skipped   = `{"Action":"skip","Test":"TestA"}` + "\n" + `{"Action":"pass"}`
		none      = `{"Action":"output","Output":"testing: warning: no tests to run\n"}` + "\n" + `{"Action":"pass"}`
		unbuilt   = `{"ImportPath":"m","Action":"build-output","Output":"./m.go:4:9: undefined: two\n"}` + "\n" + `{"ImportPath":"m","Action":"build-fail"}` + "\n" + `{"Action":"fail","FailedBuild":"m"}`
		timedOut  = `{"Action":"output","Test":"TestA","Output":"panic: test timed out after 1s\n"}` + "\n" + `{"Action":"fail","Test":"TestA"}` + "\n" + `{"Action":"fail"}`
		crashed   = `{"Action":"output","Test":"TestA","Output":"panic: 1\n"}` + "\n" + `{"Action":"fail","Test":"TestA"}` + "\n" + `{"Action":"fail"}`
		recovered = `{"Action":"output","Test":"TestA","Output":"    a_test.go:9: the work says \"panic: 1\"\n"}` + "\n" + fails
	)
	for _, tt := range []struct {
		name, output  string
		hangs, caught bool
		sound         bool
	}{
		{"fails", fails, false, true, false},
		{"passes", passes, false, false, true},
		{"is skipped", skipped, false, false, false},
		{"is not there", none, false, false, false},
		{"does not compile", unbuilt, false, false, false},
		{"hangs", timedOut, false, false, false},
		{"hangs as it says", timedOut, true, true, false},
		{"crashes", crashed, false, false, false},
		{"speaks of a panic", recovered, false, true, false},
	} {
		r := read([]byte(tt.output))
		if got := r.verdict(Mutant{Hangs: tt.hangs}); got.caught != tt.caught || (got.why == "") != tt.caught {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if why := r.sound(); (why == "") != tt.sound {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}

// goCache is the compiler's cache, which must not move with the user's.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	var env struct{ GOCACHE string }
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	return env.GOCACHE
}
