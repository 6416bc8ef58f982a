// Package mapping turns documents into rows. Which element becomes a row of
// which table, where its columns come from and what its natural key is, stands
// in a profile's mapping.yaml; nothing here knows a profile. Documents are read
// once and in bounded memory: a row is handed on as soon as everything that it
// needs has been read, as a line of Postgres's COPY text format.
package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// File is the name of the file that Load reads in a profile's folder.
const File = "mapping.yaml"

// Mapping is a loaded mapping. It doesn't change, and is safe for use by
// several goroutines.
type Mapping struct {
	// Name and Version say which mapping it is.
	Name, Version string
	// Tables are the tables that rows go to, parents before children.
	Tables []*Table

	kinds   map[string]*kind
	buffers sync.Pool // of *[]byte, for the tokens
}

// Table is a table of the warehouse as the mapping sees it.
type Table struct {
	// Name without the schema.
	Name string
	// Parent is the table of the enclosing row, or nil. The child's column
	// of the parent's ordinal has the parent's name.
	Parent *Table
	// Claims says that rows claim natural keys: they have the columns line,
	// col, claim, tombstone and is_current.
	Claims bool
	// Columns are the mapped columns, after those that every row has.
	Columns []Column
	// Index is the table's place in Mapping.Tables.
	Index int
}

// Column is a mapped column.
type Column struct {
	Name string
	// Type is the column's type in Postgres.
	Type string

	convert converter
	list    bool
}

// ColumnNames lists the columns of the table's rows in the order in which Read
// writes them.
func (t *Table) ColumnNames() []string {
	names := []string{"position", "ordinal"}
	if t.Parent != nil {
		names = append(names, t.Parent.Name)
	}
	if t.Claims {
		names = append(names, "line", "col", "claim", "tombstone", "is_current")
	}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// Table returns the table of a name, or nil.
func (m *Mapping) Table(name string) *Table {
	for _, t := range m.Tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Kinds lists the kinds of document that the mapping reads, sorted.
func (m *Mapping) Kinds() []string {
	var names []string
	for name := range m.kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

type file struct {
	Mapping string `yaml:"mapping"`
	Version string `yaml:"version"`
	Tables  []struct {
		Name    string   `yaml:"name"`
		Parent  string   `yaml:"parent"`
		Claims  bool     `yaml:"claims"`
		Columns []string `yaml:"columns"`
	} `yaml:"tables"`
	Documents []struct {
		Kind   string     `yaml:"kind"`
		Centre string     `yaml:"centre"`
		Rows   []ruleFile `yaml:"rows"`
	} `yaml:"documents"`
}

type ruleFile struct {
	Table  string            `yaml:"table"`
	At     []string          `yaml:"at"`
	Key    []string          `yaml:"key"`
	Unless string            `yaml:"unless"`
	Values map[string]string `yaml:"values"`
}

// Load reads the mapping in a profile's folder. What is wrong with it is an
// error that names the table, the row or the column.
func Load(fsys fs.FS) (*Mapping, error) {
	data, err := fs.ReadFile(fsys, File)
	if err != nil {
		return nil, fmt.Errorf("read the mapping: %w", err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there must be one YAML document in the file", File)
	}
	m := &Mapping{Name: f.Mapping, Version: f.Version, kinds: map[string]*kind{}}
	if err := m.takeTables(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	for _, doc := range f.Documents {
		if m.kinds[doc.Kind] != nil {
			return nil, fmt.Errorf("%s: documents: the kind %s is there twice", File, doc.Kind)
		}
		k, err := m.compile(doc.Centre, doc.Rows)
		if err != nil {
			return nil, fmt.Errorf("%s: documents of kind %s: %w", File, doc.Kind, err)
		}
		m.kinds[doc.Kind] = k
	}
	return m, nil
}

// identifier says whether a name can stand in SQL as it is.
func identifier(name string) bool {
	return name != "" && len(name) < 60 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) && (name[0] < '0' || name[0] > '9')
}

func (m *Mapping) takeTables(f *file) error {
	for _, t := range f.Tables {
		if !identifier(t.Name) || m.Table(t.Name) != nil {
			return fmt.Errorf("tables: %q is not a new name of lower-case letters, digits and _", t.Name)
		}
		out := &Table{Name: t.Name, Claims: t.Claims, Index: len(m.Tables)}
		if t.Parent != "" {
			if out.Parent = m.Table(t.Parent); out.Parent == nil {
				return fmt.Errorf("table %s: its parent %q is not a table above it", t.Name, t.Parent)
			}
		}
		for _, text := range t.Columns {
			name, typ, _ := strings.Cut(text, " ")
			if typ == "" {
				typ = "text"
			}
			c := Column{Name: name, Type: typ, list: strings.HasSuffix(typ, "[]")}
			var ok bool
			if c.convert, ok = converterOf(typ); !ok {
				return fmt.Errorf("table %s, column %s: the type %q is not known", t.Name, name, typ)
			}
			if !identifier(name) || slices.Contains(out.ColumnNames(), name) {
				return fmt.Errorf("table %s: %q is not a new name of a column", t.Name, name)
			}
			out.Columns = append(out.Columns, c)
		}
		m.Tables = append(m.Tables, out)
	}
	return nil
}
