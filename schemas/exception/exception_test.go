package exception

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/profile"
	"tributary/sql/warehouse"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// TestComplete holds the registry against the code: every exception that the
// code gives is here, and every one here is given by the code.
func TestComplete(t *testing.T) {
	s := readSource(t)
	for _, place := range s.unknown {
		t.Errorf("%s: an exception's name is put together, so that this test can't know it: use a constant", place)
	}
	given, documented := s.found, Texts()
	for _, name := range ruleNames(t) {
		given[name] = append(given[name], "internal/profile")
	}
	for name, places := range given {
		if _, ok := documented[name]; !ok {
			t.Errorf("the exception %s is not documented in package exception (%s)", name, strings.Join(places, ", "))
		}
	}
	for _, e := range All() {
		if given[e.Name] == nil {
			t.Errorf("the exception %s is documented, but the code does not give it", e.Name)
		}
	}
	if len(given) < 50 {
		t.Errorf("only %d exceptions were found in the code: the test does not see them", len(given))
	}
}

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// TestEntriesAreWhole holds every entry to what a data manager needs.
func TestEntriesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if !snake.MatchString(e.Name) || seen[e.Name] {
			t.Errorf("%q is no snake_case name of its own", e.Name)
		}
		seen[e.Name] = true
		if !slices.Contains(Groups(), e.Group) {
			t.Errorf("%s: the group %q is none", e.Name, e.Group)
		}
		for _, p := range e.Phases {
			if p.ID() == 0 {
				t.Errorf("%s: the phase %q is none", e.Name, p)
			}
		}
		for what, text := range map[string]string{"what happened": e.Happened, "what to do": e.Do} {
			if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %s is not told in sentences: %q", e.Name, what, text)
			}
		}
	}
	for _, name := range findings(t) {
		if seen[name] {
			t.Errorf("%s is both an exception and a finding", name)
		}
	}
}

func statements(t *testing.T) *warehouse.Statements {
	t.Helper()
	p, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	s, err := warehouse.Load(p.FS())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func findings(t *testing.T) (names []string) {
	t.Helper()
	for _, f := range warehouse.ClaimFindings() {
		names = append(names, f.Name)
	}
	for _, c := range statements(t).Checks {
		names = append(names, c.Name)
	}
	return names
}

// TestReference holds docs/reference/exceptions.md against the registry, or
// writes it with -update.
func TestReference(t *testing.T) {
	want := page(t)
	path := filepath.Join(root, "docs", "reference", "exceptions.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/exceptions.md is out of date: make generate (-want +got):\n%s", diff)
	}
}

func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Exceptions and findings

<!-- Written by ` + "`make generate`" + ` from package schemas/exception and the checks of the IMPC profile. -->

Whatever is wrong with a file, a download, a document or a poll has a stable name, its exception, and a message that says what it is and where. Names don't change; messages may. Every page and query that shows a phase shows the exception too, and ` + "`tributary files --exception NAME`" + ` lists the files that have it.

Whose move it is: *us*, where nothing goes on until somebody at the data centre acts; *centre*, where the producing centre corrects something and sends it again; *nobody*, where it is tried again by itself or has ended as it should. Findings are for the centre.
`)
	all := All()
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| exception | phases | whose move | what has happened | what to do |\n|---|---|---|---|---|\n", g)
		for _, e := range all {
			if e.Group != g {
				continue
			}
			phases := make([]string, len(e.Phases))
			for i, p := range e.Phases {
				phases[i] = string(p)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", e.Name, strings.Join(phases, ", "), MoveOf(e.Name), cell(e.Happened), cell(e.Do))
		}
	}
	b.WriteString(`
## Findings of every profile

What is found in loaded data is a finding, told in the phase data under the name of its check. An error makes its document fail there; its rows stay, marked, and it is judged again when what it refers to changes. These findings follow from what was submitted before, in every profile.

| finding | level | what it says | example |
|---|---|---|---|
`)
	for _, f := range warehouse.ClaimFindings() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Level, cell(f.Describes), cell(f.Example))
	}
	b.WriteString(`
## Findings of the IMPC profile

Each is a file in ` + "`schemas/impc/sql/checks`" + `. A check that needs reference data is off until ` + "`tributary reference load`" + ` has loaded them.

| finding | level | judges | needs | what it says | example |
|---|---|---|---|---|---|
`)
	checks := slices.Clone(statements(t).Checks)
	slices.SortFunc(checks, func(a, b warehouse.Check) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range checks {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", c.Name, c.Level, c.On, strings.Join(c.Needs, ", "), cell(c.Describes), cell(c.Example))
	}
	return b.String()
}

// cell is a text in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
