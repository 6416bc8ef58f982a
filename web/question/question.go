// Package question answers what people ask in their own words: recipes with
// parameters, and statements that only read. Pages and API ask through the same Asker,
// so that both together ask the stores no more at once than these bear.
package question

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

const (
	// Rows is how many rows of an answer are given at most.
	Rows = 500
	// RecipeTime is how long the answer to a recipe may take.
	RecipeTime = 20 * time.Second
	// StatementTime is how long that to a statement may.
	StatementTime = time.Minute
	// MaxStatement bounds a statement, in bytes.
	MaxStatement = 64 << 10
	// atOnce is how many questions and statements are answered at once.
	atOnce = 4
)

// History is the history's database, for questions with parameters. It is nil where
// there is none.
type History func(parameters map[string]string, timeout time.Duration) report.ClickHouse

// Stores are those that statements of people may ask, by name: tracker, warehouse,
// history.
type Stores map[string]func(timeout time.Duration) report.Store

// ErrBusy says that as many questions are being answered as may be at once.
var ErrBusy = errors.New("as many questions are being answered as may be at once: ask again in a moment")

// ErrNoHistory says that there is nobody to ask about the past.
var ErrNoHistory = errors.New("this server doesn't reach the history (ClickHouse)")

// ErrNoStore says that there is no such store to ask here.
var ErrNoStore = errors.New("this server doesn't reach that store")

// RefusedError says that what was asked can't be answered as it was asked.
type RefusedError struct{ Err error }

func (r *RefusedError) Error() string { return r.Err.Error() }
func (r *RefusedError) Unwrap() error { return r.Err }

// Asker asks the stores. It is safe for concurrent use.
type Asker struct {
	history History
	stores  Stores
	now     func() time.Time
	recipes []recipes.Recipe
	asking  chan struct{} // held while a question is answered
}

// New makes an asker.
func New(history History, stores Stores, now func() time.Time) (*Asker, error) {
	all, err := recipes.All()
	return &Asker{history: history, stores: stores, now: now, recipes: all, asking: make(chan struct{}, atOnce)}, err
}

// Recipes are the questions about the history, by name.
func (a *Asker) Recipes() []recipes.Recipe { return a.recipes }

// Find returns the recipe with a name; one that there isn't is a report.ErrNotFound.
func (a *Asker) Find(name string) (recipes.Recipe, error) {
	r, err := recipe.Find(a.recipes, name)
	if err != nil {
		err = fmt.Errorf("%w: %w", report.ErrNotFound, err)
	}
	return r, err
}

// Stores are the names of the stores that statements may ask, sorted.
func (a *Asker) Stores() []string {
	var names []string
	for name := range a.stores {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Recipe answers a recipe, with what a query gives for its parameters.
func (a *Asker) Recipe(ctx context.Context, r recipes.Recipe, query url.Values) (answer report.Answer, err error) {
	err = a.History(ctx, r, query, func(store report.ClickHouse) error {
		answer, err = report.Ask(ctx, store, r.Statement, Rows)
		return err
	})
	return answer, err
}

// Values are those of a recipe's parameters for which a query gives what people write. What
// can't be is a RefusedError.
func (a *Asker) Values(r recipes.Recipe, query url.Values) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range r.Parameters {
		if v := query.Get(p.Name); v != "" {
			given[p.Name] = v
		}
	}
	values, err := recipe.Values(r, given, a.now())
	if err != nil {
		return nil, &RefusedError{err}
	}
	return values, nil
}

// History gives a recipe's store with what a query gives for its parameters. A
// parameter that can't be is a RefusedError, a centre or source that is not known a
// report.UnknownError.
func (a *Asker) History(ctx context.Context, r recipes.Recipe, query url.Values, fn func(report.ClickHouse) error) error {
	values, err := a.Values(r, query)
	if err != nil {
		return err
	}
	given := func(name string) string {
		if _, has := r.Parameter(name); !has {
			return ""
		}
		return query.Get(name)
	}
	return a.One(ctx, func() error {
		if a.history == nil {
			return ErrNoHistory
		}
		store := a.history(values, RecipeTime)
		if err := store.Known(ctx, given("centre"), given("source")); err != nil {
			return err
		}
		return fn(store)
	})
}

// Statement answers a statement on a store. One that the store refuses, or that would
// write, is a RefusedError.
func (a *Asker) Statement(ctx context.Context, store, statement string) (answer report.Answer, err error) {
	asked, ok := a.stores[store]
	if !ok {
		return answer, ErrNoStore
	}
	err = a.One(ctx, func() error {
		answer, err = report.Ask(ctx, asked(StatementTime), statement, Rows)
		return err
	})
	return answer, refusedBy(ctx, err)
}

// One lets no more questions be answered at once than the stores bear.
func (a *Asker) One(ctx context.Context, fn func() error) error {
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
		return fn()
	case <-ctx.Done():
		return ErrBusy
	}
}
