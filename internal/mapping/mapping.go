// Package mapping turns documents into rows, and rows back into documents.
// Which element becomes a row of which table, where its columns come from and
// what its natural key is, stands in a profile's profile.yaml; nothing here
// knows a profile. Documents are read once and in bounded memory: a row is
// handed on as soon as everything that it needs has been read, as a line of
// Postgres's COPY text format.
package mapping

import (
	"io/fs"
	"slices"
	"sync"
)

// Mapping is a loaded mapping. It doesn't change, and is safe for use by
// several goroutines.
type Mapping struct {
	// Name and Version are the profile's.
	Name, Version string
	// Tables are the tables that rows go to, parents before children.
	Tables []*Table
	// References are the tables that people load from files.
	References []*Reference

	kinds   map[string]*kind
	order   []*kind // as in the file
	fsys    fs.FS
	buffers sync.Pool // of *[]byte, for the tokens
}

// Table is a table of the warehouse as the mapping sees it.
type Table struct {
	// Name without the schema.
	Name string
	// Comment says to people what a row is.
	Comment string
	// Record says that rows claim natural keys.
	Record bool
	// Under is the record table that rows lie under; nil if there is none, and
	// for record tables themselves.
	Under *Table
	// Parents are the tables whose rows may enclose a row. One of them does,
	// unless there are none.
	Parents []*Table
	// HasParentColumn says that rows have the column parent: some parent is not
	// a record table.
	HasParentColumn bool
	// Subject is the index of the column by which findings and overview group
	// records, or -1.
	Subject int
	// Columns are the mapped columns, after those that every row has.
	Columns []Column
	// Index is the table's place in Mapping.Tables.
	Index int
}

// Column is a mapped column.
type Column struct {
	Name    string
	Comment string
	// Type is the type as the profile says it; SQLType is that in Postgres.
	Type string
	// Index asks for an index, Required for NOT NULL.
	Index, Required bool

	convert    converter
	list, zone bool
	short      bool // part of an index: see maxShort
}

// Reference is a table that people load from a file: warehouse.reference_NAME.
type Reference struct {
	// Name without schema and prefix.
	Name    string
	Comment string
	// Key names the columns that tell rows apart, in order.
	Key     []string
	Columns []Column
}

// ColumnNames lists the columns of the table's rows in the order in which Read
// writes them.
func (t *Table) ColumnNames() []string {
	names := t.generated()
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// generated lists the columns that rows have without being asked.
func (t *Table) generated() []string {
	names := []string{"position"}
	if t.Under != nil {
		names = append(names, "record")
	}
	names = append(names, "ordinal")
	if t.HasParentColumn {
		names = append(names, "parent")
	}
	return append(names, "line")
}

// generated says whether tables or their views have a column of that name
// without being asked.
func generated(name string) bool {
	switch name {
	case "position", "record", "ordinal", "parent", "line", "claim", "claim_centre", "is_current", "tombstone":
		return true
	}
	return false
}

func (t *Table) column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

func (r *Reference) column(name string) int {
	return slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name })
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

// Reference returns the reference table of a name, without its prefix, or nil.
func (m *Mapping) Reference(name string) *Reference {
	for _, r := range m.References {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Records lists the record tables.
func (m *Mapping) Records() []*Table {
	var out []*Table
	for _, t := range m.Tables {
		if t.Record {
			out = append(out, t)
		}
	}
	return out
}

// Separate says whether no two centres can claim the same key: the key of every
// record holds the attribute that names its document's centre.
func (m *Mapping) Separate() bool {
	for _, k := range m.order {
		for _, r := range k.rules {
			if r.table.Record && !slices.ContainsFunc(r.key, func(i int) bool { return r.columns[i].reads(k.centre) }) {
				return false
			}
		}
	}
	return true
}

// reads says whether the source is the attribute of a path.
func (s source) reads(path string) bool {
	return s.from != nil && s.attr != "" && s.from.path()+"/@"+s.attr == path
}

// Kinds lists the kinds of document that the mapping reads, in the order of the
// profile.
func (m *Mapping) Kinds() []string {
	var names []string
	for _, k := range m.order {
		names = append(names, k.name)
	}
	return names
}

// Schemas lists the paths of the kinds' schemas in the profile's folder, each
// once.
func (m *Mapping) Schemas() []string {
	var names []string
	for _, k := range m.order {
		if !slices.Contains(names, k.schema) {
			names = append(names, k.schema)
		}
	}
	return names
}
