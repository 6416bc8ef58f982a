package xsdtree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// outline writes an element and what is below it: one line an element, with
// occurrences, attributes (required ones with !) and the type of the text.
func outline(e *Element, depth int) string {
	var b strings.Builder
	var walk func(c Child, indent string, above map[*Element]bool)
	walk = func(c Child, indent string, above map[*Element]bool) {
		fmt.Fprintf(&b, "%s%s", indent, c.Name)
		if c.Min != 1 || c.Max != 1 {
			fmt.Fprintf(&b, " %d..%d", c.Min, c.Max)
		}
		if c.Choice > 0 {
			fmt.Fprintf(&b, " |%d", c.Choice)
		}
		for _, a := range c.Attributes {
			b.WriteString(" @" + a.Name)
			if a.Required {
				b.WriteString("!")
			}
			b.WriteString(":" + describe(a.Type))
		}
		if c.Text != nil {
			b.WriteString(" =" + describe(*c.Text))
		}
		if c.Mixed {
			b.WriteString(" mixed")
		}
		if c.Open != "" {
			b.WriteString(" open")
		}
		if above[c.Element] || len(indent) >= depth {
			b.WriteString(" …\n")
			return
		}
		b.WriteString("\n")
		above[c.Element] = true
		for _, child := range c.Children {
			walk(child, indent+" ", above)
		}
		delete(above, c.Element)
	}
	walk(Child{Element: e, Min: 1, Max: 1}, "", map[*Element]bool{})
	return b.String()
}

func describe(t Type) string {
	text := t.Base
	if t.List {
		text += "*"
	}
	if t.Enum != nil {
		text += "{" + strings.Join(t.Enum, ",") + "}"
	}
	if t.MaxLength >= 0 {
		text += fmt.Sprintf("(%d..%d)", t.MinLength, t.MaxLength)
	}
	for _, p := range t.Patterns {
		text += "/" + p + "/"
	}
	return text
}

const head = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">` + "\n"

func load(t testing.TB, inside string) (*Schema, error) {
	t.Helper()
	return Load(fstest.MapFS{"s.xsd": {Data: []byte(head + inside + "</xs:schema>")}}, "s.xsd")
}

