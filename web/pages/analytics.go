package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tributary/queries/plot"
	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
	"tributary/web/filter"
)

const (
	// answerRows is how many rows of an answer a page shows.
	answerRows = 500
	// maxDrawn is how many bytes an answer may have that is drawn.
	maxDrawn = 8 << 20
)

// History is the history's database, for questions with parameters. It is nil where a
// site has none.
type History func(parameters map[string]string, timeout time.Duration) report.ClickHouse

// errBusy says that as many questions are being answered as may be at once.
var errBusy = errors.New("as many questions are being answered as may be at once: ask again in a moment")

// errNoHistory says that there is nobody to ask about the past.
var errNoHistory = errors.New("this server doesn't reach the history (ClickHouse)")

// analytics are the questions that people ask the history most, and one of them.
type analytics struct {
	All      []recipes.Recipe
	Recipe   recipes.Recipe
	Given    []given
	Query    string // the parameters, as an address has them
	Answer   report.Answer
	Took     time.Duration
	Drawable bool
	Wrong    string // why it is not answered: what was given, or a store that is away
}

// given is a parameter and what was given for it.
type given struct {
	recipes.Parameter
	Value string
}

func (s *Site) allRecipes(_ context.Context, _ *http.Request) (page, error) {
	return page{Title: "Analytics", At: "/analytics", Template: "analytics", Data: analytics{All: s.recipes}, Command: "tributary report"}, nil
}

func (s *Site) recipe(ctx context.Context, r *http.Request) (page, error) {
	d := analytics{All: s.recipes}
	var err error
	if d.Recipe, err = recipe.Find(s.recipes, r.PathValue("recipe")); err != nil {
		return page{}, fmt.Errorf("%w: %w", report.ErrNotFound, err)
	}
	d.Drawable, d.Query = d.Recipe.Plot != nil, r.URL.RawQuery
	command := "tributary report " + d.Recipe.Name
	for _, p := range d.Recipe.Parameters {
		value := r.URL.Query().Get(p.Name)
		d.Given = append(d.Given, given{p, value})
		if value != "" {
			command += " --" + p.Name + " " + filter.Quoted(value)
		}
	}
	began := time.Now()
	err = s.ask(ctx, d.Recipe, r, func(store report.ClickHouse) error {
		d.Answer, err = report.Ask(ctx, store, d.Recipe.Statement, answerRows)
		return err
	})
	if d.Took = time.Since(began); err != nil {
		d.Wrong = err.Error()
	}
	return page{Title: d.Recipe.Name, At: "/analytics", Template: "analytics", Data: d, Command: command}, nil
}

// ask gives a recipe's store with what the address gives for its parameters.
func (s *Site) ask(ctx context.Context, r recipes.Recipe, asked *http.Request, fn func(report.ClickHouse) error) error {
	given := map[string]string{}
	for _, p := range r.Parameters {
		if v := asked.URL.Query().Get(p.Name); v != "" {
			given[p.Name] = v
		}
	}
	return s.askWith(ctx, r, given, fn)
}

// askWith gives a recipe's store with what is given for its parameters.
func (s *Site) askWith(ctx context.Context, r recipes.Recipe, given map[string]string, fn func(report.ClickHouse) error) error {
	values, err := recipe.Values(r, given, s.Now())
	if err != nil {
		return err
	}
	return s.atOnce(ctx, func() error {
		if s.History == nil {
			return errNoHistory
		}
		store := s.History(values, timeout)
		if err := store.Known(ctx, given["centre"], given["source"]); err != nil {
			return err
		}
		return fn(store)
	})
}

// atOnce lets no more questions be answered at once than the stores bear.
func (s *Site) atOnce(ctx context.Context, fn func() error) error {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
		return fn()
	case <-ctx.Done():
		return errBusy
	}
}

// chart draws a recipe's answer.
func (s *Site) chart(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	picture, err := s.draw(ctx, r)
	if err != nil {
		http.Error(w, shown(err.Error()), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	// A picture's own styles count in it, wherever it is opened; nothing else does.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox")
	_, _ = w.Write(picture) // the client may be gone, which is its affair
}

func (s *Site) draw(ctx context.Context, r *http.Request) ([]byte, error) {
	which, err := recipe.Find(s.recipes, r.PathValue("recipe"))
	if err != nil {
		return nil, err
	}
	if which.Plot == nil {
		return nil, fmt.Errorf("%s is a list, which no picture tells better", which.Name)
	}
	answer := &bounded{most: maxDrawn}
	if err := s.ask(ctx, which, r, func(store report.ClickHouse) error {
		return report.SQL(ctx, store, which.Statement, answer, report.JSON)
	}); err != nil {
		return nil, err
	}
	figure, err := recipe.Figure(which, answer.Bytes())
	if err != nil {
		return nil, err
	}
	if figure.Empty() {
		return nil, errors.New("there is nothing to draw")
	}
	var b bytes.Buffer
	format, err := plot.Format("chart.svg")
	if err != nil {
		return nil, err
	}
	err = figure.Write(&b, format)
	return b.Bytes(), err
}

// bounded keeps so many bytes, and refuses more.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("the answer is larger than %s: ask for less, such as a shorter time: %w", size(int64(b.most)), io.ErrShortWrite)
	}
	return b.Buffer.Write(p)
}
