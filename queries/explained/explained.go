// Package explained says what is wrong with a document: of each error which rule is broken,
// in plain words, what to do about it, and the lines of the document around it.
package explained

import (
	"cmp"
	"context"
	"errors"
	"time"

	"tributary/internal/pg"
	"tributary/internal/xsdcheck"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
)

const (
	// MostRead is how many bytes of documents are read for one answer.
	MostRead = 64 << 20
	// readings is for how many answers documents are read at once, and readingWait how long
	// another waits for its turn.
	readings    = 2
	readingWait = 2 * time.Second
)

// errRead says that documents are read for others.
var errRead = errors.New("documents are read for others")

// Error is an error of a document, explained.
type Error struct {
	report.Error

	Means  string          `json:"means,omitempty" doc:"what has happened, in plain words; absent where the rule says it"`
	Rule   string          `json:"rule,omitempty" doc:"the rule of the schema that is broken, in plain words"`
	Do     string          `json:"do,omitempty" doc:"what to do about it"`
	Move   exception.Move  `json:"move" enum:"us,centre,nobody" doc:"whose turn it is: the data centre's, the producing centre's, or nobody's, since it is tried again by itself"`
	Lines  []original.Line `json:"lines" doc:"of the document, around the error; none where the document has no such place, or as unseen says"`
	Unseen string          `json:"unseen,omitempty" doc:"why there are no lines; said of one error for all"`
}

// Document is a document whose errors are explained.
type Document struct {
	Document report.DocumentFacts `json:"document"`
	Errors   []Error              `json:"errors" doc:"those of the document, in their order"`
}

// Explain explains an error that arose in a phase as the tracker describes its exception, else
// as the program does.
func Explain(e report.Error, phase string, meanings map[string]string) Error {
	x := Error{Error: e, Means: meanings[e.Exception], Move: exception.MoveOf(e.Exception), Lines: []original.Line{}}
	if known, ok := exception.Find(e.Exception); ok {
		x.Means, x.Do = cmp.Or(x.Means, known.Happened), known.Do
	} else if phase == string(schemas.Data) { // a finding
		x.Move = exception.Centre
	}
	if e.Exception == xsdcheck.Invalid {
		if x.Rule = xsdcheck.Rule(pg.Value(e.Message)); x.Rule != "" {
			x.Means = ""
		}
	}
	return x
}

// Reader reads the lines around errors, for few at once. It is safe for concurrent use.
type Reader struct {
	originals *original.Reader // nil: bytes can't be read here
	turns     chan struct{}
}

// New makes a reader of the lines of originals; nil: there are none here.
func New(originals *original.Reader) *Reader {
	return &Reader{originals, make(chan struct{}, readings)}
}

// Document explains a document with what its exceptions mean, and with the lines around its
// errors. Where they can't be read it says so, and has all the rest.
func (r *Reader) Document(ctx context.Context, x report.DocumentFacts, meanings map[string]string) Document {
	d := Document{Document: x, Errors: make([]Error, len(x.Errors))}
	for i, e := range x.Errors {
		d.Errors[i] = Explain(e, x.Phase, meanings)
	}
	left := int64(MostRead)
	_ = r.Lines(ctx, x, &left, d.Errors) // which is said of the first error that has none
	return d
}

// Lines gives errors of a document the lines around them, or the first of them that has a
// place the reason why they have none, which is returned too. It reads at most left bytes,
// and takes off what it has read.
func (r *Reader) Lines(ctx context.Context, x report.DocumentFacts, left *int64, all []Error) error {
	var places []original.Place
	var of []*Error
	for i := range all {
		if line := pg.Value(all[i].Line); line > 0 {
			places, of = append(places, original.Place{Line: line, Column: pg.Value(all[i].Column)}), append(of, &all[i])
		}
	}
	if len(places) == 0 {
		return nil
	}
	lines, err := r.read(ctx, x, *left, places)
	if err != nil {
		of[0].Unseen = Unseen(err)
		return err
	}
	*left -= pg.Value(x.Size)
	for i := range lines {
		of[i].Lines = lines[i]
	}
	return nil
}

func (r *Reader) read(ctx context.Context, x report.DocumentFacts, most int64, places []original.Place) ([][]original.Line, error) {
	if r.originals == nil {
		return nil, errNotHere
	}
	done, err := r.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return r.originals.Excerpts(ctx, Original(x), most, places)
}

// errNotHere says that stored bytes can't be read here.
var errNotHere = errors.New("this process has no blob store")

// Turn waits until documents may be read; done says that they have been.
func (r *Reader) Turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, readingWait)
	defer cancel()
	select {
	case r.turns <- struct{}{}:
		return func() { <-r.turns }, nil
	case <-ctx.Done():
		return nil, errRead
	}
}

// Unseen says to people why stored bytes are not shown.
func Unseen(err error) string {
	switch {
	case errors.Is(err, errRead):
		return "Documents are read for others now; ask again."
	case errors.Is(err, errNotHere):
		return "Stored bytes can't be read from here."
	}
	return original.Words(err)
}

// Original says where a document lies.
func Original(x report.DocumentFacts) original.Document {
	return original.Document{Archive: pg.Value(x.Version), Ordinal: x.Ordinal, SHA256: pg.Value(x.SHA256)}
}
