package why

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// TestReference holds docs/reference/verdicts.md against the verdicts, or writes it
// anew.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Verdicts\n\n<!-- Written by `make generate` from package queries/why. -->\n\n" +
		"What `tributary why` answers, as `-o json` names it, in the order in which files meet it. Names don't change; there may be more of them. " +
		"[Ask why a file is where it is](../how-to/why.md) shows how to ask.\n\n| verdict | what it means |\n|---|---|\n")
	for _, v := range Verdicts() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Verdict, v.Means)
	}
	path := filepath.Join("..", "..", "docs", "reference", "verdicts.md")
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
		t.Errorf("docs/reference/verdicts.md is out of date: make generate (-written +now):\n%s", d)
	}
}
