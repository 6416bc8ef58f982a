package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/web/past"
)

// asOf is the parameter that gives a moment.
const asOf = "as_of"

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
	getEver[In, Asked](a, path, id, summary, func(ctx context.Context, in *In) (Out, error) {
		return read(ctx, tracked{a.deps.Tracker, a.deps.Now(), nil}, in)
	}, func(ctx context.Context, at time.Time, in *In) (out Out, f asof.Filled, err error) {
		err = a.deps.Past.At(ctx, at, scope(in), func(q pg.Querier, filled asof.Filled) error {
			f = filled
			out, err = read(ctx, tracked{q, at, &at}, in)
			return err
		})
		return out, f, err
	})
}

// getEver registers an operation that reads what is now, or what was at the moment that
// is asked for, and then says how far the history goes.
func getEver[In any, Asked interface {
	*In
	moment() string
}, Out any](a *API, path, id, summary string, now func(ctx context.Context, in *In) (Out, error), then func(ctx context.Context, at time.Time, in *In) (Out, asof.Filled, error)) {
	type answer struct {
		History string `header:"Tributary-History" doc:"of a moment: how far the history goes, for people"`
		Body    Out
	}
	huma.Register(a.huma, reading(path, id, summary), func(ctx context.Context, in *In) (*answer, error) {
		given, out := Asked(in).moment(), &answer{}
		var err error
		if given == "" {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			out.Body, err = now(ctx, in)
		} else {
			ctx, cancel := context.WithTimeout(ctx, past.Timeout)
			defer cancel()
			var at time.Time
			if at, err = past.Moment(asOf, given, a.deps.Now()); err == nil {
				var f asof.Filled
				out.Body, f, err = then(ctx, at, in)
				out.History = f.Said(at)
			}
		}
		if err != nil {
			return nil, a.problem(id, err)
		}
		return out, nil
	})
}

// onlyNow has an operation that knows no moment refuse one by the name that pages have
// for it.
func (a *API) onlyNow(pattern string, next http.Handler) http.Handler {
	method, path, _ := strings.Cut(pattern, " ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has(asOf) && !a.knowsMoments(method, path) {
			a.refuse(w, past.NoPast("This"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) knowsMoments(method, path string) bool {
	item := a.huma.OpenAPI().Paths[path]
	return method == http.MethodGet && item != nil && item.Get != nil &&
		slices.ContainsFunc(item.Get.Parameters, func(p *huma.Param) bool { return p.Name == asOf })
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
	From    time.Time  `json:"from"`
	To      time.Time  `json:"to"`
	History string     `json:"history" doc:"how far the history goes, for people"`
	Filled  *time.Time `json:"filled_until" doc:"up to when the history is filled; null: it is not"`
	Behind  int64      `json:"behind" doc:"records of the log that the history lacks yet"`
	Counts  []counted  `json:"counts" doc:"of all changes between the moments"`
	Rows    []changed  `json:"rows"`
	Next    string     `json:"next,omitempty" doc:"the after of the next page; absent: this is the last"`
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
	out := difference{From: asked.From, To: asked.To, History: found.Filled.Said(asked.To), Filled: found.Filled.Up(), Behind: found.Filled.Behind, Counts: []counted{}, Rows: []changed{}, Next: found.Next}
	for _, c := range found.Counts {
		out.Counts = append(out.Counts, counted(c))
	}
	for _, c := range found.Rows {
		out.Rows = append(out.Rows, changed(c))
	}
	return out, nil
}
