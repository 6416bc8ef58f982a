//go:build !race

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"tributary/schemas/schemastest"
)

// metric is a metric as its source declares it.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricsInSource finds every metric that the program declares.
func metricsInSource(t *testing.T) []metric {
	t.Helper()
	var out []metric
	for _, dir := range []string{"cmd", "consumers", "producers", "internal", "queries", "recovery", "topics"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if m, ok := metricOf(call); ok {
						out = append(out, m)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// metricOf reads prometheus.NewGaugeVec(prometheus.GaugeOpts{…}, []string{…}).
func metricOf(call *ast.CallExpr) (metric, bool) {
	name, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(name.Sel.Name, "New") || len(call.Args) == 0 {
		return metric{}, false
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return metric{}, false
	}
	kind, ok := options.Type.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(kind.Sel.Name, "Opts") {
		return metric{}, false
	}
	m := metric{kind: strings.ToLower(strings.TrimSuffix(kind.Sel.Name, "Opts"))}
	for _, e := range options.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key := kv.Key.(*ast.Ident).Name; key {
		case "Namespace":
			m.name = "tributary_" + m.name
		case "Name":
			m.name += literal(kv.Value)
		case "Help":
			m.help = literal(kv.Value)
		}
	}
	if len(call.Args) > 1 {
		ast.Inspect(call.Args[1], func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok {
				m.labels = append(m.labels, literal(l))
			}
			return true
		})
	}
	return m, m.name != ""
}

// literal is the text of a string literal, or of a sum of them.
func literal(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(x.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		return literal(x.X) + literal(x.Y)
	}
	return ""
}

// sourceEvent is an event as package schemas declares it.
type sourceEvent struct {
	topic  string
	id     int
	doc    string
	fields []sourceField
}

type sourceField struct{ name, kind, doc string }

// eventsInSource lists the events in the order of the work, with the comments
// of their Go types.
func eventsInSource(t *testing.T) []sourceEvent {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "schemas", "events.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	types, docs := map[string]*ast.StructType{}, map[string]string{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range decl.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if structType, ok := spec.Type.(*ast.StructType); ok {
				types[spec.Name.Name], docs[spec.Name.Name] = structType, oneLine(decl.Doc.Text())
			}
		}
	}
	codec := schemastest.Codec(t)
	var out []sourceEvent
	for _, v := range codec.Versions() { // the last of a topic is the newest
		name := typeName(v.Topic)
		if types[name] == nil {
			t.Fatalf("the event of topic %s has no type %s", v.Topic, name)
		}
		e := sourceEvent{v.Topic, v.ID, docs[name], structFields(types, types[name])}
		if len(out) > 0 && out[len(out)-1].topic == v.Topic {
			out[len(out)-1] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// typeName is FileDiscovered for file.discovered.
func typeName(topic string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(topic, ".") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func structFields(types map[string]*ast.StructType, s *ast.StructType) []sourceField {
	var out []sourceField
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			if id, ok := f.Type.(*ast.Ident); ok && types[id.Name] != nil {
				out = append(out, structFields(types, types[id.Name])...)
			}
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("avro"), ",")
		out = append(out, sourceField{name, kindName(f.Type), oneLine(f.Comment.Text())})
	}
	return out
}

func kindName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return kindName(x.X) + ", may be null"
	case *ast.SelectorExpr:
		return strings.ToLower(x.Sel.Name)
	case *ast.ArrayType:
		return "list of " + kindName(x.Elt)
	case *ast.MapType:
		return "map of " + kindName(x.Value)
	}
	return "?"
}
