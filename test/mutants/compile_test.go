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
	fset     *token.FileSet

	mu sync.Mutex
	// idle read what packages have imported: to read it takes longer than to check most
	// packages, so it is read once. One check at a time uses an importer. Guarded by mu.
	idle []types.Importer
	// parsed are files as they are, by their paths: each is part of many mutants'
	// packages. Guarded by mu.
	parsed map[string]*ast.File
}

// take returns an importer that nobody uses, or a new one.
func (c *compiler) take() types.Importer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		one := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return one
	}
	return importer.ForCompiler(c.fset, "gc", func(imported string) (io.ReadCloser, error) {
		return os.Open(c.packages[imported].Export)
	})
}

func (c *compiler) giveBack(one types.Importer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, one)
}

// newCompiler lists packages, and builds what they import.
func newCompiler(t *testing.T, root string, dirs []string) *compiler {
	t.Helper()
	c := &compiler{root: root, packages: map[string]packages.Package{}, fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
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
		var f *ast.File
		var err error
		if text, ok := changed[path.Join(dir, name)]; ok {
			f, err = c.parse(filepath.Join(p.Dir, name), text)
		} else {
			f, err = c.unchanged(filepath.Join(p.Dir, name))
		}
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: known}
	_, err := conf.Check(p.ImportPath, c.fset, files, nil)
	return err
}

// unchanged parses a file unless that has been done.
func (c *compiler) unchanged(file string) (*ast.File, error) {
	c.mu.Lock()
	f, known := c.parsed[file]
	c.mu.Unlock()
	if known {
		return f, nil
	}
	f, err := c.parse(file, nil)
	if err == nil {
		c.mu.Lock()
		c.parsed[file] = f
		c.mu.Unlock()
	}
	return f, err
}

// parse parses a text, or the file itself without one.
func (c *compiler) parse(file string, text any) (*ast.File, error) {
	return parser.ParseFile(c.fset, file, text, parser.SkipObjectResolution)
}
