//go:build !race

package statements

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/test/packages"
)

// module begins the paths of the program's own packages.
const module = "tributary/"

// program is all that the built program consists of, as its source says it: without
// tests, and without what only tests import.
type program struct {
	fset  *token.FileSet
	root  string // the repository
	files []*ast.File
	info  *types.Info
}

// load reads and type-checks the program's own packages. What others have written is
// taken from what the compiler exported of it, which is in the build's cache.
func load(t *testing.T) *program {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{fset: token.NewFileSet(), root: root, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	exports, own := map[string]string{}, map[string]*types.Package{}
	others := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	config := types.Config{Importer: importerFunc(func(path string) (*types.Package, error) {
		if pkg := own[path]; pkg != nil {
			return pkg, nil
		}
		return others.Import(path)
	})}
	for _, l := range packages.List(t, root, "./cmd/...") { // what is imported comes first
		exports[l.ImportPath] = l.Export
		if !strings.HasPrefix(l.ImportPath, module) {
			continue
		}
		files := p.parse(t, l)
		pkg, err := config.Check(l.ImportPath, p.fset, files, p.info)
		if err != nil {
			t.Fatal(err)
		}
		own[l.ImportPath] = pkg
		p.files = append(p.files, files...)
	}
	return p
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

func (p *program) parse(t *testing.T, l packages.Package) (files []*ast.File) {
	t.Helper()
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// place is a position as people look for it.
func (p *program) place(at token.Pos) string {
	return fmt.Sprintf("%s:%d", p.fileOf(at), p.fset.Position(at).Line)
}

// fileOf is the file that a position is in.
func (p *program) fileOf(at token.Pos) string {
	return strings.TrimPrefix(p.fset.Position(at).Filename, p.root+"/")
}
