package mapping

import (
	"io/fs"
	"path"
	"strings"

	"tributary/internal/profile/strict"
)

// File is the name of the file that Load reads in a profile's folder.
const File = "profile.yaml"

// file is the mapping's part of profile.yaml. Package profile reads the rest.
type file struct {
	Profile strict.Value    `yaml:"profile"`
	Version strict.Value    `yaml:"version"`
	Title   strict.Anything `yaml:"title"`
	Same    strict.Anything `yaml:"same_bytes"`
	Release strict.Anything `yaml:"release"`
	Names   strict.Anything `yaml:"names"`
	Centres strict.Anything `yaml:"centres"`

	Tables    []tableFile     `yaml:"tables"`
	Reference []referenceFile `yaml:"reference"`
	Kinds     []kindFile      `yaml:"kinds"`
}

type tableFile struct {
	Name    strict.Value   `yaml:"name"`
	Comment strict.Value   `yaml:"comment"`
	Record  bool           `yaml:"record"`
	Parent  []strict.Value `yaml:"parent"`
	Subject strict.Value   `yaml:"subject"`
	Columns []struct {
		Name     strict.Value `yaml:"name"`
		Type     strict.Value `yaml:"type"`
		Comment  strict.Value `yaml:"comment"`
		Index    bool         `yaml:"index"`
		Required bool         `yaml:"required"`
	} `yaml:"columns"`
}

type referenceFile struct {
	Name    strict.Value   `yaml:"name"`
	Comment strict.Value   `yaml:"comment"`
	Key     []strict.Value `yaml:"key"`
	Columns []struct {
		Name    strict.Value `yaml:"name"`
		Type    strict.Value `yaml:"type"`
		Comment strict.Value `yaml:"comment"`
	} `yaml:"columns"`
}

type kindFile struct {
	Name   strict.Value `yaml:"name"`
	Root   strict.Value `yaml:"root"`
	Schema strict.Value `yaml:"schema"`
	Centre strict.Value `yaml:"centre"`
	Rows   []ruleFile   `yaml:"rows"`
}

type ruleFile struct {
	Table  strict.Value            `yaml:"table"`
	At     []strict.Value          `yaml:"at"`
	Key    []strict.Value          `yaml:"key"`
	Values map[string]strict.Value `yaml:"values"`
}

// Load reads the mapping part of the profile in fsys. The error joins one error
// for each thing that is wrong with it, which names the file and the line.
func Load(fsys fs.FS) (*Mapping, error) {
	var f file
	if err := strict.Decode(fsys, File, &f); err != nil {
		return nil, err
	}
	l := &loader{m: &Mapping{Name: f.Profile.Text, Version: f.Version.Text, kinds: map[string]*kind{}, fsys: fsys}, p: strict.NewProblems(File)}
	if len(f.Tables) == 0 {
		l.p.Add(0, "tables", "is missing: name the tables that rows go to")
	}
	for _, t := range f.Tables {
		l.table(t)
	}
	for _, r := range f.Reference {
		l.reference(r)
	}
	if l.p.Found() {
		return nil, l.p.Err() // paths that name a bad table would repeat it
	}
	for _, k := range f.Kinds {
		l.kind(k)
	}
	if l.p.Found() {
		return nil, l.p.Err()
	}
	return l.m, nil
}

// loader builds a mapping, gathering what is wrong.
type loader struct {
	m *Mapping
	p *strict.Problems
}

// identifier says whether a name can stand in SQL as it is. Names leave room
// for the prefixes and suffixes of what is generated.
func identifier(name string) bool {
	return name != "" && len(name) <= 48 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) && (name[0] < '0' || name[0] > '9') && !reserved(name)
}

const identifierRule = "must be a name of at most 48 lower-case letters, digits and _ that SQL does not reserve, not %q"

// comment demands what people read about a table or a column.
func (l *loader) comment(v strict.Value, line int, key string) string {
	text := strings.TrimSpace(v.Text)
	if text == "" {
		l.p.Add(max(v.Line, line), key+".comment", "is missing: say what it holds")
	}
	return text
}

