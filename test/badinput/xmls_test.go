package badinput

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// xmlCases are documents that are no XML, or that would harm those who read
// XML as far as its standards allow.
func xmlCases() []bad {
	var out []bad
	for _, group := range [][]bad{malformed(), encodings(), entityCases(), sizes(), oddXML()} {
		out = append(out, group...)
	}
	return out
}

func xmlPasses(name string, text string) bad {
	return bad{name: "xml: " + name + " passes", write: xml(text), end: end{"upload", ""}}
}

func at(line int, b bad) bad { b.line = line; return b }

// malformed is what is not well-formed, at many a byte.
func malformed() []bad {
	const no = "xml_not_well_formed"
	text := mouse("<?xml version=\"1.0\"?>\n", "", "\n"+status("a")+"\n")
	cut := func(where string, upTo int) bad { return refusedXML("cut in "+where, xml(text[:upTo]), no) }
	find := func(s string) int { return strings.Index(text, s) }
	return []bad{
		at(1, refusedXML("empty document", xml(""), no)),
		refusedXML("white space only", xml(" \n\n\t"), no),
		refusedXML("text only", xml("no specimens today"), no),
		refusedXML("a zip named .xml", entries(part{name: specimen, data: whole()}), no),
		refusedXML("JSON", xml(`{"centre":{"mouse":[]}}`), no),
		refusedXML("HTML", xml("<html><body><p>Error<br></body></html>"), no, "br"),
		cut("the declaration", 12),
		cut("the root's name", find("Set")),
		cut("an attribute's name", find("centreID")+4),
		cut("an attribute's value", find("wild")),
		cut("between attributes", find(" gender")),
		cut("text", find("a</statusCode>")+1),
		cut("an end tag", find("</mouse>")+4),
		cut("before the last end tag", find("</centreSpecimenSet>")),
		refusedXML("ampersand", xml(mouse("", "", "\n"+status("a & b"))), no, "entity"),
		refusedXML("less-than in a value", xml(mouse("", ` colonyID="a<b"`, "")), no),
		refusedXML("value without quotes", xml(mouse("", ` colonyID=a`, "")), no),
		refusedXML("attribute twice", xml(mouse("", ` project="q"`, "")), no, "project"),
		refusedXML("attribute twice by its namespace", xml(mouse("", ` xmlns:a="u" xmlns:b="u" a:x="1" b:x="2"`, "")), no, "x"),
		refusedXML("unbound prefix", xml(mouse("", ` x:y="1"`, "")), no, "x"),
		refusedXML("prefix bound to nothing", xml(mouse("", ` xmlns:x=""`, "")), no),
		refusedXML("wrong end tag", xml(mouse("", "", "<statusCode>a</code>")), no, "code"),
		refusedXML("two roots", xml(mouse("", "", "")+"<a/>"), no),
		// The engine takes text out of place for a matter of the schema.
		refusedXML("text after the root", xml(mouse("", "", "")+"end"), "xsd_invalid", "outside root"),
		refusedXML("text before the root", xml("x"+mouse("", "", "")), "xsd_invalid", "outside root"),
		refusedXML("declaration not at the beginning", xml(mouse("\n<?xml version=\"1.0\"?>\n", "", "")), no),
		refusedXML("two hyphens in a comment", xml(mouse("<!-- a -- b -->", "", "")), no),
		refusedXML("comment without an end", xml(mouse("", "", "<!-- ")), no),
		refusedXML("CDATA without an end", xml(mouse("", "", "<statusCode><![CDATA[")), no),
		refusedXML("end of CDATA in text", xml(mouse("", "", status("a]]>b"))), no),
		refusedXML("control character", xml(mouse("", "", status("\x01"))), no),
		refusedXML("NUL", xml(mouse("", "", status("\x00"))), no),
		refusedXML("noncharacter U+FFFF", xml(mouse("", "", status("\uffff"))), no),
		refusedXML("reference to NUL", xml(mouse("", "", status("&#0;"))), no),
		refusedXML("reference to a control character", xml(mouse("", ` colonyID="&#x1b;"`, "")), no),
		refusedXML("reference beyond Unicode", xml(mouse("", "", status("&#x110000;"))), no),
		refusedXML("reference of a surrogate", xml(mouse("", "", status("&#xD800;"))), no),
		refusedXML("reference of 100,000 digits", xml(mouse("", "", status("&#"+strings.Repeat("0", 100_000)+"65x;"))), no),
		refusedXML("XML 1.1", xml(mouse(`<?xml version="1.1"?>`, "", "")), "xml_version", "1.1"),
		refusedXML("XML 2.0", xml(mouse(`<?xml version="2.0"?>`, "", "")), "xml_version"),
	}
}

