package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/keep"
	"tributary/web/question"
)

// KeptQuestion is a question that a person has given a name.
type KeptQuestion struct {
	Number  int64     `json:"number" doc:"by which addresses name it"`
	Name    string    `json:"name"`
	Kind    string    `json:"kind" doc:"files, documents, recipe or sql"`
	About   string    `json:"about" doc:"a recipe's name, or the store of a statement; empty for lists"`
	Asks    string    `json:"asks" doc:"filters or parameters, as an address has them; or a statement"`
	KeptAt  time.Time `json:"kept_at"`
	Command string    `json:"command" doc:"that asks the same; empty: none does any more"`
}

type oneKept struct {
	Number int64 `path:"number" minimum:"1" doc:"of one of your questions"`
}

// kept registers what is asked about files that changed lately, and the questions of who
// asks.
func (a *API) kept() {
	type since struct {
		Since string `query:"since" required:"true" maxLength:"100" doc:"RFC 3339, a date, or how long ago, such as 7d"`
	}
	get(a, "/changed", "countChanged", "What has changed since a moment, in numbers: of the 10,000 files that changed last", func(ctx context.Context, in *since) (report.News, error) {
		at, err := asof.ParseMoment(in.Since, a.deps.Now())
		if err == nil {
			err = readable(at)
		}
		if err != nil {
			return report.News{}, &report.FilterError{Filter: "since", Value: in.Since, Want: "write a moment as " + asof.Moments}
		}
		return report.ReadNews(ctx, a.deps.Tracker, at)
	})
	get(a, "/questions", "listQuestions", "The questions that you keep, by name", func(ctx context.Context, _ *nothing) ([]KeptQuestion, error) {
		if a.deps.Control == nil {
			return nil, notHere()
		}
		all, err := a.shelf().All(ctx, access.From(ctx).Name)
		out := []KeptQuestion{}
		for _, k := range all {
			out = append(out, a.newKept(k))
		}
		return out, err
	})
	type question struct {
		Body struct {
			Name  string `json:"name" minLength:"1" maxLength:"100"`
			Kind  string `json:"kind" enum:"files,documents,recipe,sql"`
			About string `json:"about,omitempty" maxLength:"100" doc:"a recipe's name, or the store of a statement"`
			Asks  string `json:"asks" maxLength:"16384" doc:"filters or parameters, as an address has them; or a statement"`
		}
	}
	keeping(a, "/questions", "keepQuestion", "Keep a question under a name, 50 at most", func(ctx context.Context, who string, in *question) (KeptQuestion, error) {
		k, err := a.shelf().Keep(ctx, who, control.KeptQuestion{Name: in.Body.Name, Kind: in.Body.Kind, About: in.Body.About, Asks: in.Body.Asks})
		return a.newKept(k), err
	})
	type renamed struct {
		Number int64 `path:"number" minimum:"1" doc:"of one of your questions"`
		Body   struct {
			Name string `json:"name" minLength:"1" maxLength:"100"`
		}
	}
	keeping(a, "/questions/{number}/rename", "renameQuestion", "Give a question that you keep another name", func(ctx context.Context, who string, in *renamed) (KeptQuestion, error) {
		if err := a.shelf().Rename(ctx, who, in.Number, in.Body.Name); err != nil {
			return KeptQuestion{}, err
		}
		k, err := a.shelf().Find(ctx, who, in.Number)
		return a.newKept(k), err
	})
	keeping(a, "/questions/{number}/delete", "deleteQuestion", "Forget a question that you keep", func(ctx context.Context, who string, in *oneKept) (KeptQuestion, error) {
		k, err := a.shelf().Find(ctx, who, in.Number)
		if err == nil {
			err = a.shelf().Delete(ctx, who, in.Number)
		}
		return a.newKept(k), err
	})
	a.answersKept()
}

// answersKept registers how a question that is kept is asked.
func (a *API) answersKept() {
	keeping(a, "/questions/{number}/ask", "askQuestion", "Ask a question that you keep: the first page of a list, or the first 500 rows", func(ctx context.Context, who string, in *oneKept) (keep.Answer, error) {
		k, err := a.shelf().Find(ctx, who, in.Number)
		if err != nil {
			return keep.Answer{}, err
		}
		if k.Kind == keep.SQL || k.Kind == keep.Recipe {
			out, err := a.shelf().Ask(ctx, a.deps.Tracker, k)
			return out, refused("bad_"+map[string]string{keep.SQL: "statement", keep.Recipe: "parameter"}[k.Kind], err)
		}
		return a.shelf().Ask(ctx, a.deps.Tracker, k)
	})
}

func (a *API) shelf() keep.Shelf {
	return keep.Shelf{Control: a.deps.Control, Asker: a.deps.Asker, Now: a.deps.Now}
}

func (a *API) newKept(k control.KeptQuestion) KeptQuestion {
	return KeptQuestion{Number: k.Number, Name: k.Name, Kind: k.Kind, About: k.About, Asks: k.Asks, KeptAt: k.KeptAt, Command: keep.Command(k, a.deps.Now())}
}

// keeping registers an operation about what who asks keeps, which is sent.
func keeping[In, Out any](a *API, path, id, summary string, do func(ctx context.Context, who string, in *In) (Out, error)) {
	operation := sending(reading(path, id, summary))
	operation.Errors = append(operation.Errors, http.StatusConflict)
	huma.Register(a.huma, operation, func(ctx context.Context, in *In) (*struct{ Body Out }, error) {
		ctx, cancel := context.WithTimeout(ctx, question.StatementTime)
		defer cancel()
		if a.deps.Control == nil || a.deps.Asker == nil {
			return nil, a.problem(id, notHere())
		}
		out, err := do(ctx, access.From(ctx).Name, in)
		switch {
		case errors.Is(err, keep.ErrNone):
			err = notFound("question", "You keep no such question.")
		case errors.Is(err, control.ErrQuestionName):
			err = &refusal{"question_name_used", http.StatusConflict, err.Error()}
		case errors.Is(err, control.ErrQuestionsFull):
			err = &refusal{"questions_full", http.StatusConflict, err.Error()}
		case keep.Refused(err):
			err = &refusal{"bad_question", http.StatusBadRequest, err.Error()}
		}
		if err != nil {
			return nil, a.problem(id, err)
		}
		return &struct{ Body Out }{out}, nil
	})
}
