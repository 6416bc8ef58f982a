package pages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tributary/queries/report"
	"tributary/web/filter"
)

// Stores are those that statements of people may ask, by name: tracker, warehouse,
// history.
type Stores map[string]func(timeout time.Duration) report.Store

const (
	// maxStatement bounds a statement, in bytes.
	maxStatement = 64 << 10
	// statementTime is how long a statement may take.
	statementTime = time.Minute
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
	d := console{Stores: s.storeNames(), Store: r.FormValue("store"), Statement: r.FormValue("statement")}
	if d.Store == "" && len(d.Stores) > 0 {
		d.Store = d.Stores[0]
	}
	if len(d.Stores) == 0 {
		return page{}, errNotHere
	}
	store, ok := s.Stores[d.Store]
	if !ok {
		return page{}, fmt.Errorf("%w: there is no store %q", errBadFilter, d.Store)
	}
	if len(d.Statement) > maxStatement {
		return page{}, fmt.Errorf("%w: the statement is larger than %s", errBadFilter, size(maxStatement))
	}
	p := page{Title: "SQL", At: "/sql", Template: "sql", Command: "tributary sql --store " + d.Store + " STATEMENT"}
	if d.Statement != "" {
		p.Command = "tributary sql --store " + d.Store + " " + filter.Quoted(d.Statement)
	}
	if r.Method == http.MethodPost {
		began := time.Now()
		err := s.atOnce(ctx, func() (err error) {
			d.Answer, err = report.Ask(ctx, store(statementTime), d.Statement, answerRows)
			return err
		})
		if d.Ran, d.Took = true, time.Since(began); err != nil {
			d.Wrong = err.Error()
		}
	}
	p.Data = d
	return p, nil
}

func (s *Site) storeNames() []string {
	var names []string
	for name := range s.Stores {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
