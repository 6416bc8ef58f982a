//go:build !race

package statements

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tributary/sql/control"
	"tributary/sql/warehouse"
)

// store is where a statement goes.
type store string

const (
	postgres   store = "Postgres"
	clickhouse store = "ClickHouse"
)

// statement is one of the texts that a place in the program may give a store.
type statement struct {
	store store
	text  string
	at    token.Pos // where its text is given
	in    string    // the function that this is in
	why   string    // it isn't known: why
}

// found are all statements of the program, each once, and the literals that they are
// made of.
type found struct {
	*index
	statements []statement
	seen       map[token.Pos]bool
}

// work is how many expressions are looked at, at most, for one call.
const work = 5000

// find finds them: it goes through all calls that give a text to a store, and works out
// what that may be. Where a parameter is given, it is what callers give for it.
func find(x *index) *found {
	f := &found{index: x, seen: map[token.Pos]bool{}}
	had := map[statement]bool{}
	for _, c := range x.all {
		e, to := x.gives(c.expr)
		if e == nil || c.in != nil && passes(c.in.object) {
			continue
		}
		left := work
		f.expand(e, to, nil, e.Pos(), 0, &left, func(s statement) {
			if key := (statement{store: s.store, text: s.text, why: s.why, in: s.in, at: s.at}); !had[key] {
				had[key] = true
				f.statements = append(f.statements, s)
			}
		})
	}
	slices.SortStableFunc(f.statements, func(a, b statement) int { return strings.Compare(f.place(a.at), f.place(b.at)) })
	return f
}

// expand works out an expression with all that the parameters may be that it is made
// of: those of the function that it stands in, then of that one's callers, and so on.
func (f *found) expand(e ast.Expr, to store, bound map[types.Object]given, at token.Pos, deep int, left *int, each func(statement)) {
	v := newEvaluation(f.index, bound, f.seen, left)
	values := v.of(e)
	if *left -= 10 * len(values); *left < 0 {
		each(statement{store: to, at: at, in: f.function(at), why: "it may have too many forms"})
		return
	}
	owners := slices.SortedFunc(maps.Keys(v.needs), func(a, b *function) int { return int(b.node.Pos() - a.node.Pos()) })
	for _, owner := range owners {
		calls := f.calls[owner]
		if len(calls) == 0 || deep > 6 {
			continue
		}
		for _, c := range calls {
			more, place := v.with(nil).bound, at
			passed := f.passedOn(e, owner, c.expr)
			if passed != nil && owner.object != nil && owner.object.Pkg().Path() == module+"internal/pg" {
				f.expand(passed, to, nil, passed.Pos(), 0, new(work), each)
				continue
			}
			if passed != nil {
				place = passed.Pos()
			}
			if deep == 0 { // each caller anew
				left = new(work)
			}
			for i, param := range owner.params {
				switch {
				case param == nil:
				case i == len(owner.params)-1 && variadic(owner, f.info) && !c.expr.Ellipsis.IsValid():
					more[param] = given{}
				case i < len(c.expr.Args):
					more[param] = given{expr: c.expr.Args[i]}
				}
			}
			f.expand(e, to, more, place, deep+1, left, each)
		}
		return
	}
	if c := *v.choice; c != nil {
		for _, one := range c.among {
			f.expand(e, to, v.with(map[types.Object]given{c.of: {is: []value{one}}}).bound, at, deep, left, each)
		}
		return
	}
	for _, x := range values {
		s := statement{store: to, at: at, in: f.function(at)}
		if x.kind == text {
			s.text = numbered(x.text)
		} else {
			s.why = x.text
		}
		each(s)
	}
}

// passedOn is what a call gives for the parameter of a function that an expression is; nil
// where it is something else. The functions of internal/pg only pass statements on.
func (f *found) passedOn(e ast.Expr, owner *function, call *ast.CallExpr) ast.Expr {
	id, is := e.(*ast.Ident)
	if !is {
		return nil
	}
	for i, param := range owner.params {
		if param != nil && f.info.Uses[id] == param && i < len(call.Args) {
			return call.Args[i]
		}
	}
	return nil
}

// function is the name of the function that a place lies in.
func (f *found) function(at token.Pos) string {
	for _, one := range f.functions {
		if encloses(one.node, at) {
			return one.name
		}
	}
	return f.place(at)
}

// gives is the text that a call gives to a store; nil if it is no such call.
func (x *index) gives(c *ast.CallExpr) (ast.Expr, store) {
	f, is := x.callee(c).(*types.Func)
	if !is {
		return nil, ""
	}
	n := passed(f)
	if n < 0 || n >= len(c.Args) {
		return nil, ""
	}
	if strings.Contains(f.FullName(), "ClickHouse") {
		return c.Args[n], clickhouse
	}
	return c.Args[n], postgres
}

// passed says which of a method's parameters is a statement; -1 if it gives none to a
// store.
func passed(f *types.Func) int {
	if f == nil || f.Signature().Recv() == nil {
		return -1
	}
	last := -1
	params := f.Signature().Params()
	for i := range params.Len() {
		if types.Identical(params.At(i).Type(), types.Typ[types.String]) {
			last = i
		}
	}
	first := params.Len() > 0 && params.At(0).Type().String() == "context.Context"
	switch f.Name() {
	case "Query", "QueryRow", "Exec", "Prepare", "Select", "PrepareBatch", "AsyncInsert", "CopyFrom", "CopyTo":
		if first {
			return last
		}
	case "Queue":
		return last
	}
	return -1
}

// passes tells whether a function passes on what it is given: then the statements are
// those of its callers.
func passes(f *types.Func) bool { return passed(f) >= 0 }

// parameter stands where a value is numbered when the statement is put together.
func parameter(key string) string { return "\x01" + key + "\x01" }

var (
	parameters = regexp.MustCompile("\x01[^\x01]+\x01")
	digits     = regexp.MustCompile(`\$(\d+)`)
)

// numbered is a statement whose parameters all have numbers.
func numbered(sql string) string {
	last := 0
	for _, m := range digits.FindAllStringSubmatch(sql, -1) {
		n, _ := strconv.Atoi(m[1])
		last = max(last, n)
	}
	had := map[string]int{}
	return parameters.ReplaceAllStringFunc(sql, func(key string) string {
		if had[key] == 0 {
			last++
			had[key] = last
		}
		return fmt.Sprint("$", had[key])
	})
}

// assumed is what a field holds whose value follows from more than the source says.
func (v *evaluation) assumed(field *types.Var, of types.Type) (string, bool) {
	s := strings.TrimPrefix(of.String(), "*") + "." + field.Name()
	known, ok := map[string]string{
		"tributary/consumers/tracker.store.schema": "tracker",
		"tributary/internal/pg.Lease.Schema":       "control",
		"tributary/internal/pg.Offsets.Schema":     "control",
	}[s]
	return known, ok
}

// outboxes are the schemas that sql/outbox is used with, which callers have from the
// configuration of a role.
func outboxes(v *types.Var) []value {
	if v.Name() == "schema" && v.Pkg().Path() == module+"sql/outbox" {
		return texts(control.Schema, warehouse.Schema)
	}
	return nil
}
