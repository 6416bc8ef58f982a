package api

import (
	"context"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/web/past"
)

// Momentary is asked as of a moment, unless it gives none. It is exported so that the
// library finds it within other structs.
type Momentary struct {
	AsOf string `query:"as_of" maxLength:"100" doc:"how it stood at this moment: RFC 3339, a date, or how long ago, such as 7d"`
}

func (m Momentary) moment() string { return m.AsOf }

// ofAll is the scope of what is asked about everything.
func ofAll[In any](*In) asof.Scope { return asof.Scope{} }

// tracked is the tracker as it is, or as it was.
type tracked struct {
	pg.Querier

	now time.Time  // from which its answers are seen
	at  *time.Time // the moment that was asked for; nil: now
}

// getAt registers an operation that reads the tracker of now, or of the moment that is
// asked for, as far as the scope goes.
func getAt[In any, Asked interface {
	*In
	moment() string
}, Out any](a *API, path, id, summary string, scope func(in *In) asof.Scope, read func(ctx context.Context, t tracked, in *In) (Out, error)) {
	type answer struct {
		History string `header:"Tributary-History" doc:"of a moment: how far the history goes, for people"`
		Body    Out
	}
	huma.Register(a.huma, reading(path, id, summary), func(ctx context.Context, in *In) (*answer, error) {
		given, now, out := Asked(in).moment(), a.deps.Now(), &answer{}
		var err error
		if given == "" {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			out.Body, err = read(ctx, tracked{a.deps.Tracker, now, nil}, in)
		} else {
			ctx, cancel := context.WithTimeout(ctx, past.Timeout)
			defer cancel()
			var at time.Time
			if at, err = past.Moment("as_of", given, now); err == nil {
				err = a.deps.Past.At(ctx, at, scope(in), func(q pg.Querier, f asof.Filled) error {
					out.History = f.Said(at)
					out.Body, err = read(ctx, tracked{q, at, &at}, in)
					return err
				})
			}
		}
		if err != nil {
			return nil, a.problem(id, err)
		}
		return out, nil
	})
}

// moments are what is compared. Package past reads it, as it does for the page: here it
// is only described.
type moments struct {
	From   string `query:"from" required:"true" doc:"the earlier moment: RFC 3339, a date, or how long ago, such as 7d"`
	To     string `query:"to" doc:"the later moment; default now"`
	File   string `query:"file" doc:"the file's name; it may have * for any characters"`
	Centre string `query:"centre" doc:"that produced it, capitals don't matter"`
	Kind   string `query:"kind" doc:"file or document: only changes of these"`
	Change string `query:"change" doc:"new, moved, replaced or gone: only these changes"`
	After  string `query:"after" doc:"the next of the page before, of the same from and to"`
	Limit  string `query:"limit" doc:"how many changes a page has at most"`

	query url.Values
}

// Resolve keeps the address as it was asked.
func (m *moments) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	m.query = address.Query()
	return nil
}

// difference is what changed between two moments.
type difference struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	History string    `json:"history" doc:"how far the history goes, for people"`
	Behind  int64     `json:"behind" doc:"records of the log that the history lacks yet"`
	Counts  []counted `json:"counts" doc:"of all changes between the moments"`
	Rows    []changed `json:"rows"`
	Next    string    `json:"next,omitempty" doc:"the after of the next page; absent: this is the last"`
}

// counted is asof.Count, and changed asof.Change, with what was not there left out.
type counted struct {
	Kind   string      `json:"kind"`
	Change string      `json:"change"`
	From   *asof.Stand `json:"from,omitempty"`
	To     *asof.Stand `json:"to,omitempty"`
	Count  int64       `json:"count"`
}

type changed struct {
	Kind     string      `json:"kind"`
	Change   string      `json:"change"`
	File     string      `json:"file"`
	Action   string      `json:"action"`
	Document *string     `json:"document"`
	Centre   *string     `json:"centre"`
	From     *asof.Stand `json:"from,omitempty"`
	To       *asof.Stand `json:"to,omitempty"`
}

// changes registers what is asked about two moments.
func (a *API) changes() {
	huma.Register(a.huma, reading("/diff", "listChanges", "What changed between two moments"), func(ctx context.Context, in *moments) (*struct{ Body difference }, error) {
		ctx, cancel := context.WithTimeout(ctx, past.Timeout)
		defer cancel()
		out, err := a.differ(ctx, in.query)
		if err != nil {
			return nil, a.problem("listChanges", err)
		}
		return &struct{ Body difference }{out}, nil
	})
}

func (a *API) differ(ctx context.Context, query url.Values) (difference, error) {
	asked, err := past.Ask(query, a.deps.Now())
	if err != nil {
		return difference{}, err
	}
	found, err := a.deps.Past.Changes(ctx, a.deps.Tracker, asked)
	if err != nil {
		return difference{}, err
	}
	out := difference{From: asked.From, To: asked.To, History: found.Filled.Said(asked.To), Behind: found.Filled.Behind, Counts: []counted{}, Rows: []changed{}, Next: found.Next}
	for _, c := range found.Counts {
		out.Counts = append(out.Counts, counted(c))
	}
	for _, c := range found.Rows {
		out.Rows = append(out.Rows, changed(c))
	}
	return out, nil
}
