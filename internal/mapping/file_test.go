package mapping

import (
	"strings"
	"testing"
	"testing/fstest"
)

func parse(t testing.TB, text string) *Mapping {
	t.Helper()
	m, err := Load(fstest.MapFS{File: {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A key that lacks the document's centre may be claimed by two.
func TestSeparate(t *testing.T) {
	if parse(t, good).Separate() {
		t.Error("a key without the centre is taken for one centre's")
	}
	own := strings.Replace(good, "key: [id]\n        values: {id", "key: [id, sort]\n        values: {id", 1)
	for expr, want := range map[string]bool{"../@centre": true, "../@other": false, "@centre": false, "=centre": false} {
		if got := parse(t, strings.Replace(own, "=plain", `"`+expr+`"`, 1)).Separate(); got != want {
			t.Errorf("%s: %t", expr, got)
		}
	}
}

const good = `profile: x
version: "1"
tables:
  - name: batch
    comment: a batch
    columns: []
  - name: item
    comment: an item
    record: true
    parent: [batch]
    subject: sort
    columns:
      - {name: id, comment: name, required: true}
      - {name: sort, comment: of what sort}
      - {name: born, type: date, comment: first day}
  - name: part
    comment: a part
    parent: [item]
    columns: [{name: size, comment: size, type: bigint}, {name: note, comment: note}]
reference:
  - name: sort
    comment: sorts
    key: [id]
    columns: [{name: id, comment: name}]
kinds:
  - name: items
    root: batch
    schema: x.xsd
    centre: batch/@centre
    rows:
      - table: batch
        at: [batch]
      - table: item
        at: [batch/item]
        key: [id]
        values: {id: "@id", sort: =plain, born: "@born"}
      - table: part
        at: [batch/item/part, batch/item/group/part]
        values: {size: .}
`

func TestLoadErrors(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"unknown key", "subject: sort", "object: sort", "line 11: object is not a key"},
		{"unknown key of a column", "comment: name, required", "comment: name, needed", "line 13: needed is not a key"},
		{"unknown key of a row", "at: [batch]", "at: [batch]\n        unless: value", "line 33: unless is not a key"},
		{"key twice", "record: true", "record: true\n    record: true", "line 10"},
		{"no truth", "record: true", "record: often", "line 9"},
		{"list", "subject: sort", "subject: [sort]", "line 11: expected a single value"},
		{"no comment", "    comment: a part\n", "", "line 16: table part.comment is missing"},
		{"no comment of a column", "{name: size, comment: size, ", "{name: size, ", "line 19: table part, column size.comment is missing"},
		{"table twice", "- name: part", "- name: item", "line 16: table item is there twice"},
		{"SQL", "- name: part", "- name: pa;rt", "line 16: tables: name must be a name"},
		{"reserved", "{name: size", "{name: order", `line 19: table part: a column's name must be a name of at most 48 lower-case letters, digits and _ that SQL does not reserve, not "order"`},
		{"generated", "{name: size", "{name: line", "line 19: table part, column line has the name of a column that every table"},
		{"type", "type: bigint", "type: float", `line 19: table part, column size: type must be one of text`},
		{"parent", "parent: [item]", "parent: [thing]", `line 18: table part: parent names "thing"`},
		{"record in record", "comment: a part\n", "comment: a part\n    record: true\n", "is a record, and can't lie in a row of the record item"},
		{"subject", "subject: sort", "subject: size", `line 11: table item: subject names "size"`},
		{"subject of a date", "subject: sort", "subject: born", "must be a column of type text"},
		{"reference's key", "key: [id]\n    columns", "key: [di]\n    columns", `line 23: reference sort: key names "di"`},
		{"no root", "root: batch", "root: ''", "kind items: root is missing"},
		{"no schema", "    schema: x.xsd\n", "", "kind items: schema must be the path of an .xsd file"},
		{"no rows", "at: [batch]\n", "at: []\n", "line 31: kind items, rows of batch: at is missing"},
		{"no table", "table: part", "table: parts", "line 37: kind items, rows of parts go to a table that is not below tables"},
		{"another root", "at: [batch]\n", "at: [batches]\n", "line 32: kind items, rows of batch: at must begin with the root element batch"},
		{"path", "batch/item/group/part", "batch//part", "must be a path of elements"},
		{"same element", "batch/item/group/part", "batch/item/part", "line 38: kind items, rows of part: at makes a second row"},
		{"column", "size: .", "sizes: .", `line 39: kind items, rows of part: values names "sizes"`},
		{"expression", "size: .", "size: a b", "line 39: kind items, rows of part: values.size"},
		{"attribute", "size: .", "size: '@'", "names no attribute"},
		{"leaves", "size: .", "size: ../../../../@x", "leaves the document"},
		{"word", "size: .", "size: =large", `the word "large" is not a whole number`},
		{"empty word", "size: .", "size: =", "the word is empty"},
		{"no key", "        key: [id]\n", "", "line 33: kind items, rows of item: key is missing"},
		{"wrong key", "        key: [id]\n", "        key: [ids]\n", `line 35: kind items, rows of item: key names "ids"`},
		{"key without record", "at: [batch]\n", "at: [batch]\n        key: [id]\n", "key"},
		{"no enclosing row", "    parent: [batch]\n", "", "are enclosed by a row of batch, which the table does not name as a parent"},
		{"outside", "size: .", "size: ../../total", "line 39: kind items, rows of part at batch/item/part: values.size may use what lies in the record's element"},
		{"centre", "batch/@centre", "batch/centre", "line 29: kind items: centre must be the path of an attribute"},
		{"two documents", "kinds:\n", "---\nkinds:\n", "one YAML document"},
		{"empty", good, "", "profile.yaml: the file is empty"},
		{"no YAML", "kinds:", "kinds: [", "profile.yaml: line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("there is no %q", tt.old)
			}
			_, err := Load(fstest.MapFS{File: {Data: []byte(strings.Replace(good, tt.old, tt.new, 1))}})
			if tt.want == "" && err == nil {
				return
			}
			if tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), File) {
				t.Errorf("error %v, want …%s…", err, tt.want)
			}
		})
	}
}

// All that is wrong is said at once.
func TestLoadErrorsAll(t *testing.T) {
	text := strings.NewReplacer("type: bigint", "type: float", "subject: sort", "subject: size", "key: [id]\n    columns", "columns").Replace(good)
	_, err := Load(fstest.MapFS{File: {Data: []byte(text)}})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three errors, got %v", err)
	}
}

func TestTables(t *testing.T) {
	m := load(t)
	for name, want := range map[string]string{
		"submission":      "position ordinal line",
		"specimen":        "position ordinal parent line",
		"chromosome":      "position record ordinal parent line",
		"genotype":        "position record ordinal line",
		"media_parameter": "position record ordinal line",
	} {
		if got := strings.Join(m.Table(name).generated(), " "); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}
