package xsdtree

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// expected walks past names and says what may follow.
func expected(e *Element, names string) string {
	steps := 100_000
	p := e.Begin(&steps)
	if p == nil {
		return "open"
	}
	for _, name := range strings.Fields(names) {
		if p.Next("urn:t", name) == nil {
			return "no " + name
		}
	}
	next, end, ok := p.Expected()
	if !ok {
		return "lost"
	}
	var all []string
	for _, e := range next {
		all = append(all, e.Name)
	}
	if end {
		all = append(all, ".")
	}
	return strings.Join(all, " ")
}

func TestExpected(t *testing.T) {
	const models = `<xs:element name="seq"><xs:complexType><xs:sequence><xs:element name="a" type="xs:string" maxOccurs="2"/><xs:element name="b" type="xs:string" minOccurs="0" maxOccurs="unbounded"/><xs:element name="c" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
		<xs:element name="rep"><xs:complexType><xs:sequence minOccurs="2" maxOccurs="3"><xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>
		<xs:element name="cho"><xs:complexType><xs:choice maxOccurs="unbounded"><xs:element name="a" type="xs:string"/><xs:sequence><xs:element name="b" type="xs:string"/><xs:element name="c" type="xs:string"/></xs:sequence></xs:choice></xs:complexType></xs:element>
		<xs:element name="all"><xs:complexType><xs:all><xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string" minOccurs="0"/><xs:element name="c" type="xs:string"/></xs:all></xs:complexType></xs:element>
		<xs:element name="non"><xs:complexType/></xs:element>
		<xs:element name="nothing"><xs:complexType><xs:sequence><xs:sequence minOccurs="5" maxOccurs="unbounded"/><xs:element name="z" type="xs:string" minOccurs="0" maxOccurs="0"/></xs:sequence></xs:complexType></xs:element>
		<xs:element name="any"><xs:complexType><xs:sequence><xs:any/></xs:sequence></xs:complexType></xs:element>`
	s, err := load(t, models)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ root, names, want string }{
		{"seq", "", "a"}, {"seq", "a", "a b c"}, {"seq", "a a", "b c"}, {"seq", "a b b", "b c"}, {"seq", "a c", "."}, {"seq", "a c a", "no a"}, {"seq", "b", "no b"},
		{"rep", "", "a"}, {"rep", "a", "b a"}, {"rep", "a b", "a"}, {"rep", "a a", "b a ."}, {"rep", "a a b a", "b ."}, {"rep", "a a a a", "no a"},
		{"cho", "", "a b"}, {"cho", "b", "c"}, {"cho", "b c", "a b ."}, {"cho", "a a", "a b ."},
		{"all", "", "a b c"}, {"all", "b", "a c"}, {"all", "c a", "b ."}, {"all", "c a b", "."}, {"all", "c c", "no c"},
		{"non", "", "."}, {"non", "x", "no x"}, {"nothing", "", "."}, {"any", "", "open"},
	} {
		if got := expected(s.Root(test.root), test.names); got != test.want {
			t.Errorf("%s after %q: %q, want %q", test.root, test.names, got, test.want)
		}
	}
}

// TestExpectedIsBounded has a model with many ways through it.
func TestExpectedIsBounded(t *testing.T) {
	doubled := strings.ReplaceAll(strings.Replace(doubling(12), `name="e"`, `name="e" minOccurs="0"`, 1), `<xs:group ref`, `<xs:group minOccurs="0" ref`)
	s, err := load(t, doubled+`<xs:element name="r"><xs:complexType><xs:group ref="g12" maxOccurs="unbounded"/></xs:complexType></xs:element>`)
	if err != nil {
		t.Fatal(err)
	}
	steps := 50_000
	p := s.Root("r").Begin(&steps)
	passed := 0
	for p.Next("urn:t", "e") != nil {
		passed++
	}
	if _, _, ok := p.Expected(); ok || steps > 0 || passed == 0 {
		t.Errorf("%d steps are left after %d elements", steps, passed)
	}
}

// model is a random content model, as a schema, as a regular expression and as
// a maker of what it allows. Every element has a name of its own.
type model struct {
	xsd, expr string
	member    func(t *rapid.T) string
}

