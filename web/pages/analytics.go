package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tributary/queries/plot"
	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
	"tributary/web/filter"
	"tributary/web/keep"
	"tributary/web/past"
)

// maxDrawn is how many bytes an answer may have that is drawn.
const maxDrawn = 8 << 20

// analytics are the questions that people ask the history most, and one of them.
type analytics struct {
	All      []recipes.Recipe
	Recipe   recipes.Recipe
	Given    []given
	Drawn    string // the address of the picture
	Sheet    string // that of the whole answer, as CSV
	Answer   report.Answer
	Change   string // where its statement can be changed; empty: nowhere here
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
	return page{Title: "Analytics", At: "/analytics", Template: "analytics", Data: analytics{All: s.asker.Recipes()}, Command: "tributary report"}, nil
}

func (s *Site) recipe(ctx context.Context, r *http.Request) (page, error) {
	d := analytics{All: s.asker.Recipes()}
	var err error
	if d.Recipe, err = s.asker.Find(r.PathValue("recipe")); err != nil {
		return page{}, err
	}
	d.Drawable = d.Recipe.Plot != nil
	query := s.upToThen(r.URL.Query())
	var drawn []string
	command := "tributary report " + d.Recipe.Name
	for _, p := range d.Recipe.Parameters {
		d.Given = append(d.Given, given{p, r.URL.Query().Get(p.Name)})
		value := query.Get(p.Name)
		drawn = append(drawn, p.Name, value)
		if value != "" {
			command += " --" + p.Name + " " + filter.Quoted(value)
		}
	}
	d.Drawn = s.to("/analytics/"+d.Recipe.Name+"/chart.svg", drawn...)
	d.Sheet = s.to("/analytics/"+d.Recipe.Name+"/answer.csv", drawn...)
	if s.Stores["history"] != nil {
		if values, err := s.asker.Values(d.Recipe, query); err == nil { // else the answer says what is wrong
			d.Change = s.to("/sql", "store", "history", "statement", recipe.Written(d.Recipe, values))
		}
	}
	began := time.Now()
	d.Answer, err = s.asker.Recipe(ctx, d.Recipe, query)
	if d.Took = time.Since(began); err != nil {
		d.Wrong = err.Error()
	}
	return page{Title: d.Recipe.Name, At: "/analytics", Template: "analytics", Data: d, Command: command, Keep: s.keep(keep.Recipe, d.Recipe.Name, r.URL.Query().Encode())}, nil
}

// chart draws a recipe's answer.
func (s *Site) chart(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	picture, err := s.draw(ctx, r)
	if err != nil {
		status, moment := http.StatusNotFound, (*past.Problem)(nil)
		if errors.As(err, &moment) {
			status = moment.Status
		}
		http.Error(w, shown(err.Error()), status)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	// A picture's own styles count in it, wherever it is opened; nothing else does.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox")
	_, _ = w.Write(picture) // the client may be gone, which is its affair
}

func (s *Site) draw(ctx context.Context, r *http.Request) ([]byte, error) {
	which, err := s.asker.Find(r.PathValue("recipe"))
	if err != nil {
		return nil, err
	}
	if which.Plot == nil {
		return nil, fmt.Errorf("%s is a list, which no picture tells better", which.Name)
	}
	query, err := s.untilMoment(r)
	if err != nil {
		return nil, err
	}
	answer := &bounded{most: maxDrawn}
	if err := s.asker.History(ctx, which, query, func(store report.ClickHouse) error {
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

// untilMoment is what an address gives for a recipe's parameters: up to its moment, if it
// has one.
func (s *Site) untilMoment(r *http.Request) (url.Values, error) {
	query := r.URL.Query()
	given := query.Get(asOf)
	if given == "" && !query.Has(slider) {
		return query, nil
	}
	at, err := past.Moment(asOf, given, s.Now())
	if err != nil {
		return nil, err
	}
	return past.UpTo(query, at), nil
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
