//go:build !race

package statements

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// conditions are what Where and Arg of pg.Conditions return, if all is demanded that
// may be.
func (v *evaluation) conditions(method string, e *ast.CallExpr) []value {
	at := fmt.Sprint(e.Pos())
	if method == "Arg" {
		return texts(parameter(at))
	}
	selector, _ := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	id, is := ast.Unparen(selector.X).(*ast.Ident)
	if !is {
		return why("conditions")
	}
	variable, is := v.info.Uses[id].(*types.Var)
	if !is {
		return why("conditions")
	}
	all := v.demanded(variable, 0)
	if len(all) == 0 {
		return texts("")
	}
	return texts("", " WHERE "+strings.Join(all, " AND "))
}

// demanded are the conditions that are added to a variable, by functions that it is
// given to also.
func (v *evaluation) demanded(object types.Object, depth int) (all []string) {
	if depth > 4 {
		return nil
	}
	for _, c := range v.demands[object] {
		selector, is := ast.Unparen(c.expr.Fun).(*ast.SelectorExpr)
		if is && selector.Sel.Name == "Add" && v.named(selector.X) == object {
			for _, x := range v.of(c.expr.Args[0]) {
				if x.kind == text {
					all = append(all, condition(x.text, fmt.Sprint(c.expr.Pos())))
				}
			}
		}
		for i, arg := range c.expr.Args {
			if v.named(arg) != object {
				continue
			}
			for _, f := range v.called(c.expr) {
				if i < len(f.params) && f.params[i] != nil {
					all = append(all, v.demanded(f.params[i], depth+1)...)
				}
			}
		}
	}
	return all
}

// condition is a condition whose %s are parameters.
func condition(format, key string) string {
	n := strings.Count(format, "%s") + strings.Count(format, "%[")
	values := make([]any, n)
	for i := range values {
		values[i] = parameter(fmt.Sprint(key, ".", i))
	}
	if strings.Contains(format, "%[") {
		values = values[:2]
		if !strings.Contains(format, "%[2]") {
			values = values[:1]
		}
	}
	return fmt.Sprintf(format, values...)
}
