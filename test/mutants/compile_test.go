package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// compiler type-checks packages with some of their files changed. Checking all
// mutants so takes less than building one of them.
type compiler struct {
	root     string
	packages map[string]listed // by import path
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// newCompiler lists packages, and builds what they import.
func newCompiler(ctx context.Context, t *testing.T, root string, dirs []string) *compiler {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, dirs...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	c := &compiler{root: root, packages: map[string]listed{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatalf("list packages: %v", err)
		}
		c.packages[p.ImportPath] = p
	}
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
