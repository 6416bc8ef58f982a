//go:build !race

package statements

import (
	"go/ast"
	"go/constant"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// A statement that names what the migrations don't make, or gives a value of another
// type than a column's, fails here within seconds, with the place of its text.
func TestEveryStatementIsPrepared(t *testing.T) {
	f := find(newIndex(load(t)))
	if len(f.statements) < 500 {
		t.Fatalf("only %d statements were found: what looks for them is broken", len(f.statements))
	}
	together, needed, prepared := together(), map[string]int{}, map[store]int{}
	stores := map[store]func(sql string) error{postgres: inPostgres(t, f), clickhouse: inClickHouse(t)}
	results := map[statement]error{}
	for _, s := range f.statements {
		if s.why == "" {
			key := statement{store: s.store, text: s.text}
			err, done := results[key]
			if !done {
				err = stores[s.store](s.text)
				results[key] = err
			}
			if err == nil {
				if !done {
					prepared[s.store]++
				}
				continue
			}
			if needed[s.in]++; together[s.in] == "" {
				t.Errorf("%s, in %s: %v", f.place(s.at), s.in, err)
			}
			continue
		}
		if needed[s.in]++; together[s.in] == "" {
			t.Errorf("%s, in %s: a statement is put together from what the test can't know (%s). Write it so that its text is known; where only a store, a profile or a person knows it, add the function to the list, with the reason", f.place(s.at), s.in, s.why)
		}
	}
	for name := range together {
		if needed[name] == 0 {
			t.Errorf("%s puts no statement together any more: take it off the list", name)
		}
	}
	t.Logf("%d places and texts; %d texts are prepared in Postgres, %d in ClickHouse; %d functions put some together when they run", len(f.statements), prepared[postgres], prepared[clickhouse], len(together))
}

// begins tells a text that is a statement from others.
var begins = regexp.MustCompile(`^\s*(SELECT \S|INSERT INTO|UPDATE \w+\.|DELETE FROM|WITH (RECURSIVE )?\w+ AS|CREATE TEMP|LOCK TABLE|TRUNCATE )`)

// A text that looks like a statement and that no statement is made of is one that the
// other test doesn't see, or that nobody runs.
func TestNoStatementIsOverlooked(t *testing.T) {
	f := find(newIndex(load(t)))
	var seen []string
	for _, file := range f.files {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING || f.seen[lit.Pos()] || !begins.MatchString(constant.StringVal(constant.MakeFromLiteral(lit.Value, lit.Kind, 0))) {
				return true
			}
			in := f.function(lit.Pos())
			if _, known := together()[in]; known {
				return true
			}
			if in = f.fileOf(lit.Pos()); slices.Contains(elsewhere(), in) {
				seen = append(seen, in)
			} else {
				t.Errorf("%s: a statement that the test doesn't see given to a store", f.place(lit.Pos()))
			}
			return true
		})
	}
	for _, file := range elsewhere() {
		if !slices.Contains(seen, file) {
			t.Errorf("%s holds no statement of another kind any more: take it off the list", file)
		}
	}
}
