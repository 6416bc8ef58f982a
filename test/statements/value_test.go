//go:build !race

package statements

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"strconv"
)

// kind is what a value is.
type kind int

const (
	unknown kind = iota
	text
	list
	record
	closure
)

// value is one of those that an expression may have when the program runs.
type value struct {
	kind   kind
	text   string                 // of what is unknown: why
	items  [][]value              // of a list: each with what it may be
	fields map[string]given       // of a record
	lit    *ast.FuncLit           // of a closure
	bound  map[types.Object]given // of a closure: what its surroundings had
}

// given is what a parameter, a field or a variable is given: an expression, with what is
// known where it stands. It is looked at only where somebody asks.
type given struct {
	expr  ast.Expr
	rest  []ast.Expr // instead: the items of a list
	is    []value    // instead: what it is
	bound map[types.Object]given
}

// most is how many values of one expression are told apart. Of more, those are left out
// that come last.
const most = 24

// deepest is how many expressions may lie within each other.
const deepest = 60

// choice is a variable that may be one or another.
type choice struct {
	of    types.Object
	among []value
}

// evaluation finds out what an expression may be.
type evaluation struct {
	*index
	bound  map[types.Object]given
	needs  map[*function]bool   // whose parameters are not known
	seen   map[token.Pos]bool   // literals that were looked at
	used   map[types.Object]int // how often variables were asked for that may be one or another
	choice **choice             // the first that must be the same each time
	left   *int                 // how many expressions may still be looked at
	depth  int
}

func newEvaluation(x *index, bound map[types.Object]given, seen map[token.Pos]bool, left *int) *evaluation {
	return &evaluation{index: x, bound: bound, needs: map[*function]bool{}, seen: seen, used: map[types.Object]int{}, choice: new(*choice), left: left}
}

func why(text string) []value { return []value{{text: text}} }
func texts(all ...string) (out []value) {
	for _, s := range all {
		out = append(out, value{kind: text, text: s})
	}
	return out
}

// with is the evaluation with parameters that are known.
func (v *evaluation) with(more map[types.Object]given) *evaluation {
	out := *v
	out.bound = maps.Clone(v.bound)
	if out.bound == nil {
		out.bound = map[types.Object]given{}
	}
	maps.Copy(out.bound, more)
	return &out
}

// of is what an expression may be.
func (v *evaluation) of(e ast.Expr) []value {
	if *v.left--; v.depth > deepest || *v.left < 0 {
		return why("it takes too long to find out")
	}
	v.depth++
	defer func() { v.depth-- }()
	if known := v.info.Types[e].Value; known != nil {
		v.look(e)
		switch known.Kind() {
		case constant.String:
			return texts(constant.StringVal(known))
		case constant.Int, constant.Bool:
			return texts(known.ExactString())
		}
		return why("a constant that is no text")
	}
	if !telling(v.info.Types[e].Type, 0) {
		return why("of a type that holds no texts")
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.of(e.X)
	case *ast.StarExpr:
		return v.of(e.X)
	case *ast.TypeAssertExpr:
		return v.of(e.X)
	case *ast.UnaryExpr:
		return v.of(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return cross(v.of(e.X), v.of(e.Y))
		}
	case *ast.Ident:
		return v.variable(v.info.Uses[e], e.Pos())
	case *ast.SelectorExpr:
		return v.selected(e)
	case *ast.IndexExpr:
		return v.indexed(v.of(e.X), v.of(e.Index))
	case *ast.SliceExpr:
		return v.of(e.X)
	case *ast.CompositeLit:
		return []value{v.composite(e)}
	case *ast.FuncLit:
		return []value{{kind: closure, lit: e, bound: v.bound}}
	case *ast.CallExpr:
		return v.call(e)
	}
	return why("not understood")
}

// look notes the literals that a constant is made of.
func (v *evaluation) look(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			v.seen[n.Pos()] = true
		case *ast.Ident:
			if c, is := v.info.Uses[n].(*types.Const); is && v.constants[c] != nil && !v.seen[c.Pos()] {
				v.seen[c.Pos()] = true
				v.look(v.constants[c])
			}
		}
		return true
	})
}

