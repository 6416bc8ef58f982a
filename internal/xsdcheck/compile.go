package xsdcheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jacoelho/xsd"
	"github.com/jacoelho/xsd/xsderrors"

	"tributary/internal/xsdtree"
)

// Compile compiles the schema in fsys's file entry, with what it imports and
// includes by paths relative to itself, and with the default limits. Nothing
// outside fsys is read. The error names the file and the place in it; a schema
// that uses what the engine doesn't have says so.
func Compile(fsys fs.FS, entry string) (*Schema, error) {
	opts, err := Options{}.withDefaults()
	if err != nil {
		return nil, err
	}
	source, err := schemaFile(fsys, entry)
	if err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", entry, err)
	}
	// Without a tree the messages are plainer, and the verdicts the same.
	tree, treeErr := xsdtree.Load(fsys, entry)
	if treeErr != nil {
		tree = nil
	} else if err := compilable(tree); err != nil {
		return nil, fmt.Errorf("compiling schema %s: %w", entry, err)
	}
	engine, err := xsd.Compile(context.Background(), source.WithResolver(resolver{fsys: fsys}))
	switch {
	case xsderrors.IsUnsupported(err):
		return nil, fmt.Errorf("schema %s uses what this validator does not support: %w", entry, err)
	case err != nil:
		return nil, fmt.Errorf("compiling schema %s: %w", entry, err)
	}
	return &Schema{engine: engine, tree: tree, opts: opts}, nil
}

// maxAlternatives is how many children in a row may each be left out. The engine
// (v0.3.0) compiles their content model in a time that grows with the third
// power: about ten seconds at this limit, and hours at ten times as many.
const maxAlternatives = 500

// compilable refuses what would take the engine forever.
func compilable(tree *xsdtree.Schema) error {
	seen := make(map[*xsdtree.Element]bool)
	queue := slices.Clone(tree.Roots)
	for len(queue) > 0 {
		e := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[e] {
			continue
		}
		seen[e] = true
		run := 0
		for _, c := range e.Children {
			queue = append(queue, c.Element)
			if run++; c.Min > 0 {
				run = 0
			}
			if run > maxAlternatives {
				return fmt.Errorf("%s:%d: the element %s has more than %d children in a row that may be left out, which this validator can't compile in good time: use fewer, or an attribute to tell them apart", e.File, e.Line, e.Name, maxAlternatives)
			}
		}
	}
	return nil
}

// resolver finds the files that schemas refer to, in one file system only.
type resolver struct{ fsys fs.FS }

// ResolveSchema implements the engine's resolver.
func (r resolver) ResolveSchema(_ context.Context, base, location string) (xsd.SchemaSource, error) {
	if strings.Contains(location, ":") || path.IsAbs(location) {
		return xsd.SchemaSource{}, fmt.Errorf("schemaLocation %q in %s is not a relative path: schemas are only read from their own folder", location, base)
	}
	return schemaFile(r.fsys, path.Join(path.Dir(base), location))
}

func schemaFile(fsys fs.FS, name string) (xsd.SchemaSource, error) {
	data, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return xsd.SchemaSource{}, fmt.Errorf("there is no schema file %s: %w", name, err)
	}
	if err != nil {
		return xsd.SchemaSource{}, err
	}
	return xsd.Bytes(name, data), nil
}
