package own

import (
	"context"
	"time"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas/exception"
)

// Row is a file or a document of the centre in a list, for programs.
type Row struct {
	Action    string     `json:"action"`
	File      string     `json:"file"`
	Document  string     `json:"document,omitempty" doc:"absent: it is a file"`
	Phase     string     `json:"phase"`
	Status    string     `json:"status"`
	Stands    string     `json:"stands" doc:"the same in plain words"`
	Exception string     `json:"exception,omitempty" doc:"what is wrong, by its stable name"`
	Title     string     `json:"title,omitempty" doc:"the same in plain words"`
	Says      string     `json:"says,omitempty"`
	Last      *time.Time `json:"last" doc:"when something last happened to it"`
}

// Problem is one thing that is wrong, in plain words.
type Problem struct {
	Document  string `json:"document,omitempty" doc:"of a file's: in which document; absent: it is the file's own"`
	Line      *int   `json:"line,omitempty"`
	Column    *int   `json:"column,omitempty"`
	Exception string `json:"exception" doc:"its stable name"`
	Title     string `json:"title" doc:"what is wrong"`
	Do        string `json:"do" doc:"what to do"`
	Says      string `json:"says,omitempty"`
}

// Version is bytes that came for a file.
type Version struct {
	Received time.Time `json:"received"`
	Size     *int64    `json:"size"`
	SHA256   string    `json:"sha256"`
	Current  bool      `json:"current"`
}

// Event is something that went wrong on the way.
type Event struct {
	At        time.Time `json:"at"`
	Exception string    `json:"exception"`
	Title     string    `json:"title"`
	Says      string    `json:"says,omitempty"`
}

// Shown is one of the centre's servers that shows a file, or did.
type Shown struct {
	Server string `json:"server"`
	Gone   bool   `json:"gone" doc:"it shows the file no more"`
}

// FileTold is the story of one of the centre's files, for programs.
type FileTold struct {
	Row

	Size      *int64    `json:"size"`
	SHA256    string    `json:"sha256,omitempty"`
	FirstSeen time.Time `json:"first_seen"`
	Problems  []Problem `json:"problems"`
	Left      int       `json:"problems_left" doc:"problems that are not among these: each document has all of its own"`
	Documents []Row     `json:"documents"`
	More      int64     `json:"documents_left" doc:"documents that are not among these"`
	Versions  []Version `json:"versions"`
	Events    []Event   `json:"events" doc:"what went wrong on the way"`
	Servers   []Shown   `json:"servers"`
}

// DocumentTold is one of the centre's documents, for programs.
type DocumentTold struct {
	Row

	Size      *int64    `json:"size"`
	SHA256    string    `json:"sha256,omitempty"`
	Rows      *int64    `json:"rows" doc:"put into the warehouse"`
	FirstSeen time.Time `json:"first_seen"`
	Problems  []Problem `json:"problems"`
	Left      int       `json:"problems_left" doc:"problems that are only counted"`
}

// mostNameless is how many files whose names tell no centre are told of.
const mostNameless = 20

// Home is what a centre sees first, for programs.
type Home struct {
	Week     Summary   `json:"week" doc:"the last seven days, today included"`
	Troubles []Trouble `json:"troubles" doc:"what is wrong with files now, what the centre is to correct first"`
	Nameless []Row     `json:"nameless" doc:"files whose names tell no centre, and that only the centre's servers show"`
	Weeks    []string  `json:"weeks" doc:"of which there is a summary, the newest first"`
}

// Home is what the centre sees first.
func (v View) Home(ctx context.Context) (h Home, err error) {
	var nameless []report.File
	if err := pg.Together(ctx, v.Tracker, pg.Into(&h.Week, v.Last), pg.Into(&h.Troubles, v.Troubles),
		pg.Into(&nameless, func(ctx context.Context) ([]report.File, error) { return v.Nameless(ctx, mostNameless) })); err != nil {
		return Home{}, err
	}
	if h.Troubles == nil {
		h.Troubles = []Trouble{}
	}
	h.Nameless = []Row{}
	for _, f := range nameless {
		h.Nameless = append(h.Nameless, FileRow(f))
	}
	for i := range Weeks + 1 {
		h.Weeks = append(h.Weeks, Name(Monday(v.Now).Add(-time.Duration(i)*Week)))
	}
	return h, nil
}

