package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tributary/queries/report"
	"tributary/web/question"
)

const (
	// heldBack is how much of an answer is held back, in bytes: what goes wrong before more
	// has come is told as a problem.
	heldBack = 128 << 10
	// maxExport bounds the rows of one answer, in bytes.
	maxExport = 1 << 30
	// pieceTime is how long who reads them may take for a piece.
	pieceTime = 30 * time.Second
)

// errExport says that an answer is longer than any may be.
var errExport = fmt.Errorf("the answer is longer than %d MiB: ask for less", maxExport>>20)

// Written says how rows are written. It is exported so that the library finds it within
// other structs.
type Written struct {
	Format         string `json:"format" enum:"table,json,csv,parquet,arrow" doc:"json: an object a line; arrow: a file of Arrow's IPC; table: for people"`
	EscapeFormulas bool   `json:"escape_formulas,omitempty" doc:"in csv, an apostrophe before cells that a spreadsheet would run as formulas"`
}

func (w Written) format() string {
	if w.EscapeFormulas && w.Format == report.CSV {
		return report.EscapedCSV
	}
	return w.Format
}

// statementExport is a statement whose rows are wanted.
type statementExport struct {
	Body struct {
		Written

		Store     string `json:"store" enum:"tracker,warehouse,history"`
		Statement string `json:"statement" minLength:"1" maxLength:"65536"`
	}
}

// recipeExport is a recipe whose rows are wanted.
type recipeExport struct {
	Recipe string `path:"recipe" maxLength:"100" doc:"its name"`
	Body   struct {
		Written

		Parameters map[string]string `json:"parameters,omitempty" maxProperties:"20" doc:"values of its parameters, by their names"`
	}
}

// exports registers how all rows of an answer are had.
func (a *API) exports() {
	export(a, "/sql/export", "exportSQL", "All rows of a statement that only reads, as they come", func(ctx context.Context, in *statementExport, w io.Writer) error {
		return refused("bad_statement", a.deps.Asker.Write(ctx, in.Body.Store, in.Body.Statement, w, in.Body.format()))
	})
	export(a, "/recipes/{recipe}/export", "exportRecipe", "All rows of the answer to a question about the history, as they come", func(ctx context.Context, in *recipeExport, w io.Writer) error {
		given := url.Values{}
		for name, value := range in.Body.Parameters {
			given.Set(name, value)
		}
		r, err := a.find(in.Recipe, given)
		if err != nil {
			return err
		}
		return refused("bad_parameter", a.deps.Asker.WriteRecipe(ctx, r, given, w, in.Body.format()))
	})
}

// export registers an operation that answers with rows.
func export[In any](a *API, path, id, summary string, write func(ctx context.Context, in *In, w io.Writer) error) {
	operation := sending(reading(path, id, summary))
	operation.Description = "The rows are a file of the format that is asked for: at most 1 GiB, within a minute. An answer that breaks off is not whole."
	operation.Responses = map[string]*huma.Response{"200": {Description: "Rows", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}
	huma.Register(a.huma, operation, func(ctx context.Context, in *In) (*huma.StreamResponse, error) {
		if a.deps.Asker == nil {
			return nil, a.problem(id, notHere())
		}
		return &huma.StreamResponse{Body: func(to huma.Context) {
			ctx, cancel := context.WithTimeout(ctx, question.StatementTime)
			defer cancel()
			_, w := humago.Unwrap(to)
			out := &exported{to: w}
			err := write(ctx, in, out)
			switch {
			case err == nil:
				err = out.begin()
			case !out.begun:
				a.refuse(w, err)
				return
			}
			if err != nil {
				a.deps.Log.Warn("rows were not written to their end", "operation", id, "error", err)
				panic(http.ErrAbortHandler) // who reads them sees that they are not whole
			}
		}}, nil
	})
}

// exported holds back the beginning of an answer.
type exported struct {
	to    http.ResponseWriter
	held  []byte
	begun bool
	sent  int64
}

func (e *exported) Write(p []byte) (int, error) {
	if e.sent += int64(len(p)); e.sent > maxExport {
		return 0, errExport
	}
	if !e.begun {
		if e.held = append(e.held, p...); len(e.held) <= heldBack {
			return len(p), nil
		}
		return len(p), e.begin()
	}
	return e.piece(p)
}

// begin passes on what is held back.
func (e *exported) begin() error {
	if e.begun {
		return nil
	}
	e.begun = true
	e.to.Header().Set("Content-Type", "application/octet-stream")
	e.to.WriteHeader(http.StatusOK)
	_, err := e.piece(e.held)
	e.held = nil
	return err
}

func (e *exported) piece(p []byte) (int, error) {
	bound := http.NewResponseController(e.to)
	if err := bound.SetWriteDeadline(time.Now().Add(pieceTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := e.to.Write(p)
	if err == nil {
		if err = bound.SetWriteDeadline(time.Time{}); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}
