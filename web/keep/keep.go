// Package keep gives questions that a person asks again and again a name: filters of
// lists, recipes with their parameters, statements that only read. Pages and API keep
// and ask the same ones.
package keep

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/filter"
	"tributary/web/question"
)

// Kinds of questions.
const (
	Files     = "files"
	Documents = "documents"
	Recipe    = "recipe"
	SQL       = "sql"
)

const (
	// MaxName is how many characters a name has at most.
	MaxName = 100
	// MaxAsks is how many bytes filters, parameters or a statement have at most.
	MaxAsks = 16 << 10
)

// ErrNone says that who asks keeps no such question.
var ErrNone = errors.New("you keep no such question")

// RefusedError says what is wrong with a question or its name.
type RefusedError struct{ why string }

func (r *RefusedError) Error() string { return r.why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Refused tells whether nothing was kept or renamed because of what was asked.
func Refused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) || errors.Is(err, control.ErrQuestionName) || errors.Is(err, control.ErrQuestionsFull)
}

// Shelf is where questions are kept.
type Shelf struct {
	Control pg.Querier
	Asker   *question.Asker // knows recipes and stores
	Now     func() time.Time
}

// Keep keeps a question for a person, as it is asked in this program's words, and
// returns it. What can't be asked is a RefusedError.
func (s Shelf) Keep(ctx context.Context, person string, k control.KeptQuestion) (control.KeptQuestion, error) {
	var err error
	if k.Name, err = nameOf(k.Name); err != nil {
		return k, err
	}
	if len(k.Asks) > MaxAsks {
		return k, refuse("the question is larger than %d kB, which is the most that is kept", MaxAsks>>10)
	}
	if k.Asks, err = s.asks(k); err != nil {
		return k, err
	}
	if k.Kind == Files || k.Kind == Documents {
		k.About = ""
	}
	k.KeptAt = s.Now()
	k.Number, err = control.KeepQuestion(ctx, s.Control, person, k)
	return k, err
}

// nameOf is a name as it is kept.
func nameOf(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", refuse("the question needs a name")
	case utf8.RuneCountInString(name) > MaxName:
		return "", refuse("the name is longer than %d characters", MaxName)
	case schemas.Clean(name) != name || strings.ContainsAny(name, "\n\t"):
		return "", refuse("the name has characters that nobody sees, or that turn the direction of text")
	}
	return name, nil
}

// asks is what a question asks, without what asks nothing.
func (s Shelf) asks(k control.KeptQuestion) (string, error) {
	if k.Kind == SQL {
		switch {
		case !slices.Contains(s.Asker.Stores(), k.About):
			return "", refuse("there is no store %q here", k.About)
		case strings.TrimSpace(k.Asks) == "":
			return "", refuse("the statement is empty")
		case pg.Text(k.Asks) != k.Asks:
			return "", refuse("the statement has characters that no store takes")
		}
		return k.Asks, nil
	}
	query, err := url.ParseQuery(k.Asks)
	if err != nil {
		return "", refuse("what is asked is no query of an address")
	}
	names := append(filter.Names(), "sort")
	switch k.Kind {
	case Files, Documents:
		if _, err := filter.Parse(query, s.Now()); err != nil {
			return "", refuse("%s", err)
		}
	case Recipe:
		r, err := s.Asker.Find(k.About)
		if err != nil {
			return "", refuse("there is no recipe %q", k.About)
		}
		names = nil
		for _, p := range r.Parameters {
			names = append(names, p.Name)
		}
	default:
		return "", refuse("a question is of the kind files, documents, recipe or sql, and not %q", k.Kind)
	}
	only := url.Values{}
	for _, name := range names {
		v := query.Get(name)
		if pg.Text(v) != v {
			return "", refuse("%s has characters that no store takes", name)
		}
		if v != "" {
			only.Set(name, v)
		}
	}
	return only.Encode(), nil
}

