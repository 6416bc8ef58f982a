package xsdcheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// mostAllocated is what judging a hostile document may allocate altogether,
// which bounds the memory it takes and much of the time.
const mostAllocated = 64 << 20

// bounded validates, and fails if that allocates too much.
func bounded(t testing.TB, s *Schema, document io.Reader) Result {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := s.Validate(context.Background(), document)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if size := after.TotalAlloc - before.TotalAlloc; size > mostAllocated {
		t.Errorf("judging allocated %d bytes", size)
	}
	for _, e := range result.Errors {
		if e.Exception == "" || e.Message == "" || len(e.Message) > MaxMessage {
			t.Errorf("%+v", e)
		}
	}
	return result
}

// in returns the text before and after what is inside a mouse.
func in() (head, tail string) {
	head, tail, _ = strings.Cut(small("", "", "@"), "@")
	return head, tail
}

// TestHostile are documents made to take time or memory. Each is refused by
// name, or judged as if it weren't large, within bounds.
func TestHostile(t *testing.T) {
	s := ours(t, "specimen")
	head, tail := in()
	tag := strings.TrimSuffix(head, ">")
	for name, test := range map[string]struct {
		document  generated
		exception string // "" if it is valid
		message   string
		errors    int // 1 if it is 0, and negative if they are not truncated
	}{
		"100,000 deep":             {generated{head: head, unit: "<a>", units: 100_000}, OverLimit, "depth", 0},
		"1,000,000 deep":           {generated{unit: "<a>", units: 1_000_000}, OverLimit, "depth", 0},
		"1,000,000 attributes":     {generated{head: tag, unit: " a=''", units: 1_000_000, tail: "/>"}, OverLimit, "attribute", 0},
		"1,000,000 declarations":   {generated{head: tag, unit: " xmlns:a='u'", units: 1_000_000, tail: "/>"}, OverLimit, "", 0},
		"attribute of 100 MB":      {generated{head: tag + ` colonyID="`, unit: strings.Repeat("x", 1<<16), units: 1600, tail: `"/>`}, OverLimit, "", 0},
		"text of 100 MB":           {generated{head: head + "<statusCode>", unit: strings.Repeat("x", 1<<16), units: 1600, tail: "</statusCode>" + tail}, OverLimit, "", 0},
		"CDATA of 100 MB":          {generated{head: head + "<statusCode><![CDATA[", unit: strings.Repeat("x", 1<<16), units: 1600, tail: "]]></statusCode>" + tail}, OverLimit, "", 0},
		"comment of 100 MB":        {generated{head: head + "<!--", unit: strings.Repeat("x", 1<<16), units: 1600, tail: "-->" + tail}, "", "", 0},
		"instruction of 100 MB":    {generated{head: head + "<?x ", unit: strings.Repeat("x", 1<<16), units: 1600, tail: "?>" + tail}, "", "", 0},
		"name of 100 MB":           {generated{head: head + "<", unit: strings.Repeat("x", 1<<16), units: 1600, tail: "/>" + tail}, OverLimit, "", 0},
		"white space of 20 MB":     {generated{head: head, unit: strings.Repeat(" \n", 1<<15), units: 320, tail: tail}, OverLimit, "", 0},
		"text in 1,000,000 pieces": {generated{head: head + "<statusCode>", unit: "x<!---->", units: 1_000_000, tail: "</statusCode>" + tail}, "", "", 0},
		"4,000,000 references":     {generated{head: head + "<statusCode>", unit: "&#10;", units: 4_000_000, tail: "</statusCode>" + tail}, "", "", 0},
		"1,000,000 comments":       {generated{head: head, unit: "<!-- -->", units: 1_000_000, tail: tail}, "", "", 0},
		"1,000,000 errors":         {generated{head: head, unit: "<bad/>\n", units: 1_000_000, tail: tail}, Invalid, "bad", 500},
		"1,000,000 bad attributes": {generated{head: head, unit: "<statusCode a='' b='' date='x'/>\n", units: 300_000, tail: tail}, Invalid, "", 500},
		"1,000,000 bad values":     {generated{head: strings.Replace(head, "<mouse", strings.Repeat(strings.Split(head, "\n")[2]+"</mouse>", 1)+"<mouse", 1), unit: "<genotype geneSymbol='' MGIGeneId='' MGIAlleleId='' motherZygosity='Wild Type'/>\n", units: 300_000, tail: tail}, Invalid, "did you mean", 500},
		"4,000 prefixes":           {generated{head: "<a" + many(4000, ` xmlns:p%d="u"`) + ">", unit: "<b/>", units: 1_000_000, tail: "</a>"}, OverLimit, "more than 200 namespace declarations", 0},
		"4,000 prefixes, known":    {generated{head: "<p:centreSpecimenSet" + many(4000, ` xmlns:p%d="u"`) + strings.Replace(specimenNS, "xmlns", " xmlns:p", 1) + "><b/>", unit: "<b/>", units: 1_000_000, tail: "</p:centreSpecimenSet>"}, OverLimit, "xmlns", 0},
		"500 names of 4 MB":        {generated{head: head, unit: "<" + strings.Repeat("x", 4<<20-100) + "/>", units: 100, tail: tail}, OverLimit, "longer than", 0},
		"500 long names":           {generated{head: head, unit: "<" + strings.Repeat("x", 8000) + "/>", units: 1000, tail: tail}, Invalid, "is not allowed here", 500},
		"20 types of 200 KB":       {generated{head: head, unit: "<genotype geneSymbol='' MGIGeneId='' MGIAlleleId='' xmlns:xsi='" + xsiNS + "' xsi:type='" + strings.Repeat("x", 200_000) + "'/>", units: 20, tail: tail}, Invalid, "xsi:type names xxx", -20},
		"billion laughs":           {generated{head: `<!DOCTYPE a [<!ENTITY a0 "lol">`, unit: `<!ENTITY a "&b;&b;&b;&b;&b;">`, units: 1000, tail: "]>" + small("", "", "<statusCode>&a;</statusCode>")}, DoctypeRefused, "DOCTYPE", 0},
		"quadratic blow-up":        {generated{head: `<!DOCTYPE a [<!ENTITY a "`, unit: "x", units: 100_000, tail: `">]>` + small("", "", "<statusCode>"+strings.Repeat("&a;", 100_000)+"</statusCode>")}, DoctypeRefused, "", 0},
		"entity from a file":       {generated{head: `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + small("", "", "<statusCode>&x;</statusCode>")}, DoctypeRefused, "", 0},
		"entity from the network":  {generated{head: `<!DOCTYPE a SYSTEM "http://files.example.org/x.dtd">` + small("", "", "")}, DoctypeRefused, "", 0},
		"parameter entity":         {generated{head: `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://files.example.org/x">%x;]>` + small("", "", "")}, DoctypeRefused, "", 0},
		"DOCTYPE that never ends":  {generated{head: `<!DOCTYPE a [`, unit: "<!ENTITY a 'b'> ", units: 1_000_000}, DoctypeRefused, "", 0},
		"endless declaration":      {generated{head: `<?xml version="1.0" `, unit: " ", units: 5_000_000}, BadEncoding, "does not end within", 0},
	} {
		t.Run(name, func(t *testing.T) {
			result := bounded(t, s, &test.document)
			if result.Valid != (test.exception == "") {
				t.Fatalf("%+v", result)
			}
			if result.Valid {
				return
			}
			if few := max(test.errors, -test.errors, 1); len(result.Errors) != few || result.Truncated != (test.errors > 0) {
				t.Errorf("%d errors are listed, truncated %v", len(result.Errors), result.Truncated)
			}
			for _, e := range result.Errors {
				if e.Exception != test.exception {
					t.Fatalf("%+v, want %s", e, test.exception)
				}
			}
			if last := result.Errors[len(result.Errors)-1]; !strings.Contains(last.Message, test.message) {
				t.Errorf("%q does not say %q", last.Message, test.message)
			}
		})
	}
}

// TestCutOff has a good document cut off at each byte: it isn't well-formed, and
// the error is within what is left.
func TestCutOff(t *testing.T) {
	for _, kind := range []string{"specimen", "experiment"} {
		s, document := ours(t, kind), strings.TrimSpace(complete(t, kind))
		for n := range len(document) {
			result := validate(t, s, document[:n])
			if result.Valid || len(result.Errors) != 1 {
				t.Fatalf("%s cut off at byte %d: %+v", kind, n, result)
			}
			e, lines := result.Errors[0], strings.Split(document[:n], "\n")
			if e.Exception != NotWellFormed || e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len(lines[e.Line-1])+1 {
				t.Fatalf("%s cut off at byte %d of line %d: %+v", kind, n, len(lines), e)
			}
		}
	}
}

// TestEncodingsThatLie is text in another encoding than it says.
func TestEncodingsThatLie(t *testing.T) {
	s := ours(t, "specimen")
	text := func(encoding string) string {
		return small(`<?xml version="1.0" encoding="`+encoding+`"?>`, ` colonyID="Zürich"`, "")
	}
	for name, test := range map[string]struct{ document, exception, message string }{
		"latin-1 that says UTF-8":         {latin1(text("UTF-8")), BadEncoding, "not UTF-8"},
		"latin-1 that says nothing":       {latin1(small("", ` colonyID="Zürich"`, "")), BadEncoding, "not UTF-8"},
		"UTF-8 that says latin-1":         {text("ISO-8859-1"), "", ""}, // every byte is a character there
		"UTF-8 that says UTF-16":          {text("UTF-16"), BadEncoding, "its bytes are not UTF-16"},
		"UTF-16 that says UTF-8":          {wide(binary.LittleEndian, text("UTF-8")), "", ""},
		"UTF-16 without a mark":           {wide(binary.BigEndian, text("UTF-16"))[2:], "", ""},
		"UTF-16, half a character":        {wide(binary.LittleEndian, text("UTF-16")) + "x", BadEncoding, "odd number of bytes"},
		"UTF-16, a lone surrogate":        {wide(binary.LittleEndian, strings.Replace(text("UTF-16"), "ü", "@", 1))[:300] + "\x00\xd8" + wide(binary.LittleEndian, "x")[2:], BadEncoding, "half a character"},
		"UTF-16 of the other byte order":  {"\xFF\xFE" + wide(binary.BigEndian, text("UTF-16"))[2:], NotWellFormed, ""},
		"UTF-32":                          {"\xFF\xFE\x00\x00<\x00\x00\x00", BadEncoding, "UTF-32"},
		"two marks":                       {"\xEF\xBB\xBF\xEF\xBB\xBF" + text("UTF-8"), BadEncoding, "two byte order marks"},
		"mark of UTF-8, says latin-1":     {"\xEF\xBB\xBF" + text("ISO-8859-1"), "", ""},
		"surrogates in UTF-8":             {small("", "", "<statusCode>\xed\xa0\x80\xed\xb0\x80</statusCode>"), BadEncoding, "not UTF-8"},
		"overlong UTF-8":                  {small("", "", "<statusCode>\xc0\xbc</statusCode>"), BadEncoding, "not UTF-8"},
		"beyond Unicode":                  {small("", "", "<statusCode>\xf4\x90\x80\x80</statusCode>"), BadEncoding, "not UTF-8"},
		"NUL":                             {small("", "", "<statusCode>\x00</statusCode>"), NotWellFormed, ""},
		"reference to NUL":                {small("", "", "<statusCode>&#0;</statusCode>"), NotWellFormed, ""},
		"reference to a surrogate":        {small("", "", "<statusCode>&#xD800;</statusCode>"), NotWellFormed, ""},
		"reference beyond Unicode":        {small("", "", "<statusCode>&#x110000;</statusCode>"), NotWellFormed, ""},
		"reference of a million digits":   {small("", "", "<statusCode>&#"+strings.Repeat("1", 1_000_000)+";</statusCode>"), NotWellFormed, ""},
		"entity name of a million bytes":  {small("", "", "<statusCode>&"+strings.Repeat("a", 1_000_000)+";</statusCode>"), EntityRefused, ""},
		"encoding of a million bytes":     {`<?xml version="1.0" encoding="` + strings.Repeat("a", 1_000_000) + `"?><a/>`, BadEncoding, "does not end within"},
		"unknown encoding":                {text("klingon"), BadEncoding, `"klingon"`},
		"encoding of the name of a file":  {text("../../etc/passwd"), BadEncoding, "passwd"},
		"line separators that aren't any": {small("", "", "<statusCode>\u2028\u0085</statusCode>"), "", ""},
	} {
		result := bounded(t, s, strings.NewReader(test.document))
		if result.Valid != (test.exception == "") {
			t.Errorf("%s: %+v", name, result)
			continue
		}
		if !result.Valid && (result.Errors[0].Exception != test.exception || !strings.Contains(result.Errors[0].Message, test.message)) {
			t.Errorf("%s: %+v, want %s about %q", name, result.Errors[0], test.exception, test.message)
		}
	}
}

// TestLargeModels has schemas whose content models and enumerations are large,
// and documents that are wrong in them again and again.
func TestLargeModels(t *testing.T) {
	var choice, sequence, values strings.Builder
	for i := range 100 {
		fmt.Fprintf(&choice, `<xs:element name="c%d" type="V"/>`, i)
	}
	for i := range 5000 {
		fmt.Fprintf(&sequence, `<xs:element name="s%d" type="xs:string"/>`, i)
		fmt.Fprintf(&values, `<xs:enumeration value="value number %d of many values"/>`, i)
	}
	s := schemaOf(t, `<xs:simpleType name="V"><xs:restriction base="xs:string">`+values.String()+`</xs:restriction></xs:simpleType>
		<xs:element name="r"><xs:complexType><xs:choice maxOccurs="unbounded"><xs:element name="s"><xs:complexType><xs:sequence>`+sequence.String()+`</xs:sequence></xs:complexType></xs:element>`+choice.String()+`</xs:choice></xs:complexType></xs:element>`)
	var inOrder strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&inOrder, "<s%d/>", i)
	}
	for name, test := range map[string]struct {
		document generated
		errors   int
		message  string
	}{
		"good":        {generated{unit: "<c99>value number 77 of many values</c99><s>" + inOrder.String() + "</s>", units: 20}, 0, ""},
		"bad child":   {generated{unit: "<c5000/>", units: 100_000}, 500, `/r: the element c5000 is not allowed here`},
		"bad order":   {generated{unit: "<s><s0/><s1/><s3/></s>", units: 10_000}, 500, "/r/s: the element s3 is not allowed here; allowed after s1: s2. s may contain, in this order: s0, s1, s2"},
		"bad value":   {generated{unit: "<c1>value number x of many values</c1>", units: 100_000}, 500, `/r/c1: the text is "value number x of many values"; it must be one of "value number 0 of many values"`},
		"bad and far": {generated{unit: "<c1>value number 1 of many values</c1>\n<c1 x=''>value number 1 of many values</c1>\n", units: 100_000}, 500, "/r/c1: it may not have attributes, but has x"},
	} {
		test.document.head, test.document.tail = `<r xmlns="urn:t">`, `</r>`
		result := bounded(t, s, &test.document)
		if len(result.Errors) != test.errors {
			t.Errorf("%s: %d errors: %+v", name, len(result.Errors), result.Errors[:min(1, len(result.Errors))])
			continue
		}
		if test.errors > 0 && !strings.HasPrefix(result.Errors[0].Message, test.message) {
			t.Errorf("%s: %+v", name, result.Errors[0])
		}
	}
}

