package xsdcheck

import (
	"encoding/xml"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// values are lexical forms at the edges of the types in use.
var values = []string{
	"", " ", "x", "0", "1", "-1", "true", "false", "TRUE", "yes", "2012-12-31", "2012-02-30", "2012-12-31Z",
	"2012-12-31+14:00", "2012-12-31+15:00", "12-12-31", "-0001-01-01", " 2012-12-31 ", "1.5", "1e5", "INF", "NaN", "+7", "2147483648",
	"99999999999999999999", ".5", "5.", "Ics", "ICS", "Bay", "Ncom", "male", "female", "intersex", "no data",
	"no  data", "wild type", "homozygous", "DPC", "Theiler", "mother", "from_similar_breeding", "\t1\n",
}

// mutate changes one thing in a document. It names what it did.
func mutate(r *rand.Rand, root *node, names, attributes []string) string {
	all := root.elements()
	target := all[r.IntN(len(all))]
	parent := all[r.IntN(len(all))]
	for _, candidate := range all {
		if slices.Contains(candidate.children, target) {
			parent = candidate
		}
	}
	at := slices.Index(parent.children, target)
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	switch r.IntN(11) {
	case 0:
		if len(target.attrs) > 0 {
			i := r.IntN(len(target.attrs))
			name := raw(target.attrs[i].Name)
			target.attrs = slices.Delete(target.attrs, i, i+1)
			return "drop attribute " + name
		}
	case 1:
		if len(target.attrs) > 0 {
			a := &target.attrs[r.IntN(len(target.attrs))]
			a.Name.Local = pick(attributes)
			return "rename an attribute to " + a.Name.Local
		}
	case 2, 3:
		if len(target.attrs) > 0 {
			a := &target.attrs[r.IntN(len(target.attrs))]
			a.Value = pick(values)
			return fmt.Sprintf("set attribute %s to %q", a.Name.Local, a.Value)
		}
	case 4:
		a := xml.Attr{Name: xml.Name{Local: pick(attributes)}, Value: pick(values)}
		target.attrs = append(target.attrs, a)
		return fmt.Sprintf("add attribute %s=%q to %s", a.Name.Local, a.Value, target.name)
	case 5:
		if at >= 0 {
			parent.children = slices.Delete(parent.children, at, at+1)
			return "delete " + target.name
		}
	case 6:
		if at >= 0 {
			parent.children = slices.Insert(parent.children, at, target)
			return "double " + target.name
		}
	case 7:
		if n := len(parent.children); n > 1 {
			i, j := r.IntN(n), r.IntN(n)
			parent.children[i], parent.children[j] = parent.children[j], parent.children[i]
			return "swap two children of " + parent.name
		}
	case 8:
		target.name = pick(names)
		return "rename an element to " + target.name
	case 9:
		target.children = append(target.children, &node{text: pick(values)})
		return "add text to " + target.name
	case 10:
		child := &node{name: pick(names)}
		target.children = slices.Insert(target.children, r.IntN(len(target.children)+1), child)
		return "add " + child.name + " to " + target.name
	}
	target.name += "X"
	return "misspell " + target.name
}

// mutant is a document with a few changes.
type mutant struct {
	name, kind, text string
	filled           bool // an element that must be empty has content
}

// mutants makes documents, the same each time, out of bases in turn.
func mutants(t testing.TB, bases map[string]string, count int) []mutant {
	t.Helper()
	r := rand.New(rand.NewPCG(20260101, uint64(count)))
	names := slices.Sorted(maps.Keys(bases))
	vocabularies := make(map[string][2][]string)
	for _, kind := range []string{"specimen", "experiment"} {
		elements, attributes := vocabulary(parse(t, complete(t, kind)))
		vocabularies[kind] = [2][]string{elements, attributes}
	}
	all := make([]mutant, count)
	for i := range all {
		name := names[i%len(names)]
		m := mutant{kind: kindOf(bases[name])}
		tree := parse(t, bases[name])
		words := vocabularies[m.kind]
		changes := []string{mutate(r, tree, words[0], words[1])}
		for r.IntN(2) == 0 && len(changes) < 4 {
			changes = append(changes, mutate(r, tree, words[0], words[1]))
		}
		m.text, m.filled = tree.String(), filled(tree)
		if r.IntN(20) == 0 {
			changes = append(changes, damage(r, &m))
		}
		m.name = fmt.Sprintf("%d, %s: %s", i, name, strings.Join(changes, ", "))
		all[i] = m
	}
	return all
}

// damage changes a byte of the text, which mostly makes it not well-formed.
func damage(r *rand.Rand, m *mutant) string {
	const bytes = `<>&"'/=x ` + "\x01\xff\n"
	at, b := r.IntN(len(m.text)), bytes[r.IntN(len(bytes))]
	m.text = m.text[:at] + string([]byte{b}) + m.text[at+1:]
	return fmt.Sprintf("byte %d is %q", at, b)
}

func vocabulary(root *node) (names, attributes []string) {
	for _, element := range root.elements() {
		names = append(names, element.name)
		for _, a := range element.attrs {
			if raw(a.Name) != "xmlns" {
				attributes = append(attributes, a.Name.Local)
			}
		}
	}
	for _, list := range []*[]string{&names, &attributes} {
		slices.Sort(*list)
		*list = append(slices.Compact(*list), "surprise")
	}
	return names, attributes
}

func complete(t testing.TB, kind string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/complete." + kind + ".xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
