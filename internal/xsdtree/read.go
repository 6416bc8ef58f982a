package xsdtree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"tributary/internal/xmlsource"
)

// Limits of what is read. They are far above what people write, and keep a
// hostile schema from taking the memory.
const (
	maxFileBytes = 16 << 20
	maxFiles     = 500
	maxNodes     = 500_000
	maxDepth     = 256
)

const (
	xsdNS = "http://www.w3.org/2001/XMLSchema"
	xmlNS = "http://www.w3.org/XML/1998/namespace"
)

// file is a schema document as one target namespace sees it.
type file struct {
	name              string
	target            string
	qualifiedElements bool
	qualifiedAttrs    bool
	root              *node
}

// reader reads schema files and what they refer to.
type reader struct {
	fsys  fs.FS
	files map[[2]string]*file // by path and target namespace
	order []*file
	nodes int
}

// open reads a file for a target namespace: "" asks for the file's own, and
// anything else gives a file that has none that one, as xs:include does. from
// is what refers to the file, nil for the entry.
func (r *reader) open(name, target string, from *node) (*file, error) {
	wrap := func(err error) error {
		if from == nil {
			return err
		}
		return from.failf("schema %s: %w", name, err)
	}
	if r.files[[2]string{name, target}] != nil {
		return r.files[[2]string{name, target}], nil
	}
	if len(r.order) >= maxFiles {
		return nil, wrap(fmt.Errorf("the schema has more than %d files", maxFiles))
	}
	data, err := readFile(r.fsys, name)
	if err != nil {
		return nil, wrap(err)
	}
	f := &file{name: name}
	if err := r.parse(f, data); err != nil {
		return nil, err
	}
	own, has := f.root.attr("targetNamespace")
	f.target = own
	if !has {
		f.target = target
	}
	f.qualifiedElements = f.root.get("elementFormDefault") == "qualified"
	f.qualifiedAttrs = f.root.get("attributeFormDefault") == "qualified"
	r.files[[2]string{name, target}] = f
	if target == "" || f.target == own && has {
		// The same file is the same whether asked for by its own name or not.
		if known := r.files[[2]string{name, f.target}]; known != nil && known != f {
			r.files[[2]string{name, target}] = known
			return known, nil
		}
		r.files[[2]string{name, f.target}] = f
	}
	r.order = append(r.order, f)
	return f, r.follow(f)
}

// follow opens what a file imports and includes.
func (r *reader) follow(f *file) error {
	for _, n := range f.root.kids {
		target := ""
		switch n.name {
		case "redefine":
			return n.failf("xs:redefine is not understood: write the changed types out")
		case "include":
			target = f.target
		case "import":
		default:
			continue
		}
		location, ok := n.attr("schemaLocation")
		if !ok {
			if n.name == "include" {
				return n.failf("xs:include has no schemaLocation")
			}
			continue // the namespace is brought by another file, if at all
		}
		if strings.Contains(location, ":") || path.IsAbs(location) {
			return n.failf("schemaLocation %q is not a relative path: schemas are only read from their own folder", location)
		}
		other, err := r.open(path.Join(path.Dir(f.name), location), target, n)
		if err != nil {
			return err
		}
		if want := n.get("namespace"); n.name == "import" && other.target != want || n.name == "include" && other.target != f.target {
			return n.failf("%s has the target namespace %q, which is not what this asks for", other.name, other.target)
		}
	}
	return nil
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	in, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no schema file %s: %w", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening schema file %s: %w", name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading schema file %s: %w", name, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the schema file %s has more than %d bytes", name, maxFileBytes)
	}
	return data, nil
}

// parse makes nodes of a file's elements. What documentation and other
// namespaces hold is passed over.
func (r *reader) parse(f *file, data []byte) error {
	text, err := xmlsource.Reader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s:1: %w", f.name, err)
	}
	decoder := xml.NewDecoder(text)
	fail := func(format string, args ...any) error {
		line, _ := decoder.InputPos()
		return fmt.Errorf("%s:%d: %w", f.name, line, fmt.Errorf(format, args...))
	}
	var top *node
	depth, skip := 0, 0 // skip: depth of the element that is passed over
	for {
		line, _ := decoder.InputPos()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s:%d: not well-formed: %s", f.name, syntax.Line, syntax.Msg)
		}
		if err != nil {
			return fail("%w", err)
		}
		switch token := token.(type) {
		case xml.Directive:
			return fail("a document type declaration is not accepted")
		case xml.EndElement:
			if skip == depth {
				skip = 0
			} else if skip == 0 && top.parent != nil {
				top = top.parent
			}
			depth--
		case xml.StartElement:
			depth++
			if depth > maxDepth {
				return fail("elements are nested more than %d deep", maxDepth)
			}
			if skip > 0 {
				continue
			}
			if token.Name.Space != xsdNS || token.Name.Local == "annotation" {
				if depth == 1 {
					return fail("the root element is %s, not the schema of %s", token.Name.Local, xsdNS)
				}
				skip = depth
				continue
			}
			if r.nodes++; r.nodes > maxNodes {
				return fail("the schema has more than %d elements", maxNodes)
			}
			n := &node{file: f, line: line, name: token.Name.Local, attrs: token.Attr, parent: top}
			if top != nil {
				n.scope = top.scope
				top.kids = append(top.kids, n)
			} else {
				f.root = n
			}
			n.scope = declared(n.scope, token.Attr)
			top = n
		}
	}
	if f.root == nil {
		return fmt.Errorf("%s:1: the file is empty", f.name)
	}
	if f.root.name != "schema" {
		return f.root.failf("the root element is %s, not schema", f.root.name)
	}
	return nil
}

// declared returns the scope within an element of these attributes.
func declared(outer *scope, attrs []xml.Attr) *scope {
	s := outer
	for _, a := range attrs {
		prefix := a.Name.Local
		switch {
		case a.Name.Space == "xmlns":
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			prefix = ""
		default:
			continue
		}
		if s == outer {
			s = &scope{outer: outer, prefixes: make(map[string]string)}
		}
		s.prefixes[prefix] = a.Value
	}
	return s
}
