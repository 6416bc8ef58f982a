package mapping

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tributary/internal/xsdtree"
)

// document draws a document that a schema allows, of centre H. Groups are taken
// as they are listed, which fits schemas whose choices are of one element each.
func document(t *rapid.T, root *xsdtree.Element) string {
	var b strings.Builder
	element(t, &b, root, "", 0)
	return b.String()
}

func element(t *rapid.T, b *strings.Builder, e *xsdtree.Element, space string, depth int) {
	prefix := rapid.SampledFrom([]string{"", "", "p:"}).Draw(t, "prefix")
	name := prefix + e.Name
	fmt.Fprintf(b, "<%s", name)
	if prefix != "" {
		fmt.Fprintf(b, ` xmlns:p='%s'`, e.Namespace)
	} else if e.Namespace != space {
		fmt.Fprintf(b, ` xmlns="%s"`, e.Namespace)
		space = e.Namespace
	}
	for _, a := range e.Attributes {
		if a.Required || rapid.Bool().Draw(t, a.Name) {
			v := simple(t, &a.Type)
			if a.Name == "centreID" {
				v = "H"
			}
			fmt.Fprintf(b, ` %s="%s"`, a.Name, v)
		}
	}
	b.WriteString(">")
	if e.Text != nil && e.Text.MaxLength != 0 {
		b.WriteString(simple(t, e.Text))
	}
	for i := 0; i < len(e.Children); i++ {
		c := e.Children[i]
		if c.Choice > 0 { // any of the group, in any order
			group := []xsdtree.Child{}
			for i < len(e.Children) && e.Children[i].Choice == c.Choice {
				group = append(group, e.Children[i])
				i++
			}
			i--
			for range rapid.IntRange(1, 4).Draw(t, "choices") {
				element(t, b, rapid.SampledFrom(group).Draw(t, "choice").Element, space, depth+1)
			}
			continue
		}
		most := c.Max
		if most < 0 {
			most = c.Min + 2
		}
		for range rapid.IntRange(c.Min, most).Draw(t, "times") {
			b.WriteString(rapid.SampledFrom([]string{"", "", "\n  ", "<!-- c -->", "<?pi x?>"}).Draw(t, "between"))
			element(t, b, c.Element, space, depth+1)
		}
	}
	fmt.Fprintf(b, "</%s>", name)
}

// simple draws a value in one of its spellings, as it stands in a document.
func simple(t *rapid.T, typ *xsdtree.Type) string {
	if len(typ.Enum) > 0 {
		return rapid.SampledFrom(typ.Enum).Draw(t, "enum")
	}
	var list []string
	switch typ.Base {
	case "string":
		list = []string{"", "a", " a  b ", "&lt;&amp;&#x41;", "é😀", "x&#9;y&#10;z&#13;", `\N`, `\t{&quot;}`, "]]&gt;", "'&quot;"}
	case "boolean":
		list = []string{"1", "0", "true", "false"}
	case "date":
		list = []string{"2020-02-29", "0001-01-01Z", "9999-12-31-14:00", "2021-06-05+00:00"}
	case "integer", "int":
		list = []string{"0", "-0", "+007", "-12", "2147483647"}
	case "decimal":
		list = []string{"0", "-0.0", "+01.50", ".5", "5.", "-0012.340", "123456789012345678901234567890.1"}
	case "double":
		list = []string{"1.50", "-1e300", "INF", "-INF", "NaN", "0.1", "5e-324"}
	default:
		t.Fatalf("the type %s is not drawn", typ.Base)
	}
	return rapid.SampledFrom(list).Draw(t, typ.Base)
}

// What a document says is in its rows: whatever the schemas allow is written
// back as an equivalent document.
func TestWriteGenerated(t *testing.T) {
	m := load(t)
	for _, kind := range m.Kinds() {
		t.Run(kind, func(t *testing.T) {
			schema := schemas(t, m, kind)
			rapid.Check(t, func(rt *rapid.T) {
				text := document(rt, schema.Roots[0])
				back, records, err := again(m, kind, "H", text, rapid.Bool().Draw(rt, "forget"))
				if err != nil {
					rt.Fatalf("%v\n%s", err, text)
				}
				want, err := canonical(text, schema)
				if err != nil {
					rt.Fatalf("the document itself: %v\n%s", err, text)
				}
				got, err := canonical(back, schema)
				if err != nil || got != want {
					rt.Fatalf("%v\n%s\nbecame\n%s", err, text, back)
				}
				s, err := remember(m, kind, "H", back, false)
				if err != nil || strings.Join(prints(records), "\n") != strings.Join(prints(s.records), "\n") {
					rt.Fatalf("the document written back reads otherwise: %v\n%s\nbecame\n%s", err, text, back)
				}
			})
		})
	}
}
