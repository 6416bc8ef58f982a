package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"tributary/test/packages"
)

// compiler type-checks packages with some of their files changed. Checking all
// mutants so takes less than building one of them.
type compiler struct {
	root     string
	packages map[string]packages.Package // by import path
}

// newCompiler lists packages, and builds what they import.
func newCompiler(t *testing.T, root string, dirs []string) *compiler {
	t.Helper()
	c := &compiler{root: root, packages: map[string]packages.Package{}}
	for _, p := range packages.List(t, root, dirs...) {
		c.packages[p.ImportPath] = p
	}
	return c
}

// check type-checks the package of a directory with some of the module's files
// changed.
func (c *compiler) check(dir string, changed map[string]string) error {
	p, ok := c.packages[path.Join("tributary", dir)]
	if !ok {
		return fmt.Errorf("there is no package in %s", dir)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		var source any // nil: read the file
		if text, ok := changed[path.Join(dir, name)]; ok {
			source = text
		}
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(imported string) (io.ReadCloser, error) {
		return os.Open(c.packages[imported].Export)
	})}
	_, err := conf.Check(p.ImportPath, fset, files, nil)
	return err
}
