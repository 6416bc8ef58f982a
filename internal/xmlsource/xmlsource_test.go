package xmlsource

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
)

func wide(order binary.AppendByteOrder, mark bool, text string) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

func read(t testing.TB, r io.Reader) (string, error) {
	t.Helper()
	text, err := Reader(r)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(text)
	return string(b), err
}

const blank = "                                                                       "

func TestReader(t *testing.T) {
	const body = "\n<é€😀>\n</é€😀>"
	pad := func(s string) string { return blank[:len(s)] }
	for name, test := range map[string]struct {
		in   []byte
		want string
	}{
		"utf-8":                  {[]byte(`<?xml version="1.0" encoding="UTF-8"?>` + body), `<?xml version="1.0" encoding="UTF-8"?>` + body},
		"no declaration":         {[]byte("<a/>"), "<a/>"},
		"one byte":               {[]byte("<"), "<"},
		"nothing":                {nil, ""},
		"utf-8 mark":             {[]byte("\xEF\xBB\xBF<a/>"), "<a/>"},
		"utf-8 mark only":        {[]byte("\xEF\xBB\xBF"), ""},
		"utf8 without hyphen":    {[]byte(`<?xml version="1.0" encoding="utf8"?>` + body), `<?xml version="1.0" ` + pad(`encoding="utf8"`) + `?>` + body},
		"little endian":          {wide(binary.LittleEndian, true, `<?xml version="1.0" encoding="UTF-16"?>`+body), `<?xml version="1.0" ` + pad(`encoding="UTF-16"`) + `?>` + body},
		"big endian":             {wide(binary.BigEndian, true, `<?xml version="1.0" encoding='utf-16' standalone="yes"?>`+body), `<?xml version="1.0" ` + pad(`encoding='utf-16'`) + ` standalone="yes"?>` + body},
		"little without mark":    {wide(binary.LittleEndian, false, `<?xml version="1.0" encoding="UTF-16LE"?>`+body), `<?xml version="1.0" ` + pad(`encoding="UTF-16LE"`) + `?>` + body},
		"big without mark":       {wide(binary.BigEndian, false, "<a>\U0001F400</a>"), "<a>\U0001F400</a>"},
		"wide, declared utf-8":   {wide(binary.BigEndian, true, `<?xml version="1.0" encoding="UTF-8"?>`+body), `<?xml version="1.0" ` + pad(`encoding="UTF-8"`) + `?>` + body},
		"wide, no declaration":   {wide(binary.LittleEndian, true, body[1:]), body[1:]},
		"latin-1":                {[]byte("<?xml version='1.0' encoding='ISO-8859-1'?>\n<a>M\xfcnchen \x80\xff</a>"), "<?xml version='1.0' " + pad("encoding='ISO-8859-1'") + "?>\n<a>München \u0080ÿ</a>"},
		"latin-1, other name":    {[]byte("<?xml version = '1.0'\tencoding\n= 'l1' ?><a>\xe9</a>"), "<?xml version = '1.0'\t" + pad("encoding") + "\n" + pad("= 'l1'") + " ?><a>é</a>"},
		"ascii":                  {[]byte(`<?xml version="1.0" encoding="us-ascii"?><a/>`), `<?xml version="1.0" ` + pad(`encoding="us-ascii"`) + `?><a/>`},
		"mark beats latin-1":     {[]byte("\xEF\xBB\xBF<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>"), "<?xml version='1.0' " + pad("encoding='ISO-8859-1'") + "?><a>é</a>"},
		"word in a value":        {[]byte(`<?xml version="encoding='latin1'"?><a/>`), `<?xml version="encoding='latin1'"?><a/>`},
		"other instruction":      {[]byte(`<?xml-stylesheet encoding="latin1"?><a/>`), `<?xml-stylesheet encoding="latin1"?><a/>`},
		"declaration not first":  {[]byte(` <?xml version="1.0" encoding="latin1"?><a/>`), ` <?xml version="1.0" encoding="latin1"?><a/>`},
		"declaration not closed": {[]byte(`<?xml version="1.0" encoding="latin1"`), `<?xml version="1.0" encoding="latin1"`},
		"broken declaration":     {[]byte(`<?xml version=1.0 encoding="latin1"?><a/>`), `<?xml version=1.0 encoding="latin1"?><a/>`},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":       bytes.NewReader(test.in),
				"byte by byte":  iotest.OneByteReader(bytes.NewReader(test.in)),
				"end with data": iotest.DataErrReader(bytes.NewReader(test.in)),
			} {
				got, err := read(t, r)
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", how, diff)
				}
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"windows-1252":        {`<?xml version="1.0" encoding="windows-1252"?><a/>`, `"windows-1252"`},
		"utf-7":               {`<?xml version="1.0" encoding="UTF-7"?><a/>`, `"UTF-7"`},
		"utf-16 that is not":  {`<?xml version="1.0" encoding="UTF-16"?><a/>`, "not UTF-16"},
		"utf-32":              {"\xFF\xFE\x00\x00<\x00\x00\x00", "UTF-32"},
		"utf-32 without mark": {"\x00\x00\x00<", "UTF-32"},
		"ebcdic":              {"\x4C\x6F\xA7\x94\x93", "EBCDIC"},
		"long declaration":    {`<?xml version="1.0"` + strings.Repeat(" ", 2000) + `encoding="latin1"?><a/>`, "does not end within 1024 bytes"},
		"not ascii":           {"<?xml version='1.0' encoding='US-ASCII'?><a>\xe9</a>", "byte 45 is 0xe9"},
		"two marks":           {"\xEF\xBB\xBF\xEF\xBB\xBF<a/>", "two byte order marks"},
		"two wide marks":      {string(wide(binary.LittleEndian, true, "\uFEFF<a/>")), "two byte order marks"},
		"odd":                 {"\xFF\xFE<\x00a", "odd number of bytes"},
		"lone low":            {string(append(wide(binary.LittleEndian, true, "<a>"), 0x00, 0xDC, 'x', 0)), "lone surrogate 0xdc00"},
		"lone high":           {string(append(wide(binary.BigEndian, true, "<a>"), 0xD8, 0x00, 0, 'x')), "lone surrogate 0xd800"},
		"cut within a pair":   {string(append(wide(binary.BigEndian, true, "<a>"), 0xD8, 0x00)), "ends within a character"},
		"long name":           {`<?xml version="1.0" encoding="` + strings.Repeat("x", 500) + `"?><a/>`, `xxx"...`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, strings.NewReader(test.in))
			var refused *EncodingError
			if !errors.As(err, &refused) {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(refused.Message, test.want) || len(refused.Message) > 300 {
				t.Errorf("message %q does not say %q", refused.Message, test.want)
			}
		})
	}
}

