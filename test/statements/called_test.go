//go:build !race

package statements

import (
	"go/ast"
	"go/types"
	"strings"
)

// called are the functions of the program that a call may call.
func (x *index) called(c *ast.CallExpr) []*function {
	switch object := x.callee(c).(type) {
	case *types.Func:
		if f := x.functions[object.Origin()]; f != nil {
			return []*function{f}
		}
		return x.implementations(object)
	case *types.Var: // one without a name, that a variable holds
		var all []*function
		for _, a := range x.values[object] {
			if lit, ok := a.value.(*ast.FuncLit); ok && a.result < 0 {
				all = append(all, x.literals[lit])
			}
		}
		return all
	}
	if lit, ok := c.Fun.(*ast.FuncLit); ok {
		return []*function{x.literals[lit]}
	}
	return nil
}

// callee is the function or variable that is called.
func (x *index) callee(c *ast.CallExpr) types.Object {
	fun := ast.Unparen(c.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return x.info.Uses[fun]
	case *ast.SelectorExpr:
		return x.info.Uses[fun.Sel]
	}
	return nil
}

// implementations are the methods of the program that an interface's method stands for.
func (x *index) implementations(object *types.Func) (all []*function) {
	signature, _ := object.Type().(*types.Signature)
	if signature.Recv() == nil || object.Pkg() == nil || !strings.HasPrefix(object.Pkg().Path()+"/", module) {
		return nil
	}
	contract, ok := signature.Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for _, f := range x.methods[object.Name()] {
		if types.Implements(f.object.Signature().Recv().Type(), contract) {
			all = append(all, f)
		}
	}
	return all
}

// demand notes the conditions that a call may add to.
func (x *index) demand(c call) {
	among := c.expr.Args
	if selector, is := ast.Unparen(c.expr.Fun).(*ast.SelectorExpr); is {
		among = append([]ast.Expr{selector.X}, among...)
	}
	for _, e := range among {
		if v := x.named(e); v != nil && strings.HasSuffix(strings.TrimPrefix(v.Type().String(), "*"), "internal/pg.Conditions") {
			x.demands[v] = append(x.demands[v], c)
		}
	}
}

// named is the variable that an expression is, or whose address it is.
func (x *index) named(e ast.Expr) *types.Var {
	if address, is := ast.Unparen(e).(*ast.UnaryExpr); is {
		e = address.X
	}
	if id, is := ast.Unparen(e).(*ast.Ident); is {
		v, _ := x.info.Uses[id].(*types.Var)
		return v
	}
	return nil
}