// FileRow is a file that View gives, for programs.
func FileRow(f report.File) Row {
	return row(Row{Action: f.Action, File: f.File, Phase: f.Phase, Status: f.Status, Last: f.Last}, pg.Value(f.Exception), pg.Value(f.Message))
}

// DocumentRow is a document that View gives, for programs.
func DocumentRow(d report.Document) Row {
	name, says := "", ""
	if len(d.Errors) > 0 {
		name, says = d.Errors[0].Exception, pg.Value(d.Errors[0].Message)
	}
	return row(Row{Action: d.Action, File: d.File, Document: d.Document, Phase: d.Phase, Status: d.Status, Last: d.Last}, name, says)
}

func row(r Row, name, says string) Row {
	r.Stands = Stands(r.Phase, r.Status, name)
	if name != "" {
		r.Exception, r.Says = name, says
		r.Title, _ = Words(name, "", MoveOf(name))
	}
	return r
}

// mostProblems is how many problems a file is told with.
const mostProblems = 20

// File is the story of one of the centre's files, for programs.
func (v View) File(ctx context.Context, action, name string) (FileTold, error) {
	t, err := v.Story(ctx, action, name)
	if err != nil {
		return FileTold{}, err
	}
	out := FileTold{Row: FileRow(t.File), Size: t.Size, SHA256: pg.Value(t.SHA256), FirstSeen: t.FirstSeen, More: t.Left,
		Problems: []Problem{}, Documents: []Row{}, Versions: []Version{}, Events: []Event{}, Servers: []Shown{}}
	total := 0
	for _, d := range t.Documents {
		out.Documents = append(out.Documents, DocumentRow(d.Document))
		total += d.ErrorsTotal
		for _, e := range d.Errors {
			if len(out.Problems) < mostProblems {
				out.Problems = append(out.Problems, problem(d.Document.Document, e, t.Meanings))
			}
		}
	}
	if out.Left = total - len(out.Problems); total == 0 && t.Exception != nil {
		out.Problems, out.Left = []Problem{problem("", report.Error{Exception: *t.Exception, Message: t.Message}, t.Meanings)}, 0
	}
	for _, x := range t.Versions {
		out.Versions = append(out.Versions, Version{x.Received.UTC(), x.Size, x.SHA256, x.Current})
	}
	for _, a := range t.Tries {
		for _, l := range a.Log {
			title, _ := Words(l.Exception, t.Meanings[l.Exception], MoveOf(l.Exception))
			out.Events = append(out.Events, Event{l.At.UTC(), l.Exception, title, pg.Value(l.Message)})
		}
	}
	for _, h := range t.Hostings {
		out.Servers = append(out.Servers, Shown{h.Source, pg.Value(h.State) == "gone"})
	}
	return out, nil
}

// DocumentTold is one of the centre's documents with its errors, for programs.
func (v View) DocumentTold(ctx context.Context, action, file, name string) (DocumentTold, error) {
	if (report.Filter{Source: name}).Check() != nil {
		return DocumentTold{}, report.ErrNotFound
	}
	d, means, err := v.Document(ctx, action, file, name)
	if err != nil {
		return DocumentTold{}, err
	}
	out := DocumentTold{Row: DocumentRow(d.Document), Size: d.Size, SHA256: pg.Value(d.SHA256), Rows: d.Rows, FirstSeen: d.FirstSeen, Problems: []Problem{}, Left: d.ErrorsTotal - len(d.Errors)}
	for _, e := range d.Errors {
		out.Problems = append(out.Problems, problem("", e, means))
	}
	return out, nil
}

func problem(document string, e report.Error, meanings map[string]string) Problem {
	p := Problem{Document: document, Line: e.Line, Column: e.Column, Exception: e.Exception, Says: pg.Value(e.Message)}
	p.Title, p.Do = Words(e.Exception, meanings[e.Exception], MoveOf(e.Exception))
	return p
}

// MoveOf is whose turn it is: what is no exception is a finding, and the centre's.
func MoveOf(name string) exception.Move {
	if _, known := exception.PlainOf(name); !known {
		return exception.Centre
	}
	return exception.MoveOf(name)
}
