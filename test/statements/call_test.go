//go:build !race

package statements

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
)

// call is what a call of one result may give.
func (v *evaluation) call(e *ast.CallExpr) []value { return v.results(e, 0) }

// results is what one of the results of a call may be.
func (v *evaluation) results(e *ast.CallExpr, n int) []value {
	if v.info.Types[e.Fun].IsType() {
		return v.of(e.Args[0])
	}
	object := v.callee(e)
	if builtin, is := object.(*types.Builtin); is && builtin.Name() == "append" {
		return appended(v.of(e.Args[0]), v.more(e))
	}
	if f, is := object.(*types.Func); is {
		if known, ok := v.known(f, e); ok {
			return known
		}
	}
	var out []value
	if variable, is := object.(*types.Var); is {
		for _, x := range v.variable(variable, e.Pos()) {
			if x.kind == closure {
				out = append(out, v.with(x.bound).returned(v.literals[x.lit], e, n)...)
			}
		}
		if len(out) > 0 {
			return few(out)
		}
	}
	for _, f := range v.called(e) {
		out = append(out, v.returned(f, e, n)...)
	}
	if len(out) == 0 {
		return why("what " + name(object) + " returns")
	}
	return few(out)
}

func name(object types.Object) string {
	if object == nil {
		return "a function"
	}
	return object.Name()
}

// returned is what a function of the program returns for what it is given.
func (v *evaluation) returned(f *function, e *ast.CallExpr, n int) (out []value) {
	if f.body == nil || v.depth > deepest/2 {
		return why("what " + f.name + " returns")
	}
	inner := v.with(v.arguments(f, e))
	ast.Inspect(f.body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			switch {
			case len(node.Results) == 0 && n < len(f.result):
				out = append(out, inner.variable(f.result[n], node.Pos())...)
			case len(node.Results) == 1 && n > 0:
				if c, is := ast.Unparen(node.Results[0]).(*ast.CallExpr); is {
					out = append(out, inner.results(c, n)...)
				}
			case n < len(node.Results):
				out = append(out, inner.of(node.Results[n])...)
			}
		}
		return true
	})
	return out
}

// arguments are what a function's parameters hold in a call.
func (v *evaluation) arguments(f *function, e *ast.CallExpr) map[types.Object]given {
	out := map[types.Object]given{}
	around := v.bound
	if around == nil {
		around = map[types.Object]given{}
	}
	if selector, is := ast.Unparen(e.Fun).(*ast.SelectorExpr); is && f.self != nil && v.info.Selections[selector] != nil {
		out[f.self] = given{expr: selector.X, bound: around}
	}
	for i, param := range f.params {
		switch {
		case param == nil:
		case i == len(f.params)-1 && variadic(f, v.info) && !e.Ellipsis.IsValid():
			out[param] = given{rest: e.Args[min(i, len(e.Args)):], bound: around}
		case i < len(e.Args):
			out[param] = given{expr: e.Args[i], bound: around}
		}
	}
	return out
}

func variadic(f *function, info *types.Info) bool {
	if lit, is := f.node.(*ast.FuncLit); is {
		return info.Types[lit].Type.(*types.Signature).Variadic()
	}
	return f.object.Signature().Variadic()
}

// more are the items that a call of append adds.
func (v *evaluation) more(e *ast.CallExpr) (items [][]value) {
	if !e.Ellipsis.IsValid() {
		return v.each(e.Args[1:])
	}
	for _, x := range v.of(e.Args[1]) {
		items = append(items, x.items...)
	}
	return items
}

// appended are lists with more items.
func appended(lists []value, more [][]value) []value {
	if len(lists) == 0 {
		lists = []value{{kind: list}}
	}
	out := make([]value, len(lists))
	for i, x := range lists {
		out[i] = value{kind: list, items: append(slices.Clone(x.items), more...)}
	}
	return out
}

