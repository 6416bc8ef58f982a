package mapping

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// The profiles that there are fit, and keep all that their schemas can say.
func TestFitProfiles(t *testing.T) {
	weather, err := Load(os.DirFS(filepath.Join("..", "..", "test", "profiles", "weather")))
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Mapping{"impc": load(t), "weather": weather} {
		remarks, err := m.Fit()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range remarks {
			t.Logf("%s: %s", name, r)
		}
	}
	if remarks, err := load(t).Fit(); err != nil || len(remarks) > 0 {
		t.Errorf("%v\n%s", err, strings.Join(remarks, "\n"))
	}
}

const fitSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:element name="batch"><xs:complexType><xs:sequence>
 <xs:element name="item" maxOccurs="unbounded"><xs:complexType><xs:sequence>
  <xs:element name="part" type="xs:int" minOccurs="0" maxOccurs="unbounded"/>
  <xs:element name="group" minOccurs="0"><xs:complexType><xs:sequence>
   <xs:element name="part" type="xs:int" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="remark" type="xs:string" minOccurs="0" maxOccurs="2"/>
 </xs:sequence><xs:attribute name="id" use="required"/><xs:attribute name="born" type="xs:date"/><xs:attribute name="note"/></xs:complexType></xs:element>
</xs:sequence><xs:attribute name="centre" use="required"/></xs:complexType></xs:element>
</xs:schema>`

func TestFit(t *testing.T) {
	always := []string{
		"kind items: rows of part at batch/item/part and at batch/item/group/part can't be told apart in the table: give them a column with a word each",
		"kind items: the attribute centre of batch is not kept",
		"kind items: the time zone of the attribute born of batch/item is not kept: add a column of type zone",
		"kind items: the attribute note of batch/item is not kept",
		"kind items: the element batch/item/remark, and what lies in it, is not kept",
		"kind items: that there is an element batch/item/group is not kept if nothing is in it",
	}
	tests := []struct {
		name, old, new string
		more           []string // remarks that come, or go (-)
		error          string
	}{
		{"as it is", "", "", nil, ""},
		{"element", "batch/item/group/part", "batch/item/grop/part", nil, "line 38: kind items names the element batch/item/grop, which schema x.xsd does not have; item may hold part, group, remark"},
		{"attribute", `born: "@born"`, `born: "@bron"`, nil, "line 36: kind items names the attribute bron of batch/item, which schema x.xsd does not have; the element's are id, born, note"},
		{"text", "size: .", "size: ..", nil, "line 39: kind items uses the text of batch/item, but"},
		{"type", "type: bigint", "type: boolean", nil, "values.size is of type boolean, which can't hold every int that the text of batch/item/part may be"},
		{"required", "comment: first day}", "comment: first day, required: true}", nil, "line 36: kind items, rows of item at batch/item: values.born is required, but the attribute born of batch/item may be absent"},
		{"required without a value", "comment: size, type: bigint}", "comment: size, type: bigint}, {name: more, comment: x, required: true}", nil, "line 38: kind items, rows of part at batch/item/part give no value to the column more, which is required"},
		{"key without a value", "key: [id]\n        values", "key: [id, sort, born]\n        values", nil, ""},
		{"key", `id: "@id", `, "", nil, "give no value to the column id, which is part of the key"},
		{"key that may be absent", "id: \"@id\"", "id: \"@note\"", nil, "line 36: kind items, rows of item at batch/item: values.id is required"},
		{"first of several", "sort: =plain", "sort: remark", []string{"-element batch/item/remark", "kind items, rows of item at batch/item: values.sort: of several elements batch/item/remark only the first is kept", "kind items: of several elements batch/item/remark only the first is kept: make rows of them"}, ""},
		{"told apart", "values: {size: .}", "values: {size: .}\n      - {table: part, at: [batch/item/remark], values: {note: .}}", []string{"-element batch/item/remark"}, ""},
		{"no centre", "    centre: batch/@centre\n", "", []string{"kind items: centre is missing: documents of another centre than their file's would not be noticed"}, ""},
		{"centre", "batch/@centre", "batch/item/@centre", nil, "line 29: kind items: centre names the attribute centre of batch/item"},
		{"optional centre", "batch/@centre", "batch/item/@note", []string{"kind items: the centre's attribute note of batch/item is optional: a document without it is refused"}, ""},
		{"unused", "reference:", "  - {name: spare, comment: x, columns: []}\nreference:", []string{"table spare: no element makes rows of it"}, ""},
		{"root", "root: batch", "root: item", nil, "must begin with the root"},
		{"schema", "schema: x.xsd", "schema: y.xsd", nil, "y.xsd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("there is no %q", tt.old)
			}
			m, err := Load(fstest.MapFS{File: {Data: []byte(strings.Replace(good, tt.old, tt.new, 1))}, "x.xsd": {Data: []byte(fitSchema)}})
			var remarks []string
			if err == nil {
				remarks, err = m.Fit()
			}
			if tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error) || !strings.HasPrefix(err.Error(), File)) || tt.error == "" && err != nil {
				t.Errorf("error %v, want …%s…", err, tt.error)
			}
			if tt.error != "" {
				return
			}
			want := slices.Clone(always)
			for _, more := range tt.more {
				if gone, ok := strings.CutPrefix(more, "-"); ok {
					want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, gone) })
					continue
				}
				want = append(want, more)
			}
			slices.Sort(want)
			slices.Sort(remarks)
			if diff := cmp.Diff(want, remarks); diff != "" {
				t.Errorf("remarks (-want +got)\n%s", diff)
			}
		})
	}
}
