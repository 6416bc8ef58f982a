package scale

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tributary/test/scale/plans"
)

// literal is a statement in the source code of control's roles: its beginning, as far as nothing
// is put into it, and the package and the declaration that it stands in.
type literal struct{ begin, place string }

// written lists the statements in the source code of control's roles.
func written(t *testing.T) []literal {
	t.Helper()
	var out []literal
	for _, dir := range []string{"sql/control", "producers/schedule", "producers/poll", "producers/plan", "producers/publish", "consumers/sequence"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no source code in %s: %v", dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "deadletter") || strings.Contains(path, "measure") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, statements(t, path, text)...)
		}
	}
	if len(out) < 40 {
		t.Fatalf("only %d statements are found in the source code", len(out))
	}
	return out
}

// statements are the literals of a file that begin a statement.
func statements(t *testing.T, path string, text []byte) (out []literal) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		each := map[string]ast.Node{}
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					each[v.Names[0].Name] = v
				}
			}
		} else if fn, ok := d.(*ast.FuncDecl); ok {
			each[fn.Name.Name] = fn
		}
		for name, within := range each {
			ast.Inspect(within, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					if begin := beginning(t, lit); begin != "" {
						out = append(out, literal{begin, f.Name.Name + "." + name})
					}
				}
				return true
			})
		}
	}
	return out
}

// beginning is that of the statement that a literal begins; empty if it begins none.
func beginning(t *testing.T, lit *ast.BasicLit) string {
	t.Helper()
	if lit.Kind != token.STRING {
		return ""
	}
	sql, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	sql = plans.Words(sql)
	verb, _, _ := strings.Cut(sql, " ")
	switch verb {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
	default:
		return ""
	}
	sql, _, _ = strings.Cut(sql, "%") // what is put in
	// Parts of statements begin so too: they are found inside.
	if len(sql) > 60 {
		sql = sql[:60]
	}
	return strings.TrimSpace(sql)
}