func (l *loader) table(f tableFile) {
	line, key := f.Name.Line, "table "+f.Name.Text
	if !identifier(f.Name.Text) {
		l.p.Add(line, "tables: name", identifierRule, f.Name.Text)
		return
	}
	if l.m.Table(f.Name.Text) != nil {
		l.p.Add(line, key, "is there twice")
		return
	}
	t := &Table{Name: f.Name.Text, Comment: l.comment(f.Comment, line, key), Record: f.Record, Subject: -1, Index: len(l.m.Tables)}
	for _, name := range f.Parent {
		parent := l.m.Table(name.Text)
		if parent == nil {
			l.p.Add(name.Line, key+": parent", "names %q, which is not a table above it", name.Text)
			continue
		}
		t.Parents = append(t.Parents, parent)
	}
	l.under(t, key, line)
	for _, c := range f.Columns {
		col := Column{Name: c.Name.Text, Type: c.Type.Text, Index: c.Index, Required: c.Required, short: c.Index}
		if col.Type == "" {
			col.Type = "text"
		}
		key := key + ", column " + c.Name.Text
		var ok bool
		if col.convert, ok = converterOf(col.Type); !ok {
			l.p.Add(c.Type.Line, key+": type", "must be one of %s, not %q", typeNames, col.Type)
		}
		col.list, col.zone = col.Type == "text[]", col.Type == "zone"
		switch {
		case !identifier(col.Name):
			l.p.Add(c.Name.Line, "table "+t.Name+": a column's name", identifierRule, col.Name)
		case generated(col.Name):
			l.p.Add(c.Name.Line, key, "has the name of a column that every table, or its view, gets by itself")
		case t.column(col.Name) >= 0:
			l.p.Add(c.Name.Line, key, "is there twice")
		}
		col.Comment = l.comment(c.Comment, c.Name.Line, key)
		t.Columns = append(t.Columns, col)
	}
	if f.Subject.Text != "" {
		t.Subject = t.column(f.Subject.Text)
		switch {
		case !t.Record:
			l.p.Add(f.Subject.Line, key+": subject", "is only for tables with record: true")
		case t.Subject < 0:
			l.p.Add(f.Subject.Line, key+": subject", "names %q, which is not one of its columns", f.Subject.Text)
		case t.Columns[t.Subject].Type != "text":
			l.p.Add(f.Subject.Line, key+": subject", "must be a column of type text")
		default:
			t.Columns[t.Subject].short = true
		}
	}
	l.m.Tables = append(l.m.Tables, t)
}

// under finds the record that a table lies under.
func (l *loader) under(t *Table, key string, line int) {
	for i, parent := range t.Parents {
		over := parent.Under
		if parent.Record {
			over = parent
		} else {
			t.HasParentColumn = true
		}
		switch {
		case i > 0 && over != t.Under:
			l.p.Add(line, key+": parent", "names tables of different records: make a table for each record")
		case over != nil && t.Record:
			l.p.Add(line, key, "is a record, and can't lie in a row of the record %s", over.Name)
		}
		t.Under = over
	}
}

func (l *loader) reference(f referenceFile) {
	key := "reference " + f.Name.Text
	if !identifier(f.Name.Text) {
		l.p.Add(f.Name.Line, "reference: name", identifierRule, f.Name.Text)
		return
	}
	if l.m.Reference(f.Name.Text) != nil {
		l.p.Add(f.Name.Line, key, "is there twice")
		return
	}
	r := &Reference{Name: f.Name.Text, Comment: l.comment(f.Comment, f.Name.Line, key)}
	for _, c := range f.Columns {
		if !identifier(c.Name.Text) || r.column(c.Name.Text) >= 0 {
			l.p.Add(c.Name.Line, key+": a column's name", identifierRule+", and new", c.Name.Text)
		}
		col := Column{Name: c.Name.Text, Type: c.Type.Text}
		if col.Type == "" {
			col.Type = "text"
		}
		var ok bool
		if col.convert, ok = converterOf(col.Type); !ok || col.Type == "text[]" || col.Type == "zone" {
			l.p.Add(c.Type.Line, key+", column "+col.Name+": type", "must be one of text, bigint, boolean, date, double and numeric, not %q", col.Type)
		}
		col.Comment = l.comment(c.Comment, c.Name.Line, key+", column "+col.Name)
		r.Columns = append(r.Columns, col)
	}
	for _, k := range f.Key {
		i := r.column(k.Text)
		if i < 0 {
			l.p.Add(k.Line, key+": key", "names %q, which is not one of its columns", k.Text)
			continue
		}
		r.Columns[i].Required = true
		r.Key = append(r.Key, k.Text)
	}
	if len(f.Key) == 0 {
		l.p.Add(f.Name.Line, key+": key", "is missing: name the columns that tell its rows apart")
	}
	l.m.References = append(l.m.References, r)
}

func (l *loader) kind(f kindFile) {
	key := "kind " + f.Name.Text
	switch {
	case f.Name.Text == "":
		l.p.Add(f.Root.Line, "kinds: name", "is missing")
		return
	case l.m.kinds[f.Name.Text] != nil:
		l.p.Add(f.Name.Line, key, "is there twice")
		return
	case f.Root.Text == "":
		l.p.Add(f.Name.Line, key+": root", "is missing: name the root element")
		return
	case !fs.ValidPath(f.Schema.Text) || path.Ext(f.Schema.Text) != ".xsd":
		l.p.Add(max(f.Schema.Line, f.Name.Line), key+": schema", "must be the path of an .xsd file in the profile's folder, not %q", f.Schema.Text)
		return
	}
	if len(f.Rows) == 0 {
		l.p.Add(f.Name.Line, key+": rows", "is missing: say which elements become rows")
	}
	k := &kind{name: f.Name.Text, schema: f.Schema.Text, centre: f.Centre.Text, centreLine: f.Centre.Line, line: f.Name.Line, top: &node{depth: -1}}
	k.root = k.top.child(f.Root.Text)
	for _, row := range f.Rows {
		l.rows(k, key, row)
	}
	l.centre(k, key, f.Centre)
	if !l.p.Found() {
		l.finish(k, key)
	}
	l.m.kinds[k.name] = k
	l.m.order = append(l.m.order, k)
}