func TestLoad(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"sequence and types": {`<xs:element name="r"><xs:complexType><xs:sequence>
			<xs:element name="a" type="xs:date" maxOccurs="unbounded"/><xs:element name="b" minOccurs="0" type="T"/></xs:sequence>
			<xs:attribute name="x" type="xs:int" use="required"/><xs:attribute name="y"/></xs:complexType></xs:element>
			<xs:simpleType name="T"><xs:restriction base="xs:token"><xs:enumeration value="p q"/><xs:enumeration value="z"/></xs:restriction></xs:simpleType>`,
			"r @x!:int @y:anySimpleType\n a 1..-1 =date\n b 0..1 =token{p q,z}\n"},
		"choice within sequence": {`<xs:element name="r"><xs:complexType><xs:sequence maxOccurs="3"><xs:element name="a" type="xs:string"/>
			<xs:choice minOccurs="0" maxOccurs="unbounded"><xs:element name="b" type="xs:string"/><xs:sequence><xs:element name="c" type="xs:string" minOccurs="2" maxOccurs="2"/></xs:sequence></xs:choice>
			<xs:choice><xs:element name="d" type="xs:string"/></xs:choice></xs:sequence></xs:complexType></xs:element>`,
			"r\n a 1..3 =string\n b 0..-1 |1 =string\n c 0..-1 |1 =string\n d 1..3 =string\n"},
		"all": {`<xs:element name="r"><xs:complexType><xs:all><xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string" minOccurs="0"/></xs:all></xs:complexType></xs:element>`,
			"r\n a =string\n b 0..1 =string\n"},
		"groups": {`<xs:group name="g"><xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence></xs:group>
			<xs:attributeGroup name="h"><xs:attribute name="x" type="xs:string"/><xs:attributeGroup ref="i"/></xs:attributeGroup>
			<xs:attributeGroup name="i"><xs:attribute name="y" type="xs:string" use="required"/></xs:attributeGroup>
			<xs:element name="r"><xs:complexType><xs:sequence><xs:group ref="g" minOccurs="0"/><xs:element name="z" type="xs:string"/><xs:group ref="g" maxOccurs="2"/></xs:sequence><xs:attributeGroup ref="h"/></xs:complexType></xs:element>`,
			"r @x:string @y!:string\n a 0..1 =string\n z =string\n a 1..2 =string\n"},
		"extension": {`<xs:complexType name="B" abstract="true"><xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence><xs:attribute name="x" type="xs:string"/></xs:complexType>
			<xs:complexType name="D"><xs:complexContent><xs:extension base="B"><xs:sequence><xs:element name="b" type="xs:string"/></xs:sequence><xs:attribute name="y" type="xs:string"/></xs:extension></xs:complexContent></xs:complexType>
			<xs:element name="r" type="D"/><xs:element name="s" type="B"/>`,
			"r @x:string @y:string\n a =string\n b =string\n"},
		"restriction": {`<xs:complexType name="B"><xs:sequence><xs:element name="a" type="xs:string" minOccurs="0"/></xs:sequence><xs:attribute name="x" type="xs:string"/><xs:attribute name="y" type="xs:string"/></xs:complexType>
			<xs:element name="r"><xs:complexType><xs:complexContent><xs:restriction base="B"><xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence><xs:attribute name="y" type="xs:string" use="required"/><xs:attribute name="x" use="prohibited"/></xs:restriction></xs:complexContent></xs:complexType></xs:element>`,
			"r @y!:string\n a =string\n"},
		"simple content": {`<xs:complexType name="B"><xs:simpleContent><xs:extension base="xs:decimal"><xs:attribute name="x" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType>
			<xs:element name="r"><xs:complexType><xs:simpleContent><xs:extension base="B"><xs:attribute name="y" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
			<xs:element name="s"><xs:complexType><xs:simpleContent><xs:restriction base="B"><xs:enumeration value="1.5"/></xs:restriction></xs:simpleContent></xs:complexType></xs:element>`,
			"r @x:string @y:string =decimal\n"},
		"recursion": {`<xs:complexType name="N"><xs:sequence><xs:element name="n" type="N" minOccurs="0" maxOccurs="unbounded"/><xs:element ref="r" minOccurs="0"/></xs:sequence></xs:complexType><xs:element name="r" type="N"/>`,
			"r\n n 0..-1\n  n 0..-1 …\n  r 0..1 …\n r 0..1 …\n"},
		"mixed": {`<xs:element name="r"><xs:complexType mixed="true"><xs:sequence><xs:element name="b" type="xs:string"/></xs:sequence></xs:complexType></xs:element>`,
			"r =string mixed\n b =string\n"},
		"empty": {`<xs:element name="r"><xs:complexType/></xs:element>`, "r\n"},
		"wildcards": {`<xs:element name="r"><xs:complexType><xs:sequence><xs:element name="a"/><xs:any namespace="##other"/></xs:sequence><xs:anyAttribute/></xs:complexType></xs:element>`,
			"r open\n a =string mixed open\n"},
		"substitution": {`<xs:element name="r"><xs:complexType><xs:sequence><xs:element ref="h" maxOccurs="2"/></xs:sequence></xs:complexType></xs:element>
			<xs:element name="h" type="xs:string" abstract="true"/><xs:element name="a" substitutionGroup="h"/><xs:element name="b" substitutionGroup="a" type="xs:token"/>`,
			"r\n a 0..2 |1 =string\n b 0..2 |1 =token\n"},
		"lists, unions, facets": {`<xs:simpleType name="L"><xs:list itemType="xs:int"/></xs:simpleType><xs:simpleType name="U"><xs:union memberTypes="xs:int xs:date"><xs:simpleType><xs:restriction base="xs:string"/></xs:simpleType></xs:union></xs:simpleType>
			<xs:simpleType name="P"><xs:restriction base="Q"><xs:pattern value="b"/></xs:restriction></xs:simpleType><xs:simpleType name="Q"><xs:restriction base="xs:string"><xs:pattern value="a"/><xs:pattern value="c"/><xs:length value="3"/></xs:restriction></xs:simpleType>
			<xs:element name="r"><xs:complexType><xs:attribute name="l" type="L"/><xs:attribute name="u" type="U"/><xs:attribute name="p" type="P"/><xs:attribute name="n" type="xs:NMTOKENS"/></xs:complexType></xs:element>`,
			"r @l:int* @u:anySimpleType @p:string(3..3)/a|c//b/ @n:NMTOKEN*\n"},
		"attribute references": {`<xs:attribute name="g" type="xs:int"/><xs:element name="r"><xs:complexType><xs:attribute ref="g" use="required"/><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>`,
			"r @g!:int @lang:string\n"},
		"annotations": {`<xs:annotation><xs:appinfo><x xmlns=""/></xs:appinfo></xs:annotation><xs:element name="r"><xs:annotation/><xs:complexType><xs:sequence><xs:annotation/><xs:element name="a" type="xs:string"><xs:annotation/></xs:element></xs:sequence></xs:complexType></xs:element>`,
			"r\n a =string\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := load(t, test.schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outline(s.Root("r"), 9)); diff != "" {
				t.Error(diff)
			}
			if r := s.Root("r"); r.Namespace != "urn:t" || r.File != "s.xsd" || r.Line < 2 {
				t.Errorf("root %+v", r)
			}
		})
	}
}

