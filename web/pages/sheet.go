package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/filter"
	"tributary/web/question"
)

const (
	// mostRows is how many rows of a list a spreadsheet gets, and mostSheet how many bytes.
	mostRows  = 10_000
	mostSheet = 16 << 20
	// sheetErrors is how many errors of a document a centre's spreadsheet has.
	sheetErrors = 20
)

// writing writes rows that are asked for as CSV.
type writing func(ctx context.Context, r *http.Request, out io.Writer) error

// sheet hands out rows as CSV that a spreadsheet opens without running anything, whole or
// not at all.
func (s *Site) sheet(write writing) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.handSheet(w, r, write); err != nil {
			s.answer(w, r, page{}, http.StatusOK, err, "")
		}
	})
}

func (s *Site) handSheet(w http.ResponseWriter, r *http.Request, write writing) error {
	ctx, cancel := context.WithTimeout(r.Context(), question.StatementTime)
	defer cancel()
	b := &bounded{most: mostSheet}
	err := write(ctx, r, b)
	var refused *question.RefusedError
	if errors.As(err, &refused) || errors.Is(err, io.ErrShortWrite) {
		err = fmt.Errorf("%w: %w", errBadFilter, err)
	}
	if err != nil {
		return err
	}
	path := r.URL.Path
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	if recipe := r.PathValue("recipe"); recipe != "" {
		name = recipe
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(name + "." + s.Now().UTC().Format("2006-01-02T150405Z") + ".csv")}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // the client may be gone, which is its affair
	return nil
}

// writeRows writes a list, each row as its cells.
func writeRows[T interface{ Cells() []string }](out io.Writer, header []string, list func(func(T) error) error) error {
	o, err := report.NewOutput(out, report.EscapedCSV, header...)
	if err != nil {
		return err
	}
	err = list(func(row T) error { return o.Row(row, row.Cells()...) })
	return errors.Join(err, o.Close())
}

// sheetFilter is the filter of a list as its address has it, from its first row on.
func (s *Site) sheetFilter(r *http.Request) (report.Filter, error) {
	f, err := filter.Parse(r.URL.Query(), s.Now())
	if f.Sort == "" && f.Contains == "" {
		f.Sort = report.Newest
	}
	f.After, f.Limit = "", mostRows
	return f, err
}

// sheetOf is the address of a list's spreadsheet; empty of the past, which has none.
func (s *Site) sheetOf(path string, query url.Values) string {
	if s.then != nil {
		return ""
	}
	return s.with(path, query, "", "")
}

// filesSheet is the list of files, as one of the questions that are answered at once.
func (s *Site) filesSheet(ctx context.Context, r *http.Request, out io.Writer) error {
	f, err := s.sheetFilter(r)
	if err != nil {
		return err
	}
	return s.asker.One(ctx, func() error {
		return writeRows(out, report.FileHeader(), func(each func(report.File) error) error { return report.Files(ctx, s.Tracker, f, each) })
	})
}

// sheetDocument is a document of which only the first error was read, and all were counted.
type sheetDocument struct{ report.Document }

// Cells are the row as report.DocumentHeader orders it.
func (d sheetDocument) Cells() []string {
	cells := d.Document.Cells()
	cells[slices.Index(report.DocumentHeader(), "errors")] = strconv.Itoa(d.ErrorsTotal)
	return cells
}

// documentsSheet is the list of documents.
func (s *Site) documentsSheet(ctx context.Context, r *http.Request, out io.Writer) error {
	f, err := s.sheetFilter(r)
	if err != nil {
		return err
	}
	f.Errors = 1
	return s.asker.One(ctx, func() error {
		return writeRows(out, report.DocumentHeader(), func(each func(sheetDocument) error) error {
			return report.Documents(ctx, s.Tracker, f, func(d report.Document) error { return each(sheetDocument{d}) })
		})
	})
}

