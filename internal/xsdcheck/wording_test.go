package xsdcheck

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var pin = flag.Bool("pin", false, "write testdata/engine-says.txt anew, once its differences were looked at")

// TestTheEnginesWords pins what the engine can say about a document. This package
// knows its findings by their words, which no version of it has promised: a new
// one that words something differently must fail here, and not give people the
// engine's own words, or the wrong ones, in silence. What differs belongs into
// explain.go and errors.go first, and then into the file, by go test -run
// TestTheEnginesWords -pin.
func TestTheEnginesWords(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/jacoelho/xsd").Output()
	if err != nil {
		t.Fatalf("find the engine's source: %v", err)
	}
	var says []string
	for _, folder := range []string{"internal/validate", "internal/stream"} {
		for _, file := range parsed(t, filepath.Join(strings.TrimSpace(string(out)), folder)) {
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := literal(n); ok && strings.Contains(strings.TrimSpace(text), " ") {
					says = append(says, text)
				}
				return true
			})
		}
	}
	slices.Sort(says)
	says = slices.Compact(says)
	name := filepath.Join("testdata", "engine-says.txt")
	quoted := make([]string, len(says))
	for i, text := range says {
		quoted[i] = strconv.Quote(text)
	}
	if *pin {
		if err := os.WriteFile(name, []byte(strings.Join(quoted, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pinned, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(strings.ReplaceAll(string(pinned), " ", "_")), strings.Fields(strings.ReplaceAll(strings.Join(quoted, "\n"), " ", "_"))); diff != "" {
		t.Errorf("the engine speaks differently (-pinned +now): put what is new into words in explain.go, then run this test with -pin\n%s", diff)
	}

	known := understood(t)
	if len(known) < 29 {
		t.Errorf("only %d phrases are found that this package knows findings by: %q", len(known), known)
	}
	for _, phrase := range known {
		if !slices.ContainsFunc(says, func(text string) bool { return strings.HasPrefix(text, phrase) }) {
			t.Errorf("the engine never says %q, by which this package knows a finding", phrase)
		}
	}
}

// understood are the phrases by which this package knows findings: what it
// compares messages and errors with, or cuts from their beginning.
func understood(t *testing.T) (out []string) {
	t.Helper()
	message := func(e ast.Expr) bool {
		text := types.ExprString(e)
		return text == "message" || text == "rest" || strings.HasSuffix(text, ".Message") || strings.HasSuffix(text, ".Err.Error()")
	}
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok && strings.Contains(strings.TrimSpace(text), " ") {
			out = append(out, text)
		}
	}
	for _, file := range parsed(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL && message(n.X) {
					add(n.Y)
				}
			case *ast.CallExpr:
				called := types.ExprString(n.Fun)
				if called == "of" && len(n.Args) == 1 {
					add(n.Args[0])
				}
				if (called == "strings.HasPrefix" || called == "strings.TrimPrefix") && message(n.Args[0]) {
					add(n.Args[1])
				}
			case *ast.SwitchStmt:
				if n.Tag == nil || !message(n.Tag) {
					return true
				}
				for _, clause := range n.Body.List {
					for _, e := range clause.(*ast.CaseClause).List {
						add(e)
					}
				}
			}
			return true
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parsed are the files of a folder that are no tests.
func parsed(t *testing.T, folder string) (out []*ast.File) {
	t.Helper()
	names, err := fs.Glob(os.DirFS(folder), "*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no source in %s: %v", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file)
	}
	return out
}

// literal is the text of a string in source code.
func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