func TestLoadFails(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"unknown type":      {"<xs:element name='r'\n type='T'/>", `s.xsd:2: there is no type "T"`},
		"unknown built-in":  {`<xs:element name="r" type="xs:text"/>`, `s.xsd:2: XML Schema 1.0 has no type "text"`},
		"unknown prefix":    {`<xs:element name="r" type="p:text"/>`, `s.xsd:2: the prefix of "p:text" is not declared`},
		"unknown group":     {"\n<xs:element name='r'><xs:complexType><xs:group ref='g'/></xs:complexType></xs:element>", `s.xsd:3: there is no group "g"`},
		"unknown element":   {`<xs:element name="r"><xs:complexType><xs:sequence><xs:element ref="x"/></xs:sequence></xs:complexType></xs:element>`, `there is no element "x"`},
		"group of itself":   {`<xs:group name="g"><xs:sequence><xs:group ref="g"/></xs:sequence></xs:group><xs:element name="r"><xs:complexType><xs:group ref="g"/></xs:complexType></xs:element>`, `s.xsd:2: group "g" is defined by itself`},
		"type of itself":    {`<xs:complexType name="T"><xs:complexContent><xs:extension base="T"/></xs:complexContent></xs:complexType><xs:element name="r" type="T"/>`, `complexType "T" is defined by itself`},
		"simple of itself":  {`<xs:simpleType name="T"><xs:list itemType="T"/></xs:simpleType><xs:element name="r" type="T"/>`, `simpleType "T" is defined by itself`},
		"attributes":        {`<xs:attributeGroup name="g"><xs:attributeGroup ref="g"/></xs:attributeGroup><xs:element name="r"><xs:complexType><xs:attributeGroup ref="g"/></xs:complexType></xs:element>`, `attributeGroup "g" is defined by itself`},
		"bad count":         {`<xs:element name="r"><xs:complexType><xs:sequence minOccurs="-1"/></xs:complexType></xs:element>`, `minOccurs is "-1", which is not a number`},
		"counts":            {`<xs:element name="r"><xs:complexType><xs:sequence minOccurs="2"/></xs:complexType></xs:element>`, `minOccurs 2 is more than maxOccurs 1`},
		"redefine":          {`<xs:redefine schemaLocation="x.xsd"/>`, `s.xsd:2: xs:redefine is not understood`},
		"unknown":           {`<xs:override schemaLocation="x.xsd"/>`, `s.xsd:2: xs:override is not understood here`},
		"unknown inside":    {`<xs:element name="r"><xs:complexType><xs:sequence><xs:assert/></xs:sequence></xs:complexType></xs:element>`, `xs:assert is not understood here`},
		"missing file":      {`<xs:include schemaLocation="x.xsd"/>`, `s.xsd:2: schema x.xsd: there is no schema file x.xsd`},
		"outside":           {`<xs:include schemaLocation="../x.xsd"/>`, `s.xsd:2: schema ../x.xsd`},
		"absolute":          {`<xs:include schemaLocation="/etc/x.xsd"/>`, `is not a relative path`},
		"remote":            {`<xs:import namespace="u" schemaLocation="http://example.org/x.xsd"/>`, `is not a relative path`},
		"doctype":           {`<!DOCTYPE a>`, `s.xsd:2: a document type declaration is not accepted`},
		"entity":            {`&x;`, `s.xsd:2: not well-formed`},
		"not well-formed":   {`<xs:element>`, `s.xsd:2: not well-formed`},
		"deep":              {strings.Repeat("<xs:sequence>", 10_000), `nested more than 256 deep`},
		"doubling groups":   {doubling(40) + `<xs:element name="r"><xs:complexType><xs:group ref="g40"/></xs:complexType></xs:element>`, `r has more than 10000 children`},
		"doubling, nothing": {strings.Replace(doubling(40), `<xs:element name="e" type="xs:string"/>`, ``, 1) + `<xs:element name="r"><xs:complexType><xs:group ref="g40"/></xs:complexType></xs:element>`, `the content of r is too large`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, test.schema)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	for text, want := range map[string]string{
		"": "s.xsd:1: the file is empty", "<a/>": "s.xsd:1: the root element is a",
		`<element xmlns="http://www.w3.org/2001/XMLSchema"/>`: "the root element is element, not schema",
		`<?xml version="1.0" encoding="windows-1252"?><a/>`:   "s.xsd:1: the document declares encoding",
	} {
		if _, err := Load(fstest.MapFS{"s.xsd": {Data: []byte(text)}}, "s.xsd"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Load(fstest.MapFS{}, "s.xsd"); err == nil || !strings.Contains(err.Error(), "there is no schema file s.xsd") {
		t.Errorf("no file: %v", err)
	}
}

// doubling makes n groups, each of which has the one before twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`<xs:group name="g0"><xs:sequence><xs:element name="e" type="xs:string"/></xs:sequence></xs:group>`)
	for i := range n {
		fmt.Fprintf(&b, `<xs:group name="g%d"><xs:sequence><xs:group ref="g%d"/><xs:group ref="g%d"/></xs:sequence></xs:group>`, i+1, i, i)
	}
	return b.String()
}

func TestSeveralFiles(t *testing.T) {
	const xs = `xmlns:xs="http://www.w3.org/2001/XMLSchema"`
	fsys := fstest.MapFS{
		"d/main.xsd": {Data: []byte(`<xs:schema ` + xs + ` xmlns="urn:m" xmlns:o="urn:o" targetNamespace="urn:m">
			<xs:include schemaLocation="own.xsd"/><xs:include schemaLocation="./none.xsd"/><xs:import namespace="urn:o" schemaLocation="../o/other.xsd"/><xs:import namespace="urn:elsewhere"/>
			<xs:element name="r"><xs:complexType><xs:sequence><xs:element name="a" type="Own"/><xs:element name="b" type="None"/><xs:element name="c" type="o:Other"/><xs:element ref="o:e"/></xs:sequence></xs:complexType></xs:element></xs:schema>`)},
		"d/own.xsd":  {Data: []byte(`<xs:schema ` + xs + ` targetNamespace="urn:m"><xs:include schemaLocation="main.xsd"/><xs:simpleType name="Own"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>`)},
		"d/none.xsd": {Data: []byte(`<xs:schema ` + xs + ` elementFormDefault="qualified"><xs:complexType name="None"><xs:sequence><xs:element name="x" type="N2"/></xs:sequence></xs:complexType><xs:simpleType name="N2"><xs:restriction base="xs:date"/></xs:simpleType></xs:schema>`)},
		"o/other.xsd": {Data: []byte(`<xs:schema ` + xs + ` xmlns:m="urn:m" targetNamespace="urn:o"><xs:import namespace="urn:m" schemaLocation="../d/main.xsd"/>
			<xs:complexType name="Other"><xs:sequence><xs:element ref="m:r" minOccurs="0"/></xs:sequence><xs:attribute name="q" form="qualified"/></xs:complexType><xs:element name="e" type="xs:string"/></xs:schema>`)},
	}
	s, err := Load(fsys, "d/main.xsd")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("r\n a =int\n b\n  x =date\n c @q:anySimpleType\n  r 0..1 …\n e =string\n", outline(s.Root("r"), 9)); diff != "" {
		t.Error(diff)
	}
	r := s.Root("r")
	got := []string{r.Namespace, r.Child("a").Namespace, r.Child("b").Child("x").Namespace, r.Child("e").Namespace, r.Child("c").Attr("q").Namespace, r.Child("c").Attr("q").Name}
	if diff := cmp.Diff([]string{"urn:m", "", "urn:m", "urn:o", "urn:o", "q"}, got); diff != "" {
		t.Error(diff)
	}
	if r.Child("c").Child("r") != r {
		t.Error("the same element is there twice")
	}
	if len(s.Roots) != 2 || s.Roots[1].Name != "e" || r.Child("nothing") != nil || r.Attr("nothing") != nil || s.Root("a") != nil {
		t.Errorf("roots %v", s.Roots)
	}
}

func TestImpc(t *testing.T) {
	own := os.DirFS(filepath.Join("..", "..", "schemas", "impc", "xsd"))
	for entry, root := range map[string]string{"specimen.xsd": "centreSpecimenSet", "experiment.xsd": "centreProcedureSet"} {
		s, err := Load(own, entry)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Roots) != 1 || s.Roots[0].Name != root {
			t.Fatalf("roots %v", s.Roots)
		}
		got := outline(s.Roots[0], 20)
		name := filepath.Join("testdata", strings.TrimSuffix(entry, ".xsd")+".txt")
		if os.Getenv("TRIBUTARY_UPDATE") != "" {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", entry, diff)
		}
		if strings.Contains(got, "open") {
			t.Errorf("%s can't be told whole", entry)
		}
	}
}
