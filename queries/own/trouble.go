package own

import (
	"cmp"
	"context"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// Trouble is one thing that is wrong with some of the centre's files.
type Trouble struct {
	Exception string         `json:"exception" doc:"its stable name"`
	Title     string         `json:"title" doc:"what is wrong, in plain words"`
	Do        string         `json:"do" doc:"the centre's next step"`
	Move      exception.Move `json:"move" doc:"whose turn it is: centre, us (the data centre) or nobody"`
	Files     int64          `json:"files"`
	Failed    int64          `json:"failed" doc:"of these, those that have ended with it; the others are tried again"`
	Last      time.Time      `json:"last,omitzero" doc:"when something last happened to one of them; absent: not told"`
	Example   *Example       `json:"example,omitempty" doc:"absent: none is looked for"`
}

// Example is one place where something is wrong.
type Example struct {
	Action   string `json:"action"`
	File     string `json:"file"`
	Document string `json:"document,omitempty" doc:"absent: the file itself"`
	Line     *int   `json:"line,omitempty"`
	Says     string `json:"says,omitempty"`
}

// examples is for how many troubles an example is looked for.
const examples = 5

// Troubles are what is wrong with the centre's files now: what it is to correct first,
// and the most frequent of that.
func (v View) Troubles(ctx context.Context) ([]Trouble, error) {
	all, err := report.Failures(ctx, v.Tracker, v.Now, v.Centre)
	if err != nil {
		return nil, err
	}
	var theirs, others []Trouble
	for _, f := range all {
		t := Trouble{Exception: f.Exception, Move: f.Move, Files: f.Files(), Failed: f.Failed, Last: f.Last}
		t.Title, t.Do = Words(f.Exception, f.Happened, f.Move)
		if f.Move == exception.Centre {
			theirs = append(theirs, t)
		} else {
			others = append(others, t)
		}
	}
	for i := range theirs[:min(len(theirs), examples)] {
		if theirs[i].Example, err = v.example(ctx, theirs[i].Exception); err != nil {
			return nil, err
		}
	}
	return append(theirs, others...), nil
}

// Words are the plain words for an exception or a finding: what is wrong, and what the
// centre does. What a check says that it finds is what is wrong.
func Words(name, finds string, move exception.Move) (title, do string) {
	if p, ok := exception.PlainOf(name); ok {
		return p.Title, p.Do
	}
	if move != exception.Centre { // what a newer program gives, or nobody knows any more
		p, _ := exception.PlainOf("unnamed")
		return p.Title, p.Do
	}
	first, _, _ := strings.Cut(finds, ". ")
	return cmp.Or(strings.TrimSuffix(first, "."), "A check of the data finds something"), "Correct it where your export writes it. " + exception.Again
}

// example is the newest place where something is wrong, in a document or else in a file.
func (v View) example(ctx context.Context, name string) (*Example, error) {
	f := report.Filter{Exception: name, Status: string(schemas.Failed), Sort: report.Newest, Limit: 1, Errors: 1}
	documents, err := v.Documents(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(documents.Rows) > 0 {
		d := documents.Rows[0]
		e := Example{Action: d.Action, File: d.File, Document: d.Document}
		if len(d.Errors) > 0 {
			e.Line, e.Says = d.Errors[0].Line, pg.Value(d.Errors[0].Message)
		}
		return &e, nil
	}
	files, err := v.Files(ctx, f)
	if err != nil || len(files.Rows) == 0 {
		return nil, err
	}
	x := files.Rows[0]
	return &Example{Action: x.Action, File: x.File, Says: pg.Value(x.Message)}, nil
}

// Stands says in plain words how a file or a document stands.
func Stands(phase, status, name string) string {
	if schemas.Phase(phase) == schemas.QC {
		switch schemas.Status(status) {
		case schemas.Running:
			return "loaded; the data centre has a question about it"
		case schemas.Cancelled:
			return "loaded, and held back from use"
		}
	}
	switch schemas.Status(status) {
	case schemas.Failed:
		if move := exception.MoveOf(name); move == exception.Us && schemas.Phase(phase).ID() < schemas.Data.ID() {
			return "waits for the data centre"
		} else if move == exception.Nobody {
			return "ended without being loaded"
		}
		return "to correct"
	case schemas.Cancelled:
		return "ended without being loaded"
	}
	switch p := schemas.Phase(phase); {
	case p.ID() >= schemas.Overview.ID() && schemas.Status(status) == schemas.Done:
		return "loaded"
	case p.ID() < schemas.Download.ID():
		return "seen, and to be fetched"
	case p == schemas.Download && schemas.Status(status) == schemas.Pending:
		return "to be fetched"
	case p == schemas.Download && schemas.Status(status) == schemas.Running:
		return "being fetched"
	case p.ID() < schemas.Upload.ID():
		return "being checked"
	}
	return "being loaded"
}
