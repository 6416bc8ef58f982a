//go:build !race

package statements

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// function is a function of the program, one within another included.
type function struct {
	name   string // as people look for it: sql/control.Operations
	node   ast.Node
	body   *ast.BlockStmt
	params []*types.Var // the receiver apart
	self   *types.Var   // the receiver, if it has a name
	result []*types.Var // that have names
	object *types.Func  // nil of one without a name
}

// assignment gives a variable a value.
type assignment struct {
	at     token.Pos // from where on it has it
	within ast.Node  // the innermost block or statement that decides whether it is executed
	value  ast.Expr
	result int         // which of the value's results; -1: the value itself
	op     token.Token // ASSIGN, ADD_ASSIGN, or RANGE where the value is gone through
	key    bool        // of a RANGE: the key
}

// call is a place where a function is called.
type call struct {
	expr *ast.CallExpr
	in   *function
}

// index says where in the program things are said.
type index struct {
	*program
	functions map[*types.Func]*function
	owners    map[*types.Var]*function // of parameters
	literals  map[*ast.FuncLit]*function
	values    map[types.Object][]assignment
	fields    map[*types.Var][]ast.Expr // what is put into a struct's field anywhere
	constants map[types.Object]ast.Expr
	calls     map[*function][]call
	all       []call
	methods   map[string][]*function
	demands   map[types.Object][]call // where pg.Conditions get another, or are given to somebody who adds one
	held      map[*types.Var][]value  // what fields hold, as far as it was asked
	instead   map[ast.Node]ast.Node   // of a branch: the one that is taken otherwise
	around    map[ast.Node]ast.Node   // of a loop's body: what the loop lies in
}

func newIndex(p *program) *index {
	x := &index{program: p, functions: map[*types.Func]*function{}, owners: map[*types.Var]*function{}, literals: map[*ast.FuncLit]*function{}, values: map[types.Object][]assignment{},
		fields: map[*types.Var][]ast.Expr{}, constants: map[types.Object]ast.Expr{}, calls: map[*function][]call{}, methods: map[string][]*function{}, demands: map[types.Object][]call{}, held: map[*types.Var][]value{},
		instead: map[ast.Node]ast.Node{}, around: map[ast.Node]ast.Node{}}
	for _, file := range p.files {
		x.file(file)
	}
	for _, c := range x.all {
		for _, f := range x.called(c.expr) {
			x.calls[f] = append(x.calls[f], c)
		}
	}
	return x
}

// file notes what a file says.
func (x *index) file(file *ast.File) {
	var path []ast.Node
	var in []*function
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			last := path[len(path)-1]
			path = path[:len(path)-1]
			if len(in) > 0 && in[len(in)-1].node == last {
				in = in[:len(in)-1]
			}
			return false
		}
		path = append(path, n)
		var current *function
		if len(in) > 0 {
			current = in[len(in)-1]
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			in = append(in, x.declared(n))
		case *ast.FuncLit:
			f := &function{node: n, body: n.Body}
			if current != nil {
				f.name = current.name
			}
			x.parameters(f, n.Type, nil)
			x.literals[n] = f
			in = append(in, f)
		case *ast.CallExpr:
			x.all = append(x.all, call{n, current})
			x.demand(call{n, current})
		case *ast.AssignStmt:
			x.assign(n, within(path))
		case *ast.ValueSpec:
			x.spec(n, within(path))
		case *ast.IfStmt:
			if n.Else != nil {
				x.instead[n.Else] = n.Body
			}
		case *ast.RangeStmt:
			x.around[n.Body] = within(path[:len(path)-1])
			for i, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok {
					x.give(id, assignment{at: n.X.End(), within: n, value: n.X, result: -1, op: token.RANGE, key: i == 0})
				}
			}
		case *ast.CompositeLit:
			x.literal(n)
		}
		return true
	})
}

func within(path []ast.Node) ast.Node {
	for _, n := range slices.Backward(path) {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.File:
			return n
		}
	}
	return nil
}

func (x *index) declared(n *ast.FuncDecl) *function {
	object, _ := x.info.Defs[n.Name].(*types.Func)
	f := &function{node: n, body: n.Body, object: object, name: strings.TrimPrefix(object.FullName(), module)}
	f.name = strings.NewReplacer("("+module, "(", "(*"+module, "(*").Replace(f.name)
	x.parameters(f, n.Type, n.Recv)
	x.functions[object] = f
	if n.Recv != nil {
		x.methods[n.Name.Name] = append(x.methods[n.Name.Name], f)
	}
	return f
}

func (x *index) parameters(f *function, signature *ast.FuncType, receiver *ast.FieldList) {
	variables := func(list *ast.FieldList) (all []*types.Var) {
		if list == nil {
			return nil
		}
		for _, field := range list.List {
			if len(field.Names) == 0 {
				all = append(all, nil)
			}
			for _, name := range field.Names {
				v, _ := x.info.Defs[name].(*types.Var)
				all = append(all, v)
			}
		}
		return all
	}
	f.params, f.result = variables(signature.Params), variables(signature.Results)
	if self := variables(receiver); len(self) == 1 {
		f.self = self[0]
	}
	for _, v := range f.params {
		if v != nil {
			x.owners[v] = f
		}
	}
}

func (x *index) give(id *ast.Ident, a assignment) {
	object := x.info.Defs[id]
	if object == nil {
		object = x.info.Uses[id]
	}
	if object != nil {
		x.values[object] = append(x.values[object], a)
	}
}

func (x *index) assign(n *ast.AssignStmt, inside ast.Node) {
	op := token.ASSIGN
	if n.Tok == token.ADD_ASSIGN {
		op = token.ADD_ASSIGN
	}
	for i, to := range n.Lhs {
		a := assignment{at: n.End(), within: inside, value: n.Rhs[0], result: i, op: op}
		if len(n.Rhs) == len(n.Lhs) {
			a.value, a.result = n.Rhs[i], -1
		}
		switch to := to.(type) {
		case *ast.Ident:
			x.give(to, a)
		case *ast.SelectorExpr:
			if s := x.info.Selections[to]; s != nil && a.result < 0 {
				if field, ok := s.Obj().(*types.Var); ok {
					x.fields[field.Origin()] = append(x.fields[field.Origin()], a.value)
				}
			}
		}
	}
}

func (x *index) spec(n *ast.ValueSpec, inside ast.Node) {
	for i, name := range n.Names {
		a := assignment{at: n.End(), within: inside, result: -1, op: token.ASSIGN}
		switch {
		case len(n.Values) == len(n.Names):
			a.value = n.Values[i]
		case len(n.Values) == 1:
			a.value, a.result = n.Values[0], i
		}
		if object := x.info.Defs[name]; object != nil && a.value != nil {
			x.constants[object] = a.value
		}
		x.give(name, a)
	}
}

// literal notes what a struct's literal puts into its fields.
func (x *index) literal(n *ast.CompositeLit) {
	typ := x.info.Types[n].Type
	if pointer, ok := typ.Underlying().(*types.Pointer); ok {
		typ = pointer.Elem()
	}
	fields, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range n.Elts {
		if pair, keyed := e.(*ast.KeyValueExpr); keyed {
			if field, ok := x.info.Uses[pair.Key.(*ast.Ident)].(*types.Var); ok {
				x.fields[field.Origin()] = append(x.fields[field.Origin()], pair.Value)
			}
			continue
		}
		field := fields.Field(i).Origin()
		x.fields[field] = append(x.fields[field], e)
	}
}