// known is what functions return that are known by name.
func (v *evaluation) known(f *types.Func, e *ast.CallExpr) ([]value, bool) {
	apply := func(with func(string) string) ([]value, bool) {
		out := v.of(e.Args[0])
		for i, x := range out {
			if x.kind == text {
				out[i] = value{kind: text, text: with(x.text)}
			}
		}
		return out, true
	}
	switch f.FullName() {
	case "tributary/schemas.Numbered":
		return apply(schemas.Numbered)
	case "(tributary/sql/beside.Target).SQL", "(tributary/sql/beside.Target).Qualify":
		return v.of(e.Args[0]), true // it is written for the store itself
	case "strings.TrimSpace":
		return apply(strings.TrimSpace)
	case "strconv.Itoa", "strconv.Quote":
		return texts("1"), true
	case "strings.ReplaceAll":
		return v.format(e.Args, func(a []string) string { return strings.ReplaceAll(a[0], a[1], a[2]) }), true
	case "strings.Replace":
		return v.format(e.Args[:3], func(a []string) string { return strings.Replace(a[0], a[1], a[2], 1) }), true
	case "strings.Repeat":
		return apply(func(s string) string { return s })
	case "fmt.Sprintf":
		return v.sprintf(e), true
	case "strings.Join":
		return v.joined(e), true
	case "(github.com/jackc/pgx/v5.Identifier).Sanitize":
		return v.identifier(e), true
	case "(*tributary/internal/pg.Conditions).Where", "(*tributary/internal/pg.Conditions).Arg":
		return v.conditions(f.Name(), e), true
	}
	return nil, false
}

// format are the results of a function for all that its arguments may be.
func (v *evaluation) format(args []ast.Expr, with func([]string) string) []value {
	all := []value{{kind: list}}
	for _, arg := range args {
		var next []value
		for _, x := range v.of(arg) {
			for _, before := range all {
				switch {
				case before.kind == unknown:
					next = append(next, before)
				case x.kind != text:
					next = append(next, value{text: x.text})
				default:
					next = append(next, value{kind: list, items: append(append([][]value{}, before.items...), []value{x})})
				}
			}
		}
		all = few(next)
	}
	for i, x := range all {
		if x.kind == list {
			words := make([]string, len(x.items))
			for n, item := range x.items {
				words[n] = item[0].text
			}
			all[i] = value{kind: text, text: with(words)}
		}
	}
	return few(all)
}

// places are where a format numbers a parameter.
var places = regexp.MustCompile(`\$%(\[\d+\])?d`)

func (v *evaluation) sprintf(e *ast.CallExpr) []value {
	if e.Ellipsis.IsValid() {
		return why("a format whose values are a list")
	}
	numbers := map[int]bool{} // numbers are no names
	args := make([]ast.Expr, 0, len(e.Args))
	for i, arg := range e.Args {
		if basic, is := v.info.Types[arg].Type.Underlying().(*types.Basic); is && basic.Info()&(types.IsNumeric|types.IsBoolean) != 0 && i > 0 {
			numbers[i] = basic.Info()&types.IsNumeric != 0
			args = append(args, e.Args[0])
			continue
		}
		args = append(args, arg)
	}
	return v.format(args, func(a []string) string {
		values := make([]any, 0, len(a))
		for i := range a[1:] {
			number, is := numbers[i+1]
			switch {
			case is && number:
				values = append(values, 1)
			case is:
				values = append(values, true)
			default:
				values = append(values, a[i+1])
			}
		}
		return fmt.Sprintf(places.ReplaceAllString(a[0], parameter(fmt.Sprint(e.Pos(), ".$1"))), values...)
	})
}

func (v *evaluation) joined(e *ast.CallExpr) []value {
	var out []value
	for _, separator := range v.of(e.Args[1]) {
		for _, x := range v.of(e.Args[0]) {
			if x.kind != list {
				out = append(out, value{text: "the join of a list that isn't known"})
				continue
			}
			joined := texts("")
			for i, item := range x.items {
				if i > 0 {
					joined = cross(joined, []value{separator})
				}
				joined = cross(joined, item)
			}
			out = append(out, joined...)
		}
	}
	return few(out)
}

func (v *evaluation) identifier(e *ast.CallExpr) []value {
	selector, _ := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	out := why("an identifier")
	for _, x := range v.of(selector.X) {
		parts := texts("")
		for i, item := range x.items {
			if i > 0 {
				parts = cross(parts, texts("."))
			}
			quoted := slices.Clone(item) // the items are others' too
			for n, word := range item {
				if word.kind == text {
					quoted[n].text = pgx.Identifier{word.text}.Sanitize()
				}
			}
			parts = cross(parts, quoted)
		}
		if len(x.items) > 0 {
			out = parts
		}
	}
	return out
}