func latin1(text string) string {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		b = append(b, byte(c))
	}
	return string(b)
}

func wide(order binary.AppendByteOrder, mark bool, text string) string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// as is a document that declares an encoding and has an umlaut.
func as(encoding string) string {
	return mouse(`<?xml version="1.0" encoding="`+encoding+`"?>`+"\n", ` colonyID="Zürich"`, "")
}

// doc is a file with one specimen document of these bytes.
func doc(text string) func(io.Writer) error { return entries(part{name: specimen, data: []byte(text)}) }

func encodings() []bad {
	const no = "xml_encoding"
	good := func(name, text string) bad { b := xmlPasses(name, ""); b.write = doc(text); return b }
	return []bad{
		good("UTF-8 with a mark", "\xEF\xBB\xBF"+as("UTF-8")),
		good("UTF-16, little end", wide(binary.LittleEndian, true, as("UTF-16"))),
		good("UTF-16, big end", wide(binary.BigEndian, true, as("UTF-16"))),
		good("UTF-16 without a mark", wide(binary.LittleEndian, false, as("UTF-16"))),
		good("UTF-16 that declares UTF-8", wide(binary.BigEndian, true, as("UTF-8"))),
		good("Latin-1", latin1(as("ISO-8859-1"))),
		refusedXML("Latin-1 declared as UTF-8", doc(latin1(as("UTF-8"))), no, "not UTF-8"),
		refusedXML("Latin-1 without a declaration", doc(latin1(mouse("", ` colonyID="Zürich"`, ""))), no, "UTF-8"),
		refusedXML("UTF-8 declared as UTF-16", doc(as("UTF-16")), no, "not UTF-16"),
		refusedXML("windows-1252", doc(latin1(as("windows-1252"))), no, "windows-1252", "UTF-8"),
		refusedXML("Shift-JIS", doc(as("Shift_JIS")), no, "Shift_JIS"),
		refusedXML("UTF-7", doc(as("UTF-7")), no, "UTF-7"),
		refusedXML("EBCDIC", doc("\x4C\x6F\xA7\x94\x93\x40"), no, "EBCDIC"),
		refusedXML("UTF-32", doc("\xFF\xFE\x00\x00<\x00\x00\x00"), no, "UTF-32"),
		refusedXML("an unknown encoding", doc(as("x-klingon")), no, "x-klingon"),
		refusedXML("an empty encoding", doc(as("")), no),
		refusedXML("an encoding of 900 bytes", doc(as(strings.Repeat("x", 900))), no),
		refusedXML("a declaration of 100 kB", doc(mouse(`<?xml version="1.0" `+strings.Repeat(" ", 100_000)+"?>", "", "")), no, "1024"),
		refusedXML("not ASCII as declared", doc(as("US-ASCII")), no, "US-ASCII"),
		refusedXML("two byte order marks", doc("\xEF\xBB\xBF\xEF\xBB\xBF"+as("UTF-8")), no),
		refusedXML("UTF-16 of odd length", doc(wide(binary.LittleEndian, true, as("UTF-16"))+"\x00"), no, "UTF-16"),
		refusedXML("UTF-16 with half a character", doc(strings.Replace(wide(binary.LittleEndian, true, as("UTF-16")), "\xfc\x00", "\x00\xd8", 1)), no, "half a character"),
		refusedXML("UTF-16 cut in a character", doc(wide(binary.LittleEndian, true, "<a>")+"\x3d\xd8"), no, "UTF-16"),
		refusedXML("overlong UTF-8", doc(mouse("", "", status("\xc0\xbc"))), no, "not UTF-8"),
		refusedXML("surrogates in UTF-8", doc(mouse("<!-- \xed\xa0\x80 -->", "", "")), no, "not UTF-8"),
		refusedXML("beyond Unicode in UTF-8", doc(mouse("", "", status("\xf4\x90\x80\x80"))), no, "not UTF-8"),
		refusedXML("UTF-8 cut in a character", doc(mouse("", "", "")[:150]+"\xc3"), "xml_not_well_formed"),
	}
}

