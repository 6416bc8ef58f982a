package doctor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/doctor"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// TestReference holds docs/reference/problems.md against the problems, or writes it
// anew.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Problems\n\n<!-- Written by `make generate` from package queries/doctor. -->\n\n" +
		"What `tributary doctor` finds, as `-o json` names it. Names don't change; there may be more of them. With a warning things go on; else something does not work. " +
		"[Examine an installation](../how-to/examine-an-installation.md) shows how to ask, and each line says what to do.\n\n| problem | | what it means |\n|---|---|---|\n")
	for _, p := range doctor.Problems() {
		warns := ""
		if p.Warns {
			warns = "warning"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Problem, warns, p.Means)
	}
	path := filepath.Join("..", "..", "docs", "reference", "problems.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(written), b.String()); d != "" {
		t.Errorf("docs/reference/problems.md is out of date: make generate (-written +now):\n%s", d)
	}
}