func drawModel(t *rapid.T, depth int, names *int) model {
	occurs := rapid.SampledFrom([][3]string{{"1", "1", ""}, {"0", "1", "?"}, {"0", "unbounded", "*"}, {"1", "unbounded", "+"}, {"2", "2", "{2}"}}).Draw(t, "occurs")
	attrs := fmt.Sprintf(` minOccurs="%s" maxOccurs="%s"`, occurs[0], occurs[1])
	times := func(t *rapid.T, one func(*rapid.T) string) string {
		least, most := map[string]int{"0": 0, "1": 1, "2": 2}[occurs[0]], map[string]int{"1": 1, "2": 2, "unbounded": 4}[occurs[1]]
		var b strings.Builder
		for range rapid.IntRange(least, most).Draw(t, "times") {
			b.WriteString(one(t))
		}
		return b.String()
	}
	if depth == 0 || *names > 15 || rapid.Bool().Draw(t, "element") {
		name := string(rune('a' + *names))
		*names++
		return model{`<xs:element name="` + name + `" type="xs:string"` + attrs + `/>`, name + occurs[2], func(t *rapid.T) string {
			return times(t, func(*rapid.T) string { return name })
		}}
	}
	if occurs[1] == "2" {
		// (a+){2} has several ways through "aaa": a position takes the first.
		occurs = [3]string{"1", "1", ""}
		attrs = ""
	}
	parts := make([]model, rapid.IntRange(1, 3).Draw(t, "parts"))
	for i := range parts {
		parts[i] = drawModel(t, depth-1, names)
	}
	tag, between := "sequence", ""
	member := func(t *rapid.T) string {
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(part.member(t))
		}
		return b.String()
	}
	if rapid.Bool().Draw(t, "choice") {
		tag, between = "choice", "|"
		member = func(t *rapid.T) string { return parts[rapid.IntRange(0, len(parts)-1).Draw(t, "which")].member(t) }
	}
	var xsd, expr []string
	for _, part := range parts {
		xsd, expr = append(xsd, part.xsd), append(expr, part.expr)
	}
	return model{"<xs:" + tag + attrs + ">" + strings.Join(xsd, "") + "</xs:" + tag + ">", "(" + strings.Join(expr, between) + ")" + occurs[2],
		func(t *rapid.T) string { return times(t, member) }}
}

// TestPositionFollowsTheModel compares with a regular expression: what a model
// makes is accepted, and every way through what is expected is one of the model.
func TestPositionFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := 0
		m := drawModel(r, 3, &names)
		text := m.xsd
		if strings.HasPrefix(text, "<xs:element") {
			text = "<xs:sequence>" + text + "</xs:sequence>"
		}
		s, err := load(t, `<xs:element name="r"><xs:complexType>`+text+`</xs:complexType></xs:element>`)
		if err != nil {
			r.Fatal(err)
		}
		expr := regexp.MustCompile("^(" + m.expr + ")$")
		word := m.member(r)
		if !expr.MatchString(word) {
			r.Fatalf("the test makes %q, which is not of %s", word, expr)
		}
		if got := expected(s.Root("r"), strings.Join(strings.Split(word, ""), " ")); got == "lost" || strings.HasPrefix(got, "no ") || !strings.HasSuffix(got, ".") {
			r.Fatalf("%q of %s ends with %q", word, expr, got)
		}
		steps := 1_000_000
		p := s.Root("r").Begin(&steps)
		walked := ""
		for range 30 {
			next, end, ok := p.Expected()
			if !ok || !end && len(next) == 0 {
				r.Fatalf("%s is stuck after %q", expr, walked)
			}
			if end != expr.MatchString(walked) {
				r.Fatalf("%s after %q: end is %v", expr, walked, end)
			}
			if len(next) == 0 {
				return
			}
			e := next[rapid.IntRange(0, len(next)-1).Draw(r, "next")]
			if p.Next("urn:t", e.Name) != e {
				r.Fatalf("%s after %q: %s is expected and not taken", expr, walked, e.Name)
			}
			walked += e.Name
		}
	})
}

func TestLoadOfManyChildren(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<xs:element name="r"><xs:complexType><xs:choice maxOccurs="unbounded">`)
	for i := range 5000 {
		fmt.Fprintf(&b, `<xs:element name="e%d" type="xs:string"/>`, i)
	}
	b.WriteString(`</xs:choice></xs:complexType></xs:element>`)
	s, err := load(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Root("r").Children); got != 5000 {
		t.Errorf("%d children", got)
	}
	if diff := cmp.Diff(5000+1, len(strings.Fields(expected(s.Root("r"), "e0 e4999 e7")))); diff != "" {
		t.Error(diff)
	}
}