// entityCases are the classic attacks on those who read DTDs.
func entityCases() []bad {
	laughs := "<!DOCTYPE a [<!ENTITY a0 \"lol\">" + many(20, func(i int) string {
		return fmt.Sprintf("<!ENTITY a%d \"%s\">", i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
	}) + "]>\n"
	quadratic := `<!DOCTYPE a [<!ENTITY x "` + strings.Repeat("x", 100_000) + `">]>`
	doctype := func(name, before, inside string, line int) bad {
		return at(line, refusedXML(name, xml(mouse(before, "", inside)), "xml_doctype_refused", "DOCTYPE"))
	}
	return []bad{
		doctype("DOCTYPE", "<!DOCTYPE centreSpecimenSet>", "", 1),
		doctype("DOCTYPE in line 3", "<!-- -->\n\n<!DOCTYPE a>", "", 3),
		doctype("billion laughs", laughs, status("&a20;"), 1),
		doctype("quadratic blowup", quadratic, status(strings.Repeat("&x;", 10_000)), 1),
		doctype("external entity of a file", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>`, status("&x;"), 1),
		doctype("external entity by HTTP", `<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:1/x">]>`, status("&x;"), 1),
		doctype("external subset", `<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd">`, "", 1),
		doctype("parameter entities", `<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>`, "", 1),
		doctype("recursive entities", `<!DOCTYPE a [<!ENTITY x "&y;"><!ENTITY y "&x;">]>`, status("&x;"), 1),
		doctype("default attributes", `<!DOCTYPE a [<!ATTLIST mouse colonyID CDATA "x">]>`, "", 1),
		doctype("DOCTYPE without an end", `<!DOCTYPE a [`+strings.Repeat("<!ENTITY x 'y'>", 100_000), "", 1),
		refusedXML("undeclared entity", xml(mouse("", "", status("&nbsp;"))), "xml_entity_refused", "lt, gt, amp"),
		refusedXML("undeclared entity in a value", xml(mouse("", ` colonyID="&euml;"`, "")), "xml_entity_refused"),
		refusedXML("a million undeclared entities", xml(mouse("", "", status(strings.Repeat("&x;", 1_000_000)))), "xml_entity_refused"),
	}
}

// sizes are documents that are large in one way. What is beyond every limit, and is read
// as the text and the comment are, is a tenth as long with -short.
func sizes() []bad {
	const limit = "xml_limit"
	much, times := "100 MB", 20_000_000 // of 5 bytes
	if testing.Short() {
		much, times = "10 MB", 2_000_000
	}
	generated := func(name, exception string, pieces func(write func(string)), says ...string) bad {
		return refusedXML(name, long(specimen, pieces), exception, says...)
	}
	repeat := func(write func(string), piece string, n int) {
		chunk := strings.Repeat(piece, 1000)
		for range n / 1000 {
			write(chunk)
		}
	}
	around := func(head, piece string, n int, tail string) func(write func(string)) {
		return func(write func(string)) {
			write(head)
			repeat(write, piece, n)
			write(tail)
		}
	}
	return []bad{
		generated("depth of 100,000", limit, around("", "<a>", 100_000, ""), "depth"),
		generated("depth of 10,000,000", limit, around("", "<a>", 10_000_000, ""), "depth"),
		generated("1,000,000 attributes", limit, func(write func(string)) {
			write(specHead + mouseOpen)
			for i := range 1_000_000 {
				write(fmt.Sprintf(` a%d=""`, i))
			}
			write("/>" + specTail)
		}),
		refusedXML("201 namespaces", xml(mouse("", many(200, func(i int) string { return fmt.Sprintf(` xmlns:a%d="u"`, i) }), "")), limit, "200"),
		generated("100,000 namespaces", limit, func(write func(string)) {
			write(specHead + mouseOpen)
			for i := range 100_000 {
				write(fmt.Sprintf(` xmlns:a%d="u"`, i))
			}
			write("/>" + specTail)
		}),
		refusedXML("a start tag of 3 MB", xml(mouse("", ` colonyID="`+strings.Repeat("x", 3<<20)+`"`, "")), limit, "start tag", "262144"),
		refusedXML("an element's name of 3 MB", xml(mouse("", "", "\n<"+strings.Repeat("x", 3<<20)+"/>")), limit, "8192"),
		refusedXML("an attribute's name of 3 MB", xml(mouse("", " "+strings.Repeat("x", 3<<20)+"=''", "")), limit, "8192"),
		{name: "xml: 100,000 empty elements with 20 namespaces each", write: long(specimen, around(specHead+mouseOpen+">\n", "<bad"+many(20, func(i int) string { return fmt.Sprintf(` xmlns:n%d="u%d"`, i, i) })+"/>\n", 100_000, "</mouse>"+specTail)), end: end{"xsd", "xsd_invalid"}, says: []string{"bad"}, capped: true},
		generated("100 MB of text", limit, around(specHead+mouseOpen+"><statusCode>", "text ", 20_000_000, "</statusCode></mouse>"+specTail)),
		generated(much+" of an attribute", limit, around(specHead+mouseOpen+` colonyID="`, "text ", times, `"/>`+specTail)),
		generated(much+" of a name", limit, around("<", "name_", times, "/>")),
		generated(much+" of an attribute's name", limit, around("<a ", "name_", times, "=''/>")),
		{name: "xml: 100 MB of a comment passes", write: long(specimen, around("<!--", "text ", 20_000_000, "-->"+mouse("", "", ""))), end: end{"upload", ""}},
		generated(much+" of CDATA", limit, around(specHead+mouseOpen+"><statusCode><![CDATA[", "text ", times, "]]></statusCode></mouse>"+specTail)),
		{name: "xml: " + much + " of an instruction passes", write: long(specimen, around("<?pi ", "text ", times, "?>"+mouse("", "", ""))), end: end{"upload", ""}},
		generated(much+" of an entity's name", "xml_not_well_formed", around(specHead+mouseOpen+"><statusCode>&", "name_", times, ";</statusCode></mouse>"+specTail)),
		generated("10,000,000 references in a text", limit, around(specHead+mouseOpen+"><statusCode>", "&#65;", 10_000_000, "</statusCode></mouse>"+specTail)),
		generated(much+" of white space before the root", limit, around("", " \n\t  ", times, "")),
		{name: "xml: 1,000,000 errors", write: long(specimen, around(specHead+mouseOpen+">\n", "<bad/>\n", 1_000_000, "</mouse>"+specTail)), end: end{"xsd", "xsd_invalid"}, says: []string{"bad"}, line: 4, capped: true},
		{name: "xml: 1,000,000 errors of long paths", write: long(specimen, around(specHead+mouseOpen+">\n", "<"+strings.Repeat("b", 600)+"/>\n", 100_000, "</mouse>"+specTail)), end: end{"xsd", "xsd_invalid"}, line: 4, capped: true},
		{name: "xml: 1,000,000 malformed hints", write: long(specimen, around(specHead, mouseOpen+` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="x"/>`, 100_000, specTail)), end: end{"xsd", limit}, says: []string{"schemaLocation"}, capped: true},
		{name: "xml: 400 MB of good measurements pass", write: long(experiment, func(write func(string)) {
			write(exprHead)
			inside := many(28, func(i int) string {
				return fmt.Sprintf("<simpleParameter parameterID=\"IMPC_X_001_%03d\" unit=\"g\"><value>%d.25</value></simpleParameter>\n", i, i)
			})
			for i := range 400 << 20 / (len(inside) + 150) {
				write(runOf(fmt.Sprint("e", i), inside))
			}
			write(exprTail)
		}), end: end{"upload", ""}, large: "400 MB are read three times"},
	}
}

// oddXML is what must pass although it looks odd.
func oddXML() []bad {
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	return []bad{
		xmlPasses("no declaration", mouse("", "", "")),
		xmlPasses("CR LF", strings.ReplaceAll(mouse("<?xml version=\"1.0\"?>\n", "", "\n"+status("a")+"\n"), "\n", "\r\n")),
		xmlPasses("CR alone", strings.ReplaceAll(mouse("", "", "\n"), "\n", "\r")),
		xmlPasses("comments and instructions", mouse("<!-- a --><?pi x?>", "", "<!-- <!DOCTYPE a> -->")+"<!-- b -->"),
		xmlPasses("CDATA that looks like markup", mouse("", "", "<statusCode><![CDATA[<!DOCTYPE a> &x; ]]></statusCode>")),
		xmlPasses("references to characters", mouse("", ` colonyID="&#x1F400;&lt;&quot;"`, status("&#10;&amp;"))),
		xmlPasses("400,000 references", mouse("", "", status(strings.Repeat("&#10;", 400_000)))),
		xmlPasses("RTL override in a value", mouse("", " colonyID=\"a\u202egpj\"", "")),
		xmlPasses("SQL in a value", mouse("", ` colonyID="'); DROP TABLE warehouse.specimen;--"`, "")),
		xmlPasses("what COPY takes for control in a value", mouse("", " colonyID=\"\\.&#9;&#10;\\N{&quot;,}\"", "")),
		xmlPasses("HTML in a value", mouse("", ` colonyID="&lt;script>alert(1)&lt;/script>"`, "")),
		xmlPasses("schemaLocation of a file", mouse("", xsi+` xsi:schemaLocation="urn:a file:///etc/passwd"`, "")),
		xmlPasses("schemaLocation by HTTP", mouse("", xsi+` xsi:schemaLocation="`+specimenNS+` http://127.0.0.1:1/x.xsd"`, "")),
		xmlPasses("malformed schemaLocation", mouse("", xsi+` xsi:schemaLocation="C:\data\my schema.xsd"`, "")),
		xmlPasses("standalone", mouse(`<?xml version="1.0" encoding="utf-8" standalone="yes"?>`, "", "")),
		xmlPasses("other prefixes", strings.NewReplacer("</", "</s:", "<", "<s:", "xmlns=", "xmlns:s=").Replace(mouse("", "", ""))),
		xmlPasses("the longest text that is allowed", mouse("", "", status(strings.Repeat("text", 1<<20)))),
	}
}