// All are a person's questions, by name.
func (s Shelf) All(ctx context.Context, person string) ([]control.KeptQuestion, error) {
	return control.KeptQuestions(ctx, s.Control, person)
}

// Find is one of a person's; ErrNone where they have none of that number.
func (s Shelf) Find(ctx context.Context, person string, number int64) (control.KeptQuestion, error) {
	k, err := control.ReadKeptQuestion(ctx, s.Control, person, number)
	if err == nil && k == nil {
		err = ErrNone
	}
	if err != nil {
		return control.KeptQuestion{}, err
	}
	return *k, nil
}

// Rename gives one of a person's another name.
func (s Shelf) Rename(ctx context.Context, person string, number int64, name string) error {
	name, err := nameOf(name)
	if err != nil {
		return err
	}
	done, err := control.RenameQuestion(ctx, s.Control, person, number, name)
	if err == nil && !done {
		err = ErrNone
	}
	return err
}

// Delete forgets one of a person's.
func (s Shelf) Delete(ctx context.Context, person string, number int64) error {
	done, err := control.DeleteQuestion(ctx, s.Control, person, number)
	if err == nil && !done {
		err = ErrNone
	}
	return err
}

// Path is the address of a question's answer below the prefix: of pages, and, for lists,
// below that of the API. A statement has none: it is sent.
func Path(k control.KeptQuestion) string {
	var path string
	switch k.Kind {
	case Files, Documents:
		path = "/" + k.Kind
	case Recipe:
		path = "/analytics/" + url.PathEscape(k.About)
	default:
		return ""
	}
	if k.Asks != "" {
		path += "?" + k.Asks
	}
	return path
}

// Command is the command that asks the same; empty where what is kept is nothing that
// this program asks.
func Command(k control.KeptQuestion, now time.Time) string {
	if k.Kind == SQL {
		return "tributary sql --store " + k.About + " " + filter.Quoted(k.Asks)
	}
	query, err := url.ParseQuery(k.Asks)
	if err != nil {
		return ""
	}
	if k.Kind != Recipe {
		f, err := filter.Parse(query, now)
		if err != nil {
			return ""
		}
		return filter.Command(k.Kind, query, f)
	}
	words := []string{"tributary report", k.About}
	for part := range strings.SplitSeq(k.Asks, "&") {
		if name, _, given := strings.Cut(part, "="); given {
			words = append(words, "--"+name, filter.Quoted(query.Get(name)))
		}
	}
	return strings.Join(words, " ")
}

// Answer is what a question is answered: one of the three.
type Answer struct {
	Files     *report.Page[report.File]     `json:"files,omitempty" doc:"of the kind files, the first page"`
	Documents *report.Page[report.Document] `json:"documents,omitempty" doc:"of the kind documents, the first page"`
	Answer    *report.Answer                `json:"answer,omitempty" doc:"of the kinds recipe and sql"`
}

// Ask answers a question: the first page of a list, or the first rows.
func (s Shelf) Ask(ctx context.Context, tracker pg.Querier, k control.KeptQuestion) (a Answer, err error) {
	if k.Kind == SQL {
		answer, err := s.Asker.Statement(ctx, k.About, k.Asks)
		return Answer{Answer: &answer}, err
	}
	query, err := url.ParseQuery(k.Asks)
	if err != nil {
		return a, refuse("what is asked is no query of an address")
	}
	if k.Kind == Recipe {
		r, err := s.Asker.Find(k.About)
		if err != nil {
			return a, refuse("there is no recipe %q any more", k.About)
		}
		answer, err := s.Asker.Recipe(ctx, r, query)
		return Answer{Answer: &answer}, err
	}
	f, err := filter.Parse(query, s.Now())
	if err != nil {
		return a, err
	}
	if k.Kind == Files {
		p, err := report.FilePage(ctx, tracker, f)
		return Answer{Files: &p}, err
	}
	p, err := report.DocumentPage(ctx, tracker, f)
	return Answer{Documents: &p}, err
}