// cross is each of some texts followed by each of others.
func cross(left, right []value) []value {
	var out []value
	for _, l := range left {
		for _, r := range right {
			switch {
			case l.kind != text:
				out = append(out, value{text: l.text})
			case r.kind != text:
				out = append(out, value{text: r.text})
			default:
				out = append(out, value{kind: text, text: l.text + r.text})
			}
		}
	}
	return few(out)
}

// few are the values, each once.
func few(all []value) (out []value) {
	had := map[string]bool{}
	for _, x := range all {
		if x.kind <= text {
			key := strconv.Itoa(int(x.kind)) + x.text
			if had[key] {
				continue
			}
			had[key] = true
		}
		if len(out) < most {
			out = append(out, x)
		}
	}
	return out
}

// selected is a field of a struct, or something of another package.
func (v *evaluation) selected(e *ast.SelectorExpr) []value {
	selection := v.info.Selections[e]
	if selection == nil {
		return v.variable(v.info.Uses[e.Sel], e.Pos())
	}
	field, ok := selection.Obj().(*types.Var)
	if !ok {
		return why("a method")
	}
	var out []value
	if _, chain := ast.Unparen(e.X).(*ast.SelectorExpr); !chain {
		for _, x := range v.of(e.X) {
			if has, ok := x.fields[field.Name()]; ok {
				out = append(out, v.at(has)...)
			} else if len(x.fields) > 0 {
				out = append(out, texts("")...)
			}
		}
	}
	if len(out) > 0 {
		return few(out)
	}
	if known, ok := v.assumed(field, v.info.Types[e.X].Type); ok {
		return texts(known)
	}
	return v.holds(field.Origin())
}

// holds is what a field may hold, whoever fills it.
func (v *evaluation) holds(field *types.Var) []value {
	if known, ok := v.held[field]; ok {
		return known
	}
	v.held[field] = nil // of one that holds itself
	alone := newEvaluation(v.index, nil, v.seen, new(int))
	*alone.left = 500
	var out []value
	for _, put := range v.fields[field] {
		out = append(out, alone.of(put)...)
	}
	if out = few(out); len(out) == 0 {
		out = why("the field " + field.Name())
	}
	v.held[field] = out
	return out
}

// indexed are the items of lists, or the one of a name.
func (v *evaluation) indexed(of, by []value) (out []value) {
	for _, x := range of {
		for _, item := range x.items {
			out = append(out, item...)
		}
		for _, key := range keys(x) {
			if len(by) != 1 || by[0].kind != text || by[0].text == key {
				out = append(out, v.at(x.fields[key])...)
			}
		}
	}
	if len(out) == 0 {
		return why("an item of a list that isn't known")
	}
	return few(out)
}

// composite is the value of a literal of a list, a map or a struct.
func (v *evaluation) composite(e *ast.CompositeLit) value {
	typ := v.info.Types[e].Type
	if pointer, ok := typ.Underlying().(*types.Pointer); ok {
		typ = pointer.Elem()
	}
	fields, isStruct := typ.Underlying().(*types.Struct)
	out := value{kind: list}
	if _, isMap := typ.Underlying().(*types.Map); isStruct || isMap {
		out = value{kind: record, fields: map[string]given{}}
	}
	for i, item := range e.Elts {
		pair, keyed := item.(*ast.KeyValueExpr)
		switch {
		case isStruct && keyed:
			out.fields[pair.Key.(*ast.Ident).Name] = given{expr: pair.Value, bound: v.bound}
		case isStruct:
			out.fields[fields.Field(i).Name()] = given{expr: item, bound: v.bound}
		case keyed && out.kind == record:
			for _, key := range v.of(pair.Key) {
				out.fields[key.text] = given{expr: pair.Value, bound: v.bound}
			}
		case keyed:
			out.items = append(out.items, v.of(pair.Value))
		default:
			out.items = append(out.items, v.of(item))
		}
	}
	return out
}
