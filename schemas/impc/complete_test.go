package impc_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tributary/internal/mapping"
	"tributary/internal/xsdtree"
	"tributary/schemas/impc"
)

// paths is what profile.yaml says of where columns come from, read for itself.
type paths struct {
	Tables []struct {
		Name    string
		Columns []struct{ Name, Type string }
	}
	Kinds []struct {
		Name, Root, Schema string
		Rows               []struct {
			Table  string
			At     []string
			Values map[string]string
		}
	}
}

// TestEverythingIsMapped walks both schemas: each attribute, and each text of
// an element, must be where a column comes from, and each date that of a
// column for its time zone too.
func TestEverythingIsMapped(t *testing.T) {
	var p paths
	text, err := fs.ReadFile(impc.FS, "profile.yaml")
	must(t, err)
	must(t, yaml.Unmarshal(text, &p))
	zones := map[string]bool{}
	for _, table := range p.Tables {
		for _, c := range table.Columns {
			zones[table.Name+"."+c.Name] = c.Type == "zone"
		}
	}
	for _, k := range p.Kinds {
		mapped, zone := map[string]bool{}, map[string]bool{}
		for _, row := range k.Rows {
			for _, at := range row.At {
				for column, from := range row.Values {
					where := path.Join(at, from)
					mapped[where] = true
					zone[where] = zone[where] || zones[row.Table+"."+column]
				}
			}
		}
		schema, err := xsdtree.Load(impc.FS, k.Schema)
		must(t, err)
		seen := 0
		var walk func(e *xsdtree.Element, at string)
		walk = func(e *xsdtree.Element, at string) {
			expect := func(where, base string) {
				seen++
				if !mapped[where] {
					t.Errorf("kind %s: nothing keeps %s", k.Name, where)
				}
				if base == "date" && !zone[where] {
					t.Errorf("kind %s: nothing keeps the time zone of %s", k.Name, where)
				}
			}
			for _, a := range e.Attributes {
				expect(path.Join(at, "@"+a.Name), a.Type.Base)
			}
			if e.Text != nil && e.Text.MaxLength != 0 {
				expect(at, e.Text.Base)
			}
			if e.Mixed || e.Open != "" {
				t.Errorf("kind %s: %s may hold what can't be listed", k.Name, at)
			}
			for _, c := range e.Children {
				walk(c.Element, path.Join(at, c.Name))
			}
		}
		walk(schema.Root(k.Root), k.Root)
		if seen < 60 {
			t.Errorf("the schema of %s has only %d values: it was not read whole", k.Name, seen)
		}
	}
}

// TestFit holds the mapping against the schemas as profile check does.
func TestFit(t *testing.T) {
	m, err := mapping.Load(impc.FS)
	must(t, err)
	remarks, err := m.Fit()
	must(t, err)
	if len(remarks) > 0 {
		t.Errorf("remarks on the mapping:\n%s", strings.Join(remarks, "\n"))
	}
}

// TestComments finds tables, views and columns that say nothing of themselves.
func TestComments(t *testing.T) {
	s := newStore(t)
	for _, missing := range s.rows(`SELECT c.relname, a.attname
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND c.relname <> 'schema_version'
				AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid) IS NULL)`) {
		t.Errorf("no comment: %s", missing)
	}
}