func TestReaderHandsOnErrors(t *testing.T) {
	broken := errors.New("line is down")
	for name, text := range map[string]string{
		"at once": "", "within the mark": "\xFF", "within the declaration": "<?xml versi",
		"utf-8": "<?xml version='1.0'?><a>", "wide": string(wide(binary.LittleEndian, true, "<aaaaaaaaa")),
		"latin-1": "<?xml version='1.0' encoding='latin1'?><a>",
	} {
		_, err := read(t, io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	stuck := readerFunc(func([]byte) (int, error) { return 0, nil })
	for _, text := range []string{"", string(wide(binary.LittleEndian, true, "<aaaaaaaaa")), "<?xml version='1.0' encoding='latin1'?><a>"} {
		first := strings.NewReader(text)
		_, err := read(t, readerFunc(func(p []byte) (int, error) {
			if first.Len() > 0 {
				return first.Read(p)
			}
			return stuck(p)
		}))
		if !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%q: error %v of a reader that gives nothing", text, err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestPlacesStay compares the line and column of every element with those in
// the same document in UTF-8.
func TestPlacesStay(t *testing.T) {
	const rest = "\n<!-- ü -->\n<a>ü<b/>\n  ü<c é='ü'/></a>"
	plain := places(t, `<?xml version="1.0" encoding="UTF-8"     ?>`+rest)
	latin := `<?xml version="1.0" encoding="ISO-8859-1"?>` + rest
	narrowed := make([]byte, 0, len(latin))
	for _, c := range latin {
		narrowed = append(narrowed, byte(c))
	}
	for name, in := range map[string][]byte{
		"latin-1":    narrowed,
		"utf-16":     wide(binary.LittleEndian, true, `<?xml version="1.0" encoding="UTF-16"    ?>`+rest),
		"utf-8 mark": []byte("\xEF\xBB\xBF" + `<?xml version="1.0" encoding="UTF-8"     ?>` + rest),
	} {
		got, err := read(t, bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, places(t, got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

type place struct {
	name         string
	line, column int
}

func places(t *testing.T, text string) map[place]bool {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	found := make(map[place]bool)
	for {
		line, column := decoder.InputPos()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			found[place{start.Name.Local, line, column}] = true
		}
	}
}

// TestUTF16AsReference compares the decoder with another one.
func TestUTF16AsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "<" + rapid.String().Draw(t, "text")
		order, other := binary.AppendByteOrder(binary.LittleEndian), unicode.LittleEndian
		if rapid.Bool().Draw(t, "big") {
			order, other = binary.BigEndian, unicode.BigEndian
		}
		in := wide(order, true, text)
		want, err := unicode.UTF16(other, unicode.ExpectBOM).NewDecoder().Bytes(in)
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(1, 9).Draw(t, "size")
		r, err := Reader(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for p := make([]byte, size); ; {
			n, err := r.Read(p)
			got = append(got, p[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, seed := range [][]byte{
		[]byte(`<?xml version="1.0" encoding="UTF-8"?><a/>`),
		[]byte("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>"),
		[]byte("<?xml version='1.0' encoding='us-ascii'?><a>\xfc</a>"),
		wide(binary.LittleEndian, true, "<?xml version='1.0' encoding='UTF-16'?><a>😀</a>"),
		wide(binary.BigEndian, false, "<?xml version='1.0'?><a/>"),
		[]byte("\xEF\xBB\xBF<a/>"), {0xFF, 0xFE, 0}, {0, 0, 0xFE, 0xFF}, nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, errWhole := read(t, bytes.NewReader(in))
		pieces, errPieces := read(t, iotest.OneByteReader(bytes.NewReader(in)))
		if whole != pieces || (errWhole == nil) != (errPieces == nil) {
			t.Fatalf("read at once %q, %v; in pieces %q, %v", whole, errWhole, pieces, errPieces)
		}
		var refused *EncodingError
		if errWhole != nil && !errors.As(errWhole, &refused) {
			t.Fatalf("unexpected error %v", errWhole)
		}
		if refused != nil && (!utf8.ValidString(refused.Message) || len(refused.Message) > 400) {
			t.Fatalf("message %q", refused.Message)
		}
		if len(whole) > 3*len(in) {
			t.Fatalf("%d bytes became %d", len(in), len(whole))
		}
	})
}
