package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
	"tributary/web/past"
	"tributary/web/question"
)

// Recipe is a question about the history.
type Recipe struct {
	Name       string            `json:"name"`
	Question   string            `json:"question"`
	Counts     string            `json:"counts" doc:"what counts, and how often"`
	Parameters []RecipeParameter `json:"parameters"`
	Columns    []RecipeColumn    `json:"columns"`
	Statement  string            `json:"statement" doc:"that answers it, as ClickHouse takes it"`
}

// RecipeParameter is what a recipe can be given.
type RecipeParameter struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind" doc:"moment, text, number, duration or choice"`
	Choices []string `json:"choices,omitempty"`
	Default string   `json:"default" doc:"empty for moments and texts: everything"`
	Meaning string   `json:"meaning"`
}

// RecipeColumn is a column of a recipe's answer.
type RecipeColumn struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// asked is a recipe, and what is given for parameters. Package recipe reads them, as it
// does for pages: here they are only described. Each recipe has some of them.
type asked struct {
	Momentary
	Recipe string `path:"recipe" maxLength:"100" doc:"its name"`
	Since  string `query:"since" doc:"RFC 3339, a date, or how long ago, such as 7d"`
	Until  string `query:"until" doc:"written as since"`
	Centre string `query:"centre"`
	Source string `query:"source"`
	Phase  string `query:"phase"`
	By     string `query:"by"`
	Of     string `query:"of"`
	Every  string `query:"every" doc:"a duration, such as 1h"`
	Limit  string `query:"limit"`

	query url.Values
}

// Resolve keeps the address as it was asked.
func (q *asked) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	q.query = address.Query()
	q.query.Del(asOf) // which no recipe has
	return nil
}

// questions registers recipes and statements.
func (a *API) questions() {
	get(a, "/recipes", "listRecipes", "The questions about the history that are asked most, and their parameters", func(context.Context, *nothing) ([]Recipe, error) {
		if a.deps.Asker == nil {
			return nil, notHere()
		}
		out := []Recipe{}
		for _, r := range a.deps.Asker.Recipes() {
			out = append(out, newRecipe(r))
		}
		return out, nil
	})
	getEver(a, "/recipes/{recipe}", "askRecipe", "The answer to a question about the history, its first 500 rows; of a moment, of what was told up to then", func(ctx context.Context, in *asked) (report.Answer, error) {
		return a.recipe(ctx, in, in.query)
	}, func(ctx context.Context, at time.Time, in *asked) (report.Answer, asof.Filled, error) {
		f, err := a.deps.Past.Filled(ctx, at)
		if err != nil {
			return report.Answer{}, f, err
		}
		answer, err := a.recipe(ctx, in, past.UpTo(in.query, at))
		return answer, f, err
	})
	type statement struct {
		Body struct {
			Store     string `json:"store" enum:"tracker,warehouse,history"`
			Statement string `json:"statement" minLength:"1" maxLength:"65536"`
		}
	}
	register(a, http.MethodPost, question.StatementTime, "/sql", "askSQL", "The answer to a statement that only reads, its first 500 rows", func(ctx context.Context, in *statement) (report.Answer, error) {
		if a.deps.Asker == nil {
			return report.Answer{}, notHere()
		}
		answer, err := a.deps.Asker.Statement(ctx, in.Body.Store, in.Body.Statement)
		return answer, refused("bad_statement", err)
	})
}

// recipe answers a recipe, with what is given for its parameters.
func (a *API) recipe(ctx context.Context, in *asked, given url.Values) (report.Answer, error) {
	if a.deps.Asker == nil {
		return report.Answer{}, notHere()
	}
	r, err := a.find(in.Recipe, in.query)
	if err != nil {
		return report.Answer{}, err
	}
	answer, err := a.deps.Asker.Recipe(ctx, r, given)
	return answer, refused("bad_parameter", err)
}

// find is the recipe of a name, which has the parameters that are given.
func (a *API) find(name string, given url.Values) (recipes.Recipe, error) {
	r, err := a.deps.Asker.Find(name)
	if err != nil {
		return r, notFound("recipe", fmt.Sprintf("There is no recipe %q.", name))
	}
	for parameter := range given {
		if _, has := r.Parameter(parameter); !has {
			return r, &refusal{"bad_parameter", http.StatusBadRequest, fmt.Sprintf("%s has no parameter %s.", r.Name, parameter)}
		}
	}
	return r, nil
}

// refused names what was wrong with a question.
func refused(name string, err error) error {
	var bad *question.RefusedError
	switch {
	case errors.As(err, &bad):
		return &refusal{name, http.StatusBadRequest, bad.Error()}
	case errors.Is(err, question.ErrBusy):
		return &refusal{"busy", http.StatusServiceUnavailable, err.Error()}
	case errors.Is(err, question.ErrNoHistory), errors.Is(err, question.ErrNoStore):
		return &refusal{"not_here", http.StatusServiceUnavailable, err.Error()}
	}
	return err
}

func newRecipe(r recipes.Recipe) Recipe {
	out := Recipe{Name: r.Name, Question: r.Question, Counts: r.Counts, Statement: r.Statement, Parameters: []RecipeParameter{}, Columns: []RecipeColumn{}}
	for _, p := range r.Parameters {
		out.Parameters = append(out.Parameters, RecipeParameter(p))
	}
	for _, c := range r.Columns {
		out.Columns = append(out.Columns, RecipeColumn(c))
	}
	return out
}
