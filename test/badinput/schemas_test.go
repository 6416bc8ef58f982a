package badinput

import (
	"fmt"
	"io"
	"strings"
)

// refused is the phase of a schema that can't be used: its profile does not
// start, whatever the documents.
const refused = "profile"

const xsHead = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`

// schemaCases are schemas, of a profile that somebody writes, that are wrong or
// ask for much; and documents that make the most of them. The schema a.xsd
// judges the document.
func schemaCases() []bad {
	one := func(name string, files map[string]string, text string, e end, says ...string) bad {
		return bad{name: "schema: " + name, schema: files, write: doc(text), end: e, says: says}
	}
	no := func(name string, files map[string]string, says ...string) bad {
		return one(name, files, "<a/>", end{refused, "refused"}, says...)
	}
	alone := func(text string) map[string]string { return map[string]string{"a.xsd": xsHead + text + "</xs:schema>"} }
	pattern := func(p string) map[string]string {
		return alone(`<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="` + p + `"/></xs:restriction></xs:simpleType></xs:element>`)
	}
	ok, invalid := end{"xsd", ""}, end{"xsd", "xsd_invalid"}
	include := func(file string) string { return `<xs:include schemaLocation="` + file + `"/>` }
	loop := map[string]string{
		"a.xsd":   xsHead + include("b.xsd") + `<xs:element name="a" type="t"/></xs:schema>`,
		"b.xsd":   xsHead + include("c/c.xsd") + `</xs:schema>`,
		"c/c.xsd": xsHead + include("../a.xsd") + `<xs:simpleType name="t"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>`,
	}
	choice := func(n int) map[string]string {
		return alone(`<xs:element name="a"><xs:complexType><xs:choice maxOccurs="unbounded">` + many(n, func(i int) string {
			return fmt.Sprintf(`<xs:element name="e%d" type="xs:int"/>`, i)
		}) + `</xs:choice></xs:complexType></xs:element>`)
	}
	sequence := func(n int) map[string]string {
		return alone(`<xs:element name="a"><xs:complexType><xs:sequence>` + many(n, func(i int) string {
			return fmt.Sprintf(`<xs:element name="e%d" type="xs:int" minOccurs="0"/>`, i)
		}) + `</xs:sequence></xs:complexType></xs:element>`)
	}
	counted := alone(`<xs:element name="a"><xs:complexType><xs:sequence minOccurs="0" maxOccurs="1000"><xs:sequence maxOccurs="1000"><xs:element name="e" type="xs:int" maxOccurs="1000"/></xs:sequence></xs:sequence></xs:complexType></xs:element>`)
	keyed := alone(`<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="e" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:attribute name="id"/><xs:attribute name="ref"/></xs:complexType></xs:element></xs:sequence></xs:complexType>` +
		`<xs:key name="k"><xs:selector xpath="e"/><xs:field xpath="@id"/></xs:key><xs:keyref name="r" refer="k"><xs:selector xpath="e"/><xs:field xpath="@ref"/></xs:keyref></xs:element>`)
	keys := func(n int, rest string) func(io.Writer) error {
		return long(specimen, func(write func(string)) {
			write("<a>")
			for i := range n {
				write(fmt.Sprintf("<e id='%d'/>\n", i))
			}
			write(rest + "</a>")
		})
	}
	withKeys := func(name string, n int, rest string, e end, says ...string) bad {
		b := one(name, keyed, "", e, says...)
		b.write = keys(n, rest)
		return b
	}
	return []bad{
		no("not XML", map[string]string{"a.xsd": "<xs:schema"}, "a.xsd"),
		no("empty", map[string]string{"a.xsd": ""}, "a.xsd"),
		no("missing", map[string]string{}, "a.xsd"),
		no("HTML", map[string]string{"a.xsd": "<html/>"}, "a.xsd"),
		no("an unknown component", alone(`<xs:element name="a"><xs:nonsense/></xs:element>`), "a.xsd"),
		one("an unknown type", alone(`<xs:element name="a" type="t"/>`), "<a/>", invalid, "unavailable"),
		no("the same element twice", alone(`<xs:element name="a"/><xs:element name="a"/>`), "a.xsd"),
		no("a type of itself", alone(`<xs:complexType name="t"><xs:complexContent><xs:extension base="t"/></xs:complexContent></xs:complexType><xs:element name="a" type="t"/>`), "a.xsd"),
		no("a group of itself", alone(`<xs:group name="g"><xs:sequence><xs:group ref="g"/></xs:sequence></xs:group><xs:element name="a"><xs:complexType><xs:group ref="g"/></xs:complexType></xs:element>`), "a.xsd"),
		no("an ambiguous model", alone(`<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="e" type="xs:int" minOccurs="0"/><xs:element name="e" type="xs:int"/></xs:sequence></xs:complexType></xs:element>`), "a.xsd"),
		no("a choice of 5,000", choice(5000), "a.xsd"),
		no("a sequence of 5,000", sequence(5000), "a.xsd"),
		no("missing include", alone(include("sub/b.xsd")), "sub/b.xsd"),
		no("include from outside", alone(include("../../etc/b.xsd")), "etc/b.xsd"),
		no("include from the root", alone(include("/etc/b.xsd")), "/etc/b.xsd"),
		no("include of a file by URL", alone(include("file:///etc/b.xsd")), "not a relative path"),
		no("import by HTTP", alone(`<xs:import namespace="urn:b" schemaLocation="http://127.0.0.1:1/b.xsd"/>`), "not a relative path"),
		no("billion laughs", map[string]string{"a.xsd": `<!DOCTYPE a [<!ENTITY b "` + strings.Repeat("b", 1000) + `"><!ENTITY c "` + strings.Repeat("&b;", 1000) + `">]>` + xsHead + `<xs:annotation><xs:documentation>&c;</xs:documentation></xs:annotation></xs:schema>`}, "a.xsd"),
		no("external entity", map[string]string{"a.xsd": `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>` + xsHead + `<xs:annotation><xs:documentation>&b;</xs:documentation></xs:annotation></xs:schema>`}, "a.xsd"),
		no("a pattern that is none", pattern("(a"), "a.xsd"),
		one("a loop of includes passes", loop, "<a>1</a>", ok),
		one("a loop of includes counts", loop, "<a>x</a>", invalid, "whole number"),
		one("a pattern that makes others backtrack", pattern("(a+)+b"), "<a>"+strings.Repeat("a", 1_000_000)+"</a>", invalid, "pattern"),
		one("a pattern of alternatives that make others backtrack", pattern("(a|a|aa)*b"), "<a>"+strings.Repeat("a", 1_000_000)+"</a>", invalid, "pattern"),
		one("a choice of 100 with 50,000 children passes", choice(100), "<a>"+many(50_000, func(i int) string { return fmt.Sprintf("<e%d>1</e%d>", i*7%100, i*7%100) })+"</a>", ok),
		one("a choice of 100, another", choice(100), "<a><e100>1</e100></a>", invalid, "e100"),
		one("a sequence of 100 passes", sequence(100), "<a>"+many(100, func(i int) string { return fmt.Sprintf("<e%d>1</e%d>", i, i) })+"</a>", ok),
		one("a sequence of 100, the last first", sequence(100), "<a><e99>1</e99><e0>1</e0></a>", invalid, "e0"),
		no("counts of 1,000 in counts of 1,000", counted, "limit"),
		withKeys("100,000 keys pass", 100_000, "", ok),
		withKeys("a key twice", 1000, "<e id='7'/>", invalid, "k"),
		withKeys("a reference to no key", 1000, "<e id='x' ref='y'/>", invalid, "r"),
		withKeys("100,000 references to no key", 10, many(100_000, func(i int) string { return fmt.Sprintf("<e id='x%d' ref='y%d'/>\n", i, i) }), invalid),
	}
}
