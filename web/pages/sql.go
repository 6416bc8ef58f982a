package pages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tributary/queries/report"
	"tributary/web/filter"
	"tributary/web/keep"
	"tributary/web/question"
)

// console is a statement and its answer.
type console struct {
	Stores    []string
	Store     string
	Statement string
	There     []there
	Ran       bool
	Answer    report.Answer
	Took      time.Duration
	Wrong     string
}

// there is a statement to begin with, which tells what a store has.
type there struct{ Store, Says, To string }

// What a store has that statements can ask.
const (
	tablesOfPostgres = `SELECT c.relname AS name, CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END AS kind, obj_description(c.oid, 'pg_class') AS holds
FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
ORDER BY c.relkind DESC, c.relname`
	columnsOfPostgres = `SELECT c.relname AS name, a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type, col_description(c.oid, a.attnum) AS holds
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'v'
ORDER BY c.relname, a.attnum`
	tablesOfClickHouse = `SELECT name, comment AS holds
FROM system.tables
WHERE database = currentDatabase()
ORDER BY name`
	columnsOfClickHouse = `SELECT table, name, type, comment AS holds
FROM system.columns
WHERE database = currentDatabase()
ORDER BY table, position`
)

// there is, of each store, how to see what it has.
func (s *Site) there() (out []there) {
	for _, name := range s.asker.Stores() {
		tables, columns, of := tablesOfPostgres, columnsOfPostgres, "columns of views"
		if _, is := s.Stores[name](0).(report.ClickHouse); is {
			tables, columns, of = tablesOfClickHouse, columnsOfClickHouse, "columns"
		}
		out = append(out, there{name, "tables", s.to("/sql", "store", name, "statement", tables)}, there{name, of, s.to("/sql", "store", name, "statement", columns)})
	}
	return out
}

// console shows a statement. It is run when it is sent, never by its address alone: a
// link from elsewhere asks for nothing.
func (s *Site) console(ctx context.Context, r *http.Request) (page, error) {
	d := console{Stores: s.asker.Stores(), There: s.there(), Store: r.FormValue("store"), Statement: r.FormValue("statement")}
	if d.Store == "" && len(d.Stores) > 0 {
		d.Store = d.Stores[0]
	}
	if len(d.Stores) == 0 {
		return page{}, errNotHere
	}
	if !slices.Contains(d.Stores, d.Store) {
		return page{}, fmt.Errorf("%w: there is no store %q", errBadFilter, d.Store)
	}
	if len(d.Statement) > question.MaxStatement {
		return page{}, fmt.Errorf("%w: the statement is larger than %s", errBadFilter, size(question.MaxStatement))
	}
	p := page{Title: "SQL", At: "/sql", Template: "sql", Command: "tributary sql --store " + d.Store + " STATEMENT"}
	if d.Statement != "" {
		p.Command = "tributary sql --store " + d.Store + " " + filter.Quoted(d.Statement)
		p.Keep = s.keep(keep.SQL, d.Store, d.Statement)
	}
	if r.Method == http.MethodPost {
		began := time.Now()
		var err error
		d.Answer, err = s.asker.Statement(ctx, d.Store, d.Statement)
		if d.Ran, d.Took = true, time.Since(began); err != nil {
			d.Wrong = err.Error()
		}
	}
	p.Data = d
	return p, nil
}
