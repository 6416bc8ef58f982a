package xsdtree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzLoad looks for schemas that can't be read without a panic, and for content
// models through which there is no way although one is expected.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"common.xsd", "specimen.xsd", "experiment.xsd"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "schemas", "impc", "xsd", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, inside := range []string{
		`<xs:complexType name="N"><xs:sequence><xs:element name="n" type="N" minOccurs="0"/><xs:choice maxOccurs="unbounded"><xs:element ref="r"/><xs:any/></xs:choice></xs:sequence><xs:anyAttribute/></xs:complexType><xs:element name="r" type="N"/>`,
		`<xs:group name="g"><xs:all><xs:element name="a" type="xs:int"/></xs:all></xs:group><xs:element name="r"><xs:complexType mixed="1"><xs:group ref="g" minOccurs="0"/><xs:attributeGroup ref="h"/></xs:complexType></xs:element><xs:attributeGroup name="h"><xs:attribute name="x" use="required"><xs:simpleType><xs:list itemType="xs:ID"/></xs:simpleType></xs:attribute></xs:attributeGroup>`,
		`<xs:element name="h" type="xs:string" abstract="true"/><xs:element name="a" substitutionGroup="h"/><xs:element name="r"><xs:complexType><xs:complexContent><xs:restriction base="xs:anyType"><xs:sequence maxOccurs="0"/></xs:restriction></xs:complexContent></xs:complexType></xs:element>`,
		`<xs:simpleType name="U"><xs:union memberTypes="xs:int U2"/></xs:simpleType><xs:simpleType name="U2"><xs:restriction base="U"><xs:length value="99999999999999999999"/></xs:restriction></xs:simpleType>`,
		`<xs:include schemaLocation="s.xsd"/><xs:import schemaLocation="common.xsd"/><xs:redefine schemaLocation="s.xsd"/>`,
	} {
		f.Add(head + inside + "</xs:schema>")
	}
	common, err := os.ReadFile(filepath.Join("..", "..", "schemas", "impc", "xsd", "common.xsd"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Load(fstest.MapFS{"s.xsd": {Data: []byte(text)}, "common.xsd": {Data: common}}, "s.xsd")
		if err != nil {
			if !strings.Contains(err.Error(), ".xsd:") && !strings.Contains(err.Error(), "schema file") {
				t.Fatalf("the error names no place: %v", err)
			}
			return
		}
		seen := make(map[*Element]bool)
		queue := s.Roots
		steps := 100_000
		for len(queue) > 0 {
			e := queue[0]
			queue = queue[1:]
			if seen[e] || len(seen) > 1000 {
				continue
			}
			seen[e] = true
			if e.Name == "" || e.Line < 1 {
				t.Fatalf("element %+v", e)
			}
			for _, c := range e.Children {
				queue = append(queue, c.Element)
			}
			p := e.Begin(&steps)
			for range 10 {
				if p == nil {
					break
				}
				next, _, ok := p.Expected()
				if !ok || len(next) == 0 {
					break
				}
				last := next[len(next)-1]
				if p.Next(last.Namespace, last.Name) == nil && steps > 0 {
					t.Fatalf("%s is expected in %s, and can't be passed", last.Name, e.Name)
				}
			}
		}
	})
}
