package xsdcheck

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// node is an element (name set) or a text.
type node struct {
	name     string
	attrs    []xml.Attr
	children []*node
	text     string
}

// parse reads a document as it is written, prefixes included.
func parse(t testing.TB, document string) *node {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(document))
	root := &node{}
	stack := []*node{root}
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			child := &node{name: raw(token.Name), attrs: slices.Clone(token.Attr)}
			top.children = append(top.children, child)
			stack = append(stack, child)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 1 {
				top.children = append(top.children, &node{text: string(token)})
			}
		}
	}
}

func raw(name xml.Name) string {
	if name.Space != "" {
		return name.Space + ":" + name.Local
	}
	return name.Local
}

func (n *node) write(b *strings.Builder) {
	if n.text != "" {
		_ = xml.EscapeText(b, []byte(n.text)) // a strings.Builder doesn't fail
	}
	if n.name != "" {
		b.WriteString("<" + n.name)
		for _, a := range n.attrs {
			b.WriteString(" " + raw(a.Name) + `="`)
			_ = xml.EscapeText(b, []byte(a.Value))
			b.WriteString(`"`)
		}
		b.WriteString(">")
	}
	for _, child := range n.children {
		child.write(b)
	}
	if n.name != "" {
		b.WriteString("</" + n.name + ">")
	}
}

func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

// elements lists the elements below n, the root first.
func (n *node) elements() []*node {
	var all []*node
	for _, child := range n.children {
		if child.name != "" {
			all = append(append(all, child), child.elements()...)
		}
	}
	return all
}
