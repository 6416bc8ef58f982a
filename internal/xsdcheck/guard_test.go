package xsdcheck

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawElement makes XML with everything that a guard could take for something
// else, and returns the most declarations in force within it.
func drawElement(t *rapid.T, b *strings.Builder, depth int) (most int) {
	declarations := rapid.IntRange(0, 3).Draw(t, "declarations")
	fmt.Fprintf(b, "<e%d", depth)
	for i := range declarations {
		fmt.Fprintf(b, rapid.SampledFrom([]string{` xmlns:p%d="u"`, "\nxmlns:p%d = 'u>'", ` xmlns:p%d="'/>"`}).Draw(t, "declaration"), i)
	}
	b.WriteString(rapid.SampledFrom([]string{"", ` a=">"`, ` a='/>'`, ` b="xmlns" c='"'`, ` a="' xmlns="`, ` xmln="s"`, ` xml:lang="s" `}).Draw(t, "attributes"))
	if rapid.Bool().Draw(t, "empty") {
		b.WriteString("/>")
		return declarations
	}
	b.WriteString(">")
	inside := 0
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		if depth < 5 && rapid.Bool().Draw(t, "child") {
			inside = max(inside, drawElement(t, b, depth+1))
			continue
		}
		b.WriteString(rapid.SampledFrom([]string{"text", "xmlns:a='b'", "<!-- <a xmlns='u'> -->", "<!---->", "<!-- > -> - -->", "<![CDATA[<a xmlns='u'>]]>", "<![CDATA[]]]]>", "<![CDATA[]>]]]>", "<?p <a xmlns='u'> ? > ?>", "<?p??>", `"`, "'"}).Draw(t, "part"))
	}
	fmt.Fprintf(b, "</e%d >", depth)
	return declarations + inside
}

// TestGuardCounts compares with how the text was made, in pieces of any size.
func TestGuardCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		most := drawElement(t, &b, 0)
		text := b.String()
		size := rapid.IntRange(1, 40).Draw(t, "size")
		// So many are in force before that the most is just one too many, or not.
		for room := max(most-1, 0); room <= most; room++ {
			g := guard{force: maxDeclarations - room}
			over := false
			for rest := text; rest != "" && !over; rest = rest[min(size, len(rest)):] {
				_, err := g.advance([]byte(rest[:min(size, len(rest))]))
				over = err != nil
			}
			if over != (room < most) {
				t.Fatalf("%d declarations at most, room for %d: over is %v in %s", most, room, over, text)
			}
			if !over && (g.depth != 0 || g.force != maxDeclarations-room || g.state != inText) {
				t.Fatalf("at the end of %s: %+v", text, g)
			}
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	data, err := io.ReadAll(large(20 << 20))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var g guard
		for rest := data; len(rest) > 0; rest = rest[min(1<<16, len(rest)):] {
			if _, err := g.advance(rest[:min(1<<16, len(rest))]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestManyDeclarations are allowed one after another, as some programs write
// them at every element, but not all at once.
func TestManyDeclarations(t *testing.T) {
	s := ours(t, "specimen")
	head, tail := in()
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	one := strings.Replace(head[strings.Index(head, "<mouse"):], "<mouse", "<mouse"+xsi, 1) + "</mouse>\n"
	result := bounded(t, s, &generated{head: head + "</mouse>", unit: one, units: 20_000, tail: strings.Replace(tail, "</mouse>", "", 1)})
	if !result.Valid {
		t.Errorf("%+v", result)
	}
	result = validate(t, s, "<a>\n"+strings.Repeat("<a "+many(50, ` xmlns:p%d="u"`)+">\n", 5))
	want := "6:14 more than 200 namespace declarations (xmlns) are in force here: declare only what is used\n"
	if got := lines(result.Errors); got != want || result.Errors[0].Exception != OverLimit {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLongTags(t *testing.T) {
	s := ours(t, "specimen")
	const root = "1:1 /a: the root element is a; it must be centreSpecimenSet in the namespace http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen\n"
	for name, test := range map[string]struct{ document, want string }{
		"long name":        {"<a>\n<" + strings.Repeat("x", maxTagName+1) + "/></a>", "2:8194 a name, or the space in a start tag, is longer than 8192 bytes\n"},
		"long attribute":   {"<a " + strings.Repeat("x", maxTagName+1) + "='1'/>", "1:8194 a name, or the space in a start tag, is longer than 8192 bytes\n"},
		"long tag":         {"<a>\n<a" + strings.Repeat(" a='"+strings.Repeat("x", 1019)+"'", 260) + "/></a>", "2:262150 a start tag with its attributes is longer than 262144 bytes\n"},
		"long value":       {"<a a='" + strings.Repeat("x", maxTag) + "'/>", ""},
		"a name as long":   {"<a>\n<" + strings.Repeat("x", maxTagName-2) + "/></a>", root},
		"long text is not": {small("", "", "<statusCode>"+strings.Repeat("x", 2*maxTag)+"</statusCode>"), ""},
		"long end":         {"<a></a" + strings.Repeat(" ", 2*maxTag) + ">", root},
	} {
		result := validate(t, s, test.document)
		got := lines(result.Errors)
		if name == "long value" {
			// The place is where the reading is, in pieces.
			if len(result.Errors) != 1 || result.Errors[0].Exception != OverLimit || !strings.HasSuffix(got, "a start tag with its attributes is longer than 262144 bytes\n") {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}