// recipeSheet is the whole answer to a recipe.
func (s *Site) recipeSheet(ctx context.Context, r *http.Request, out io.Writer) error {
	which, err := s.asker.Find(r.PathValue("recipe"))
	if err != nil {
		return err
	}
	query, err := s.untilMoment(r)
	if err != nil {
		return err
	}
	return s.asker.WriteRecipe(ctx, which, query, out, report.EscapedCSV)
}

// ownError is an error of a document, or of a file, as a centre's spreadsheet has it.
type ownError struct {
	Action, File, Document string
	Phase, Status          string

	error report.Error
}

// Cells are the row as ownHeader orders it.
func (e ownError) Cells() []string {
	place := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	name := e.error.Exception
	_, do := own.Words(name, "", own.MoveOf(name))
	return []string{e.Action, e.File, e.Document, standing(e.Phase, e.Status, &name).Stands, place(e.error.Line), place(e.error.Column), text(e.error.Message), do, name}
}

func ownHeader() []string {
	return []string{"action", "file", "document", "how it stands", "line", "column", "what is wrong", "what to do", "its name"}
}

// ownSheet hands out what is wrong with a centre's files and documents, a row for each error.
func (s *Site) ownSheet(w http.ResponseWriter, r *http.Request) {
	at, err := s.ownOf(r)
	if err == nil {
		err = s.handSheet(w, r, at.errorsSheet)
	}
	if err != nil {
		s.own(func(context.Context, ownAt, *http.Request) (ownPage, error) { return ownPage{}, err }).ServeHTTP(w, r)
	}
}

// errorsSheet is what has failed of what a list of the centre's documents shows.
func (at ownAt) errorsSheet(ctx context.Context, r *http.Request, out io.Writer) error {
	_, f, err := at.list(r, "/documents")
	if err != nil {
		return err
	}
	f.After, f.Limit, f.Errors, f.Status = "", report.MaxPage, sheetErrors, string(schemas.Failed)
	rows := 0
	return at.site.asker.One(ctx, func() error {
		return writeRows(out, ownHeader(), func(each func(ownError) error) error {
			bounded := func(e ownError) error {
				if rows++; rows > mostRows {
					return errFull
				}
				return each(e)
			}
			err := at.failedFiles(ctx, f, bounded)
			if err == nil {
				err = at.errors(ctx, f, bounded)
			}
			if errors.Is(err, errFull) {
				return nil
			}
			return err
		})
	})
}

// errFull says that a spreadsheet has as many rows as one gets.
var errFull = errors.New("the spreadsheet is full")

// failedFiles calls each with the files that have failed before they had documents.
func (at ownAt) failedFiles(ctx context.Context, f report.Filter, each func(ownError) error) error {
	return eachRow(ctx, f, at.Files, func(x report.File) error {
		if schemas.Phase(x.Phase).ID() > schemas.Unzip.ID() {
			return nil
		}
		return each(ownError{x.Action, x.File, "", x.Phase, x.Status, report.Error{Exception: text(x.Exception), Message: x.Message}})
	})
}

// errors calls each with the errors of documents.
func (at ownAt) errors(ctx context.Context, f report.Filter, each func(ownError) error) error {
	return eachRow(ctx, f, at.Documents, func(d report.Document) error {
		for _, e := range d.Errors {
			if err := each(ownError{d.Action, d.File, d.Document, d.Phase, d.Status, e}); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachRow calls each with the rows of a list's first pages, mostRows in all.
func eachRow[T any](ctx context.Context, f report.Filter, list func(context.Context, report.Filter) (report.Page[T], error), each func(T) error) error {
	for n := 0; n < mostRows; n += f.Limit {
		p, err := list(ctx, f)
		if err != nil {
			return err
		}
		for _, row := range p.Rows {
			if err := each(row); err != nil {
				return err
			}
		}
		if f.After = p.Next; f.After == "" {
			return nil
		}
	}
	return nil
}
