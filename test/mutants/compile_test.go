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
	"sync"
	"testing"

	"tributary/test/packages"
)

// compiler type-checks packages with some of their files changed. Checking all
// mutants so takes less than building one of them.
type compiler struct {
	root     string
	packages map[string]packages.Package // by import path

	mu   sync.Mutex
	idle []imports // guarded by mu
}

// imports are what packages have imported: to read it takes longer than to check most
// packages, so it is read once. One check at a time uses it.
type imports struct {
	fset *token.FileSet
	from types.Importer
}

// take returns imports that nobody uses, or new ones.
func (c *compiler) take() imports {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		one := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return one
	}
	fset := token.NewFileSet()
	return imports{fset, importer.ForCompiler(fset, "gc", func(imported string) (io.ReadCloser, error) {
		return os.Open(c.packages[imported].Export)
	})}
}

func (c *compiler) giveBack(one imports) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, one)
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
	known := c.take()
	defer c.giveBack(known)
	var files []*ast.File
	for _, name := range p.GoFiles {
		var source any // nil: read the file
		if text, ok := changed[path.Join(dir, name)]; ok {
			source = text
		}
		f, err := parser.ParseFile(known.fset, filepath.Join(p.Dir, name), source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: known.from}
	_, err := conf.Check(p.ImportPath, known.fset, files, nil)
	return err
}
