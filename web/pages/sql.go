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
	Ran       bool
	Answer    report.Answer
	Took      time.Duration
	Wrong     string
}

// console shows a statement. It is run when it is sent, never by its address alone: a
// link from elsewhere asks for nothing.
func (s *Site) console(ctx context.Context, r *http.Request) (page, error) {
	d := console{Stores: s.asker.Stores(), Store: r.FormValue("store"), Statement: r.FormValue("statement")}
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
