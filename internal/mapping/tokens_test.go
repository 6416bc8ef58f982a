package mapping

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// flat writes tokens as text, texts that follow one another as one.
func flat(r io.Reader) (string, error) {
	t := newTokens(r, make([]byte, tokenBuffer))
	var out strings.Builder
	var text []byte
	flush := func() {
		if len(text) > 0 {
			fmt.Fprintf(&out, "%q", text)
			text = text[:0]
		}
	}
	for {
		tok, err := t.next()
		if err != nil {
			return "", err
		}
		switch tok {
		case tokenText:
			if len(t.marks) > 0 {
				if text, err = t.decode(text, t.text, false, t.cdata); err != nil {
					return "", err
				}
			}
		case tokenStart:
			flush()
			fmt.Fprintf(&out, "<%s", t.name)
			for _, a := range t.attrs {
				v, err := t.decode(nil, a.raw, true, false)
				if err != nil {
					return "", err
				}
				fmt.Fprintf(&out, " %s=%q", a.name, v)
			}
			out.WriteString(">")
		case tokenEnd:
			flush()
			out.WriteString("</>")
		case tokenEOF:
			return out.String(), nil
		}
	}
}

// oracle does the same with the standard library.
func oracle(text string) (string, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var out strings.Builder
	var chars []byte
	depth, roots := 0, 0
	flush := func() {
		if len(chars) > 0 {
			fmt.Fprintf(&out, "%q", chars)
			chars = chars[:0]
		}
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			if roots != 1 {
				return "", errors.New("not one root")
			}
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch tok := tok.(type) {
		case xml.CharData:
			if depth > 0 {
				chars = append(chars, tok...)
			} else if strings.Trim(string(tok), " \t\r\n") != "" {
				return "", errors.New("text outside")
			}
		case xml.StartElement:
			flush()
			if depth++; depth == 1 {
				roots++
			}
			fmt.Fprintf(&out, "<%s", tok.Name.Local)
			for _, a := range tok.Attr {
				if a.Name.Space == "" && !strings.HasPrefix(a.Name.Local, "xmlns") {
					fmt.Fprintf(&out, " %s=%q", a.Name.Local, a.Value)
				}
			}
			out.WriteString(">")
		case xml.EndElement:
			depth--
			flush()
			out.WriteString("</>")
		case xml.Directive:
			return "", errors.New("a directive")
		}
	}
}

// FuzzTokens compares with encoding/xml: what both accept, they must read
// alike, however the bytes arrive.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		`<a/>`, `<a b="c" d='e"f'>x</a>`, "<?xml version='1.0'?>\n<!-- c --><a>1<b/>2<!-- d -->3<?p i?></a>\n",
		`<a>&lt;&amp;&#65;&#x42;<![CDATA[<b>&amp;]]]]><![CDATA[>]]></a>`, "<a>\r\nx\ry</a>", `<p:a xmlns:p="u" p:q="r" s="t"></p:a>`,
		`<a b = "1"  c="2" ></a >`, `<a>ü€😀</a>`, `<a></b>`, `<a`, `<a>&`, `<a b="&#10;"/>`, `<a><b><c/></b></a>x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		got, err := flat(strings.NewReader(text))
		slow, slowErr := flat(iotest.OneByteReader(strings.NewReader(text)))
		if (err == nil) != (slowErr == nil) || got != slow {
			t.Errorf("%q: at once %q %v, byte by byte %q %v", text, got, err, slow, slowErr)
		}
		want, oracleErr := oracle(text)
		// encoding/xml leaves the white space of attributes as it is, which
		// XML makes blanks, and takes some names and prefixes otherwise.
		if err != nil || oracleErr != nil || strings.ContainsAny(text, ":") || strings.Contains(want, `\n`) || strings.Contains(want, `\t`) {
			return
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}

// TestLines counts lines and columns of tags.
func TestLines(t *testing.T) {
	x := newTokens(iotest.OneByteReader(strings.NewReader("<?xml version='1.0'?>\r\n<a>\n  <b\n c='1'/> <d/>é<e/>\n</a>")), make([]byte, tokenBuffer))
	var got []string
	for {
		tok, err := x.next()
		if err != nil {
			t.Fatal(err)
		}
		if tok == tokenStart {
			got = append(got, fmt.Sprintf("%s %d:%d", x.name, x.tagLine, x.tagColumn))
		}
		if tok == tokenEOF {
			break
		}
	}
	if want := "a 2:1, b 3:3, d 4:10, e 4:16"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// BenchmarkRead reports MB/s of reading a document of 15 MB into rows.
func BenchmarkRead(b *testing.B) {
	m := load(b)
	var s strings.Builder
	s.WriteString(`<centreProcedureSet><centre centreID="H" pipeline="P" project="X">`)
	const runs = 4000
	for i := range runs {
		fmt.Fprintf(&s, "\n  <experiment experimentID=\"E%d\" dateOfExperiment=\"2020-01-01\">\n    <specimenID>m%d</specimenID>\n    <procedure procedureID=\"IMPC_XRY_001\">\n", i, i)
		for j := range 32 {
			fmt.Fprintf(&s, "      <simpleParameter parameterID=\"IMPC_XRY_%03d_001\">\n        <value>normal</value>\n      </simpleParameter>\n", j)
		}
		s.WriteString("    </procedure>\n  </experiment>")
	}
	s.WriteString(`</centre></centreProcedureSet>`)
	text := s.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var n counter
		err := m.Read(strings.NewReader(text), Document{Kind: "experiment", Centre: "H", Position: 1}, &n)
		if err != nil || n.rows != runs*34+1 || n.records != runs {
			b.Fatal(n, err)
		}
	}
}

type counter struct{ rows, records int }

func (c *counter) Row(*Row) error       { c.rows++; return nil }
func (c *counter) Record(*Record) error { c.records++; return nil }
