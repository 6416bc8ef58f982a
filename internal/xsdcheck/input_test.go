package xsdcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

const specimenNS = `xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen"`

// small is a specimen document with room for what a test puts in.
func small(before, attributes, inside string) string {
	return before + "<centreSpecimenSet " + specimenNS + ">\n<centre centreID=\"H\">\n" +
		`<mouse specimenID="1" isBaseline="1" gender="male" zygosity="wild type" litterId="1" pipeline="p" project="p" phenotypingCentre="H" DOB="2020-01-01"` +
		attributes + ">" + inside + "</mouse>\n</centre>\n</centreSpecimenSet>\n"
}

// TestBadInput gives the schema what is hostile or broken: each has one
// exception, and the message says what it is.
func TestBadInput(t *testing.T) {
	s := ours(t, "specimen")
	status := func(text string) string { return "<statusCode>" + text + "</statusCode>" }
	for name, test := range map[string]struct{ document, exception, message string }{
		"empty":                {"", NotWellFormed, ""},
		"only a mark":          {"\xEF\xBB\xBF", NotWellFormed, ""},
		"not XML":              {"PK\x03\x04", NotWellFormed, ""},
		"cut off":              {small("", "", "")[:120], NotWellFormed, ""},
		"wrong end":            {small("", "", "<statusCode></code>"), NotWellFormed, "code"},
		"bare ampersand":       {small("", "", status("a & b")), NotWellFormed, ""},
		"doubled attribute":    {small("", ` project="q"`, ""), NotWellFormed, "project"},
		"unbound prefix":       {small("", ` x:y="q"`, ""), NotWellFormed, "x"},
		"bad UTF-8":            {small("", "", status("\xff")), BadEncoding, "not UTF-8"},
		"bad UTF-8 in a value": {small("", " colonyID='\xc3\x28'", ""), BadEncoding, "not UTF-8"},
		"bad UTF-8 in comment": {small("<!-- \xed\xa0\x80 -->", "", ""), BadEncoding, "not UTF-8"},
		"control character":    {small("", "", status("\x01")), NotWellFormed, ""},
		"two roots":            {small("", "", "") + "<a/>", NotWellFormed, ""},
		"xml 1.1":              {small(`<?xml version="1.1"?>`, "", ""), BadVersion, "1.1"},
		"doctype":              {small("<!DOCTYPE centreSpecimenSet>", "", ""), DoctypeRefused, "DOCTYPE"},
		"billion laughs":       {small(`<!DOCTYPE a [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;&l;">]>`, "", status("&m;")), DoctypeRefused, "DOCTYPE"},
		"external entity":      {small(`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>`, "", status("&x;")), DoctypeRefused, "DOCTYPE"},
		"undeclared entity":    {small("", "", status("&nbsp;")), EntityRefused, "character references"},
		"windows-1252":         {small(`<?xml version="1.0" encoding="windows-1252"?>`, "", ""), BadEncoding, "windows-1252"},
		"not utf-16":           {small(`<?xml version="1.0" encoding="UTF-16"?>`, "", ""), BadEncoding, "not UTF-16"},
		"empty encoding":       {small(`<?xml version="1.0" encoding=""?>`, "", ""), BadEncoding, ""},
		"not ascii":            {small(`<?xml version="1.0" encoding="us-ascii"?>`, "", status("\xe9")), BadEncoding, "US-ASCII"},
		"not ascii, first tag": {"<?xml version=\"1.0\" encoding=\"us-ascii\"?><\xe9/>", BadEncoding, "US-ASCII"},
		"depth":                {strings.Repeat("<a>", 100_000), OverLimit, "depth"},
		"attributes":           {small("", many(100_000, ` a%d=""`), ""), OverLimit, ""},
		"namespaces":           {small("", many(100_000, ` xmlns:a%d="u"`), ""), OverLimit, ""},
		"long attribute":       {small("", ` colonyID="`+strings.Repeat("x", 5<<20)+`"`, ""), OverLimit, ""},
		"long text":            {small("", "", status(strings.Repeat("x", 5<<20))), OverLimit, ""},
		"long name":            {"<" + strings.Repeat("x", 5<<20) + "/>", OverLimit, ""},
		"wrong root":           {"<a/>", Invalid, "a"},
		"own schema": {`<a xmlns="urn:a" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:a file:///etc/a.xsd"/>`,
			Invalid, "{urn:a}a is not declared"},
		"empty element filled": {small("", "", `<relatedSpecimen specimenID="1" relationship="mother"><mouse/></relatedSpecimen>`), Invalid, "relatedSpecimen"},
	} {
		t.Run(name, func(t *testing.T) {
			result := validate(t, s, test.document)
			if result.Valid {
				t.Fatal("accepted")
			}
			for _, e := range result.Errors {
				if e.Exception != test.exception || !strings.Contains(e.Message, test.message) || e.Message == "" {
					t.Errorf("%+v, want %s about %q", e, test.exception, test.message)
				}
				if !utf8.ValidString(e.Message) || len(e.Message) > MaxMessage || strings.ContainsAny(e.Message, "\x00\x01\n\x1b") {
					t.Errorf("message %q can't be stored", e.Message)
				}
			}
		})
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestGoodInput is what must pass although it looks odd.
func TestGoodInput(t *testing.T) {
	s := ours(t, "specimen")
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	for name, document := range map[string]string{
		"mark":            "\xEF\xBB\xBF" + small("", "", ""),
		"no declaration":  small("", "", ""),
		"crlf":            strings.ReplaceAll(small("", "", ""), "\n", "\r\n"),
		"comments":        small("<!-- a --><?pi x?>", "", "<!-- <!DOCTYPE a> -->") + "<!-- b -->",
		"cdata":           small("", "", "<statusCode><![CDATA[<!DOCTYPE a> & ]]></statusCode>"),
		"references":      small("", "", "<statusCode>&#10;&#x1F400;&lt;&amp;</statusCode>"),
		"many references": small("", "", "<statusCode>"+strings.Repeat("&#10;", 400_000)+"</statusCode>"),
		"bad hint":        small("", xsi+` xsi:schemaLocation="C:\data\my schema.xsd"`, ""),
		"other hint":      small("", xsi+` xsi:schemaLocation="urn:a file:///etc/a.xsd"`, ""),
		"standalone":      small(`<?xml version="1.0" encoding="utf-8" standalone="yes"?>`, "", ""),
	} {
		if result := validate(t, s, document); !result.Valid {
			t.Errorf("%s: %+v", name, result.Errors)
		}
	}
}

// TestEncodings finds an error at the same place in every encoding.
func TestEncodings(t *testing.T) {
	s := ours(t, "specimen")
	text := func(encoding string) string {
		return small(fmt.Sprintf("<?xml version=\"1.0\" encoding=\"%s\"?>\n", encoding), ` colonyID="Zürich"`, "<statusCode>ü</statusCode><bad/>")
	}
	for name, document := range map[string]string{
		"utf-8":         text("UTF-8"),
		"utf-8, marked": "\xEF\xBB\xBF" + text("UTF-8"),
		"latin-1":       latin1(text("ISO-8859-1")),
		"utf-16le":      wide(binary.LittleEndian, text("UTF-16")),
		"utf-16be":      wide(binary.BigEndian, text("UTF-16")),
	} {
		result := validate(t, s, document)
		if len(result.Errors) != 1 || result.Bytes != int64(len(document)) {
			t.Fatalf("%s: %+v of %d bytes", name, result, len(document))
		}
		// ü counts two bytes in a column.
		line, column := 4, strings.Index(strings.Split(text("UTF-8"), "\n")[3], "<bad/>")+1
		if e := result.Errors[0]; e.Line != line || e.Column != column || e.Exception != Invalid {
			t.Errorf("%s: %+v, want %d:%d", name, e, line, column)
		}
	}
}

func latin1(text string) string {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		b = append(b, byte(c))
	}
	return string(b)
}

func wide(order binary.AppendByteOrder, text string) string {
	b := order.AppendUint16(nil, 0xFEFF)
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

func TestUnreadableDocumentsHaveAPlace(t *testing.T) {
	s := ours(t, "specimen")
	for document, want := range map[string][2]int{
		"":                                   {1, 1},
		"\n\n":                               {3, 1},
		"<a>\n<b>\n  ":                       {3, 2},
		"<a>\n<b>\n<":                        {3, 1},
		"<a>\n  </b>":                        {2, 3},
		`<?xml version="1.1"?><a/>`:          {1, 1},
		`<?xml version="1.0" encoding="x"?>`: {1, 1},
		"<!-- a -->\n <!DOCTYPE a><a/>":      {2, 2},
	} {
		result := validate(t, s, document)
		if len(result.Errors) == 0 {
			t.Fatalf("%q is accepted", document)
		}
		e := result.Errors[len(result.Errors)-1]
		if e.Line != want[0] || e.Column != want[1] {
			t.Errorf("%q: %+v, want %v", document, e, want)
		}
	}
}

func TestErrorsAreSortedAndCapped(t *testing.T) {
	s, err := ours(t, "specimen").WithOptions(Options{MaxErrors: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		bad, listed int
		truncated   bool
	}{{9, 9, false}, {10, 10, false}, {11, 10, true}, {300_000, 10, true}} {
		result := validate(t, s, small("", "", strings.Repeat("<bad/>\n", test.bad)))
		if len(result.Errors) != test.listed || result.Truncated != test.truncated || result.Truncated != (result.Total > test.listed) {
			t.Errorf("%d errors: %d listed, total %d, truncated %v", test.bad, len(result.Errors), result.Total, result.Truncated)
		}
		for i := 1; i < len(result.Errors); i++ {
			if result.Errors[i].Line < result.Errors[i-1].Line {
				t.Errorf("error %d is before error %d", i, i-1)
			}
		}
	}
	// Findings that don't count must not hide those that do.
	hint := `<bad xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="x"/>`
	if result := validate(t, s, small("", "", strings.Repeat(hint, 1000))); result.Valid {
		t.Error("many malformed hints hide errors")
	}
	if result := validate(t, s, strings.ReplaceAll(small("", "", strings.Repeat(strings.Replace(hint, "bad", "genotype geneSymbol='' MGIGeneId='' MGIAlleleId=''", 1), 1000)), "</mouse>", "</mouse><bad/>")); result.Valid {
		t.Error("many malformed hints hide an error that follows")
	}
}

func TestMaxBytes(t *testing.T) {
	document := small("", "", "")
	for size, valid := range map[int64]bool{int64(len(document)): true, int64(len(document)) - 1: false} {
		s, err := ours(t, "specimen").WithOptions(Options{MaxBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		result := validate(t, s, document)
		if result.Valid != valid || !valid && result.Errors[0].Exception != OverLimit {
			t.Errorf("limit %d of %d bytes: %+v", size, len(document), result)
		}
	}
	if _, err := ours(t, "specimen").WithOptions(Options{MaxDepth: -1}); err == nil || !strings.Contains(err.Error(), "MaxDepth") {
		t.Errorf("negative limit: %v", err)
	}
}

func TestReadErrorsAreNoVerdict(t *testing.T) {
	s := ours(t, "specimen")
	broken := errors.New("disk is gone")
	document := small("", "", "")
	for _, n := range []int{0, 3, 50, len(document)} {
		_, err := s.Validate(context.Background(), io.MultiReader(strings.NewReader(document[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	_, err := s.Validate(context.Background(), iotest.ErrReader(io.ErrUnexpectedEOF))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated archive entry: %v", err)
	}
	// The schema is as good as before.
	if result := validate(t, s, document); !result.Valid {
		t.Errorf("%+v", result)
	}
}

func TestCancel(t *testing.T) {
	s := ours(t, "specimen")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reads := 0
	endless := readerFunc(func(p []byte) (int, error) {
		if reads++; reads == 3 {
			cancel()
		}
		if reads > 10 {
			return 0, errors.New("was read on after the end of the context")
		}
		return copy(p, "                "), nil
	})
	start := strings.NewReader(`<centreSpecimenSet ` + specimenNS + `>`)
	if _, err := s.Validate(ctx, io.MultiReader(start, endless)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Validate(ctx, strings.NewReader(small("", "", ""))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v when cancelled before", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestCompileErrors(t *testing.T) {
	const head = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`
	for name, test := range map[string]struct{ schema, want string }{
		"missing import": {head + `<xs:include schemaLocation="sub/b.xsd"/></xs:schema>`, "sub/b.xsd"},
		"outside":        {head + `<xs:include schemaLocation="../../etc/b.xsd"/></xs:schema>`, "etc/b.xsd"},
		"by network":     {head + `<xs:include schemaLocation="http://files.example.org/b.xsd"/></xs:schema>`, "not a relative path"},
		"broken":         {head + `<xs:element name="a"><xs:nonsense/></xs:element></xs:schema>`, "a.xsd"},
		"redefine":       {head + `<xs:redefine schemaLocation="c.xsd"/></xs:schema>`, "does not support"},
	} {
		fsys := fstest.MapFS{"x/a.xsd": {Data: []byte(test.schema)}, "x/c.xsd": {Data: []byte(head + `</xs:schema>`)}}
		if _, err := Compile(fsys, "x/a.xsd"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v does not say %q", name, err, test.want)
		}
	}
	if _, err := Compile(fstest.MapFS{}, "a.xsd"); err == nil || !strings.Contains(err.Error(), "a.xsd") {
		t.Errorf("missing schema: %v", err)
	}
	good := fstest.MapFS{
		"x/a.xsd":     {Data: []byte(head + `<xs:include schemaLocation="sub/b.xsd"/><xs:element name="a" type="t"/></xs:schema>`)},
		"x/sub/b.xsd": {Data: []byte(head + `<xs:include schemaLocation="../c.xsd"/></xs:schema>`)},
		"x/c.xsd":     {Data: []byte(head + `<xs:simpleType name="t"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>`)},
	}
	s, err := Compile(good, "x/a.xsd")
	if err != nil {
		t.Fatal(err)
	}
	if !validate(t, s, "<a>1</a>").Valid || validate(t, s, "<a>x</a>").Valid {
		t.Error("the included type does not count")
	}
}