// TestModelsTooLarge are refused at once instead of compiled for hours.
func TestModelsTooLarge(t *testing.T) {
	for name, occurs := range map[string][2]string{"choice": {"choice", ""}, "repeated choice": {"choice", ` maxOccurs="unbounded"`}, "optional": {"sequence", ""}} {
		var b strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&b, `<xs:element name="e%d" type="xs:string" minOccurs="0"/>`, i)
		}
		model := "<xs:" + occurs[0] + occurs[1] + ">" + b.String() + "</xs:" + occurs[0] + ">"
		_, err := Compile(fstest.MapFS{"s.xsd": {Data: []byte("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>\n<xs:element name='r'><xs:complexType>" + model + "</xs:complexType></xs:element></xs:schema>")}}, "s.xsd")
		if err == nil || !strings.Contains(err.Error(), "s.xsd:2: the element r has more than 500 children in a row") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPatternsTakeNoTime has regular expressions that others take forever for.
func TestPatternsTakeNoTime(t *testing.T) {
	s := schemaOf(t, `<xs:element name="r"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="(a+)+b"/><xs:pattern value="(a|aa)*c"/><xs:pattern value="(.*)*d"/></xs:restriction></xs:simpleType></xs:element>`)
	for text, valid := range map[string]bool{
		strings.Repeat("a", 1<<20): false, strings.Repeat("a", 1<<20) + "b": true, strings.Repeat("a", 1<<20) + "c": true, strings.Repeat("x", 1<<20) + "d": true,
	} {
		if result := bounded(t, s, strings.NewReader(`<r xmlns="urn:t">`+text+`</r>`)); result.Valid != valid {
			t.Errorf("%d bytes that end with %q: %v", len(text), text[len(text)-1], result.Errors)
		}
	}
}

