package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"unicode/utf8"
)

// unicodeField is the extra field that gives the name of raw as name.
func unicodeField(raw, name string) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, 0x7075)
	b = le.AppendUint16(b, uint16(5+len(name)))
	b = append(b, 1)
	b = le.AppendUint32(b, crc32.ChecksumIEEE([]byte(raw)))
	return append(b, name...)
}

// A directory that knows of its prefix, as that of a self-extracting archive
// does, hides it from those who go by the directory.
func adjusted(prefix string, parts ...part) layout {
	at := uint32(len(prefix))
	l := layout{prefix: []byte(prefix)}
	for _, p := range parts {
		p.at = ptr(at)
		at += uint32(lenLocal + len(p.name) + len(p.data))
		l.parts = append(l.parts, p)
	}
	l.dirOff = ptr(at)
	return l
}

func TestBytesThatBelongToNoEntry(t *testing.T) {
	a, b := part{name: "a.xml", data: []byte("<a/>")}, part{name: "b.xml", data: []byte("<b/>")}
	whole := layout{parts: []part{a, b}}.bytes(t)
	directory := bytes.Index(whole, []byte("PK\x01\x02"))
	// without leaves the entry in the file, but not in the directory.
	without := func(from, to int) []byte {
		out := append(bytes.Clone(whole[:from]), whole[to:]...)
		end := len(out) - lenEnd
		le := binary.LittleEndian
		le.PutUint16(out[end+8:], 1)
		le.PutUint16(out[end+10:], 1)
		le.PutUint32(out[end+12:], uint32(lenCentral+5))
		le.PutUint32(out[end+16:], uint32(directory))
		return out
	}
	secondHeader := bytes.LastIndex(whole, []byte("PK\x01\x02"))
	cases := map[string]struct {
		raw  []byte
		says string
	}{
		"self-extracting": {adjusted("MZ this program cannot be run", a, b).bytes(t), "29 bytes"},
		"hidden first":    {without(directory, secondHeader), "bytes"},
		"hidden last":     {without(secondHeader, len(whole)-lenEnd), "before its directory"},
		"alone":           {append([]byte("junk"), layout{dirOff: ptr(uint32(4))}.bytes(t)...), "4 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.raw, Limits{})
			refusedAs(t, err, NotAnArchive)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
	if docs, err := read(adjusted("", a, b).bytes(t), Limits{}); err != nil || len(docs) != 2 {
		t.Fatalf("without a prefix: %d documents, %v", len(docs), err)
	}
}

func TestNamesByTheirCharset(t *testing.T) {
	data := []byte("<a/>")
	named := func(p part) []byte { p.data = data; return layout{parts: []part{p}}.bytes(t) }
	accepted := map[string]struct {
		raw           []byte
		name, charset string
	}{
		"flagged":           {named(part{name: "Zürich.xml", flags: flagUTF8}), "Zürich.xml", "utf-8"},
		"unflagged":         {named(part{name: "Zürich.xml"}), "Zürich.xml", "utf-8"},
		"cp437":             {named(part{name: "Z\x81rich.xml"}), "Zürich.xml", "cp437"},
		"field":             {named(part{name: "Z\x81rich.xml", centralExtra: unicodeField("Z\x81rich.xml", "Zürich.xml")}), "Zürich.xml", "cp437"},
		"field of another":  {named(part{name: "\x93\xfa.xml", centralExtra: unicodeField("\x93\xfa.xml", "\u65e5.xml")}), "\u65e5.xml", "unicode-path"},
		"void field":        {named(part{name: "a.xml", centralExtra: unicodeField("b.xml", "c.xml")}), "a.xml", "utf-8"},
		"field in both":     {named(part{name: "\x93\xfa.xml", centralExtra: unicodeField("\x93\xfa.xml", "\u65e5.xml"), localExtra: unicodeField("\x93\xfa.xml", "\u65e5.xml")}), "\u65e5.xml", "unicode-path"},
		"fields cut off":    {named(part{name: "a.xml", centralExtra: []byte{0x75, 0x70, 0xff, 0, 1}}), "a.xml", "utf-8"},
		"field too short":   {named(part{name: "a.xml", centralExtra: []byte{0x75, 0x70, 2, 0, 1, 2}}), "a.xml", "utf-8"},
		"long local extras": {named(part{name: "a.xml", localExtra: append([]byte{9, 9, 100, 0}, make([]byte, 100)...)}), "a.xml", "utf-8"},
	}
	for name, c := range accepted {
		t.Run(name, func(t *testing.T) {
			docs, err := read(c.raw, Limits{})
			if err != nil || len(docs) != 1 || docs[0].Name != c.name || docs[0].Charset != c.charset {
				t.Fatalf("%+v, %v, want %q in %s", docs, err, c.name, c.charset)
			}
		})
	}
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"flag without UTF-8":       {named(part{name: "Z\x81rich.xml", flags: flagUTF8}), NameInvalid},
		"field without UTF-8":      {named(part{name: "Z\x81rich.xml", centralExtra: unicodeField("Z\x81rich.xml", "Z\xff.xml")}), NameInvalid},
		"field against ASCII":      {named(part{name: "a.xml", centralExtra: unicodeField("a.xml", "b.xml")}), NameMismatch},
		"field against the flag":   {named(part{name: "ü.xml", flags: flagUTF8, centralExtra: unicodeField("ü.xml", "u.xml")}), NameMismatch},
		"field in its own header":  {named(part{name: "a.xml", localExtra: unicodeField("a.xml", "b.xml")}), NameMismatch},
		"field with a slip":        {named(part{name: "\x93\xfa.xml", centralExtra: unicodeField("\x93\xfa.xml", "../a.xml")}), PathSlip},
		"far field in own header":  {named(part{name: "a.xml", localExtra: append(append([]byte{9, 9, 100, 0}, make([]byte, 100)...), unicodeField("a.xml", "b.xml")...)}), NameMismatch},
		"field with a line feed":   {named(part{name: "\x93\xfa.xml", centralExtra: unicodeField("\x93\xfa.xml", "a\n.xml")}), NameInvalid},
		"names differ in charsets": {layout{parts: []part{{name: "\xb2.xml", data: data}, {name: "▓.xml", data: data}}}.bytes(t), DuplicateEntry},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.raw, Limits{})
			refusedAs(t, err, c.want)
		})
	}
}

