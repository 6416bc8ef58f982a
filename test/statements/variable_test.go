//go:build !race

package statements

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// variable is what a variable may hold where it is used.
func (v *evaluation) variable(object types.Object, at token.Pos) []value {
	if g, ok := v.bound[object]; ok {
		return v.at(g)
	}
	variable, ok := object.(*types.Var)
	if !ok {
		return why("no variable")
	}
	if known := outboxes(variable); known != nil {
		return v.choose(object, known)
	}
	var out []value
	if owner := v.owners[variable]; owner != nil {
		v.needs[owner] = true
		out = why("the parameter " + object.Name())
	}
	out = v.assigned(object, at, out)
	if len(out) > 0 {
		return v.choose(object, out)
	}
	switch typ := variable.Type().Underlying().(type) {
	case *types.Basic:
		if typ.Info()&types.IsString != 0 {
			return texts("") // declared without a value
		}
	case *types.Slice:
		return []value{{kind: list}}
	}
	return why("nothing gives " + object.Name() + " a value that is understood")
}

// choose has a variable that is used more than once be the same each time: it is chosen
// for the whole statement.
func (v *evaluation) choose(object types.Object, among []value) []value {
	if len(among) < 2 || object.Parent() == object.Pkg().Scope() {
		return among
	}
	v.used[object]++
	if *v.choice == nil && (v.used[object] > 1 || slices.ContainsFunc(among, func(x value) bool { return x.kind == record })) {
		*v.choice = &choice{object, among}
	}
	return among
}

// assigned is what the assignments before a place give a variable, one after another.
// What an assignment does under a condition may be done or not, but one branch of two is.
func (v *evaluation) assigned(object types.Object, at token.Pos, first []value) []value {
	type way struct {
		values     []value
		took, left []ast.Node // branches
	}
	ways := []way{{values: first}}
	for _, a := range v.values[object] {
		if a.at > at && object.Parent() != object.Pkg().Scope() {
			continue
		}
		always := object.Parent() == object.Pkg().Scope() || encloses(a.within, at) || v.around[a.within] != nil && encloses(v.around[a.within], at)
		var next []way
		for _, w := range ways {
			done := way{v.after(w.values, a, object), append(slices.Clone(w.took), a.within), w.left}
			switch {
			case always:
				next = append(next, done)
			case slices.Contains(w.left, a.within), v.instead[a.within] != nil && slices.Contains(w.took, v.instead[a.within]):
				next = append(next, w)
			case slices.Contains(w.took, a.within), v.instead[a.within] != nil && v.assigns(object, v.instead[a.within]):
				next = append(next, done)
			default:
				w.left = append(slices.Clone(w.left), a.within)
				next = append(next, done, w)
			}
		}
		if ways = next; len(ways) > most/3 {
			ways = ways[:most/3]
		}
		*v.left -= len(ways)
	}
	var out []value
	for _, w := range ways {
		out = append(out, w.values...)
	}
	return few(out)
}

func encloses(n ast.Node, at token.Pos) bool { return n.Pos() <= at && at < n.End() }

// assigns tells whether a branch gives a variable a value.
func (v *evaluation) assigns(object types.Object, branch ast.Node) bool {
	return slices.ContainsFunc(v.values[object], func(a assignment) bool { return a.within == branch })
}

// after is what a variable holds after an assignment.
func (v *evaluation) after(before []value, a assignment, object types.Object) []value {
	if more, is := v.extends(a, object); is {
		return appended(before, more)
	}
	given := v.given(a)
	if a.op == token.ADD_ASSIGN {
		if len(before) == 0 {
			before = texts("")
		}
		return cross(before, given)
	}
	return given
}

// given is what an assignment gives.
func (v *evaluation) given(a assignment) []value {
	switch {
	case a.value == nil:
		return nil
	case a.op == token.RANGE:
		var out []value
		for _, x := range v.of(a.value) {
			switch {
			case a.key:
				out = append(out, texts(keys(x)...)...)
			case x.kind == list:
				for _, item := range x.items {
					out = append(out, item...)
				}
			case x.kind == record:
				for _, key := range keys(x) {
					out = append(out, v.at(x.fields[key])...)
				}
			default:
				out = append(out, value{text: "a list that isn't known"})
			}
		}
		return few(out)
	case a.result >= 0:
		if c, is := ast.Unparen(a.value).(*ast.CallExpr); is {
			return v.results(c, a.result)
		}
		return v.of(a.value)
	}
	return v.of(a.value)
}

func keys(x value) (all []string) {
	return slices.Sorted(maps.Keys(x.fields))
}

// at is what an expression may be where it stands.
func (v *evaluation) at(g given) []value {
	if g.is != nil {
		return g.is
	}
	there := *v
	if g.bound != nil {
		there.bound = g.bound
	}
	there.depth += 1
	if g.expr == nil {
		return []value{{kind: list, items: there.each(g.rest)}}
	}
	return there.of(g.expr)
}

func (v *evaluation) each(all []ast.Expr) (items [][]value) {
	for _, e := range all {
		items = append(items, v.of(e))
	}
	return items
}

// extends are the items that an assignment adds to a list, if that is what it does.
func (v *evaluation) extends(a assignment, object types.Object) ([][]value, bool) {
	c, is := a.value.(*ast.CallExpr)
	if !is || a.op != token.ASSIGN || a.result >= 0 || len(c.Args) == 0 || v.named(c.Args[0]) != object {
		return nil, false
	}
	if builtin, is := v.callee(c).(*types.Builtin); !is || builtin.Name() != "append" {
		return nil, false
	}
	return v.more(c), true
}

// telling tells whether what is of a type may hold texts that the program knows.
func telling(t types.Type, depth int) bool {
	if t == nil || depth > 4 {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0 || t.Kind() == types.UntypedNil
	case *types.Slice:
		return telling(t.Elem(), depth+1)
	case *types.Array:
		return telling(t.Elem(), depth+1)
	case *types.Map:
		return telling(t.Elem(), depth+1) || telling(t.Key(), depth+1)
	case *types.Pointer:
		return telling(t.Elem(), depth+1)
	case *types.Chan:
		return false
	}
	return true
}