// TestKeys has keys and references across a document, and more of them than are
// kept.
func TestKeys(t *testing.T) {
	s := schemaOf(t, `<xs:element name="r" xmlns:t="urn:t"><xs:complexType><xs:sequence><xs:element name="k" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:attribute name="id" type="xs:string"/><xs:attribute name="to" type="xs:string"/></xs:complexType></xs:element></xs:sequence></xs:complexType>
		<xs:key name="key"><xs:selector xpath="t:k"/><xs:field xpath="@id"/></xs:key><xs:keyref name="ref" refer="key"><xs:selector xpath="t:k"/><xs:field xpath="@to"/></xs:keyref></xs:element>`)
	s, err := s.WithOptions(Options{MaxIdentityEntries: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	key := func(i, to int) string { return fmt.Sprintf("<k id='%d' to='%d'/>\n", i, to) }
	var all, more strings.Builder
	for i := range 4000 {
		all.WriteString(key(i, 3999-i))
	}
	for i := range 12_000 {
		more.WriteString(key(i, i))
	}
	for name, test := range map[string]struct{ keys, want string }{
		"good":       {all.String(), ""},
		"doubled":    {all.String() + key(7, 8), "4001:18 /r/k: its key is there already, at /r/k\n"},
		"unresolved": {all.String() + key(4000, 4001), "4001:1 /r/k: it refers to a key that is not in the document\n"},
		"without":    {all.String() + "<k/>", "4001:4 /r/k: a part of its key is missing\n"},
		"too many":   {more.String(), "5001:24 /r/k: identity entry limit exceeded\n"},
	} {
		result := bounded(t, s, strings.NewReader(`<r xmlns="urn:t">`+test.keys+`</r>`))
		if name == "too many" && result.Errors[0].Exception != OverLimit {
			t.Errorf("%+v", result)
		}
		if diff := cmp.Diff(test.want, lines(result.Errors)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSchemasThatLoop import each other, or themselves.
func TestSchemasThatLoop(t *testing.T) {
	const head = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" `
	fsys := fstest.MapFS{
		"a.xsd": {Data: []byte(head + `targetNamespace="urn:a" xmlns:b="urn:b"><xs:include schemaLocation="a.xsd"/><xs:import namespace="urn:b" schemaLocation="b.xsd"/><xs:element name="r" type="b:T"/></xs:schema>`)},
		"b.xsd": {Data: []byte(head + `targetNamespace="urn:b" xmlns:a="urn:a"><xs:import namespace="urn:a" schemaLocation="a.xsd"/><xs:complexType name="T"><xs:sequence><xs:element ref="a:r" minOccurs="0"/></xs:sequence></xs:complexType></xs:schema>`)},
	}
	s, err := Compile(fsys, "a.xsd")
	if err != nil {
		t.Fatal(err)
	}
	if s.tree == nil {
		t.Error("no tree")
	}
	for document, valid := range map[string]bool{`<r xmlns="urn:a"><r><r/></r></r>`: true, `<r xmlns="urn:a"><r><r/><r/></r></r>`: false} {
		if result := validate(t, s, document); result.Valid != valid {
			t.Errorf("%s: %+v", document, result)
		}
	}
}