func TestTwins(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		twins bool
	}{
		"case":            {[]string{"H.xml", "h.xml"}, true},
		"case of the end": {[]string{"h.xml", "h.XML"}, true},
		"accents":         {[]string{"\u00fc.xml", "u\u0308.xml"}, true},
		"by path":         {[]string{"H.xml", "./h.xml"}, true},
		"other folders":   {[]string{"H.xml", "a/h.xml", "b/h.xml"}, false},
		"no documents":    {[]string{"H.xml", "README", "readme"}, false},
		"others":          {[]string{"H.xml", "H.1.xml"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var l layout
			for _, n := range c.names {
				l.parts = append(l.parts, doc(n))
			}
			_, err := read(l.bytes(t), Limits{})
			if c.twins {
				refusedAs(t, err, DuplicateEntry)
			} else if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestQuoteIsSafeAndShort(t *testing.T) {
	for _, name := range []string{"", "a", "\x1b[31m", "a\u202egpj.xml", strings.Repeat("é", 500), strings.Repeat("\xff", 500), strings.Repeat("\x00", 5000)} {
		got := Quote(name)
		if len(got) > 4*maxQuoted+10 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x00\u202e") {
			t.Errorf("%q is quoted as %q", name, got)
		}
	}
	var refused *RefusedError
	_, err := read(layout{parts: []part{doc("a.xml"), {name: "../" + strings.Repeat("é", 400)}}}.bytes(t), Limits{})
	if !errors.As(err, &refused) || len(err.Error()) > 600 {
		t.Errorf("the message has %d bytes: %v", len(err.Error()), err)
	}
}
