package pages

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/schemas"
	"tributary/web/access"
	"tributary/web/filter"
	"tributary/web/past"
)

// timely is a view that can be of the past: the site that it is made for says of when.
type timely func(s *Site, ctx context.Context, r *http.Request) (page, error)

// momentary answers what is asked of a moment too. All other addresses refuse one.
type momentary struct{ http.Handler }

// scoped says what has to be known of the past for an address.
type scoped func(r *http.Request) asof.Scope

// What the pages show that can be of the past.
func ofAll(*http.Request) asof.Scope    { return asof.Scope{} }
func ofFile(r *http.Request) asof.Scope { return asof.Scope{Name: r.PathValue("name")} }
func ofSource(r *http.Request) asof.Scope {
	return asof.Scope{Source: r.PathValue("id"), Polls: true}
}
func ofCentre(r *http.Request) asof.Scope { return asof.Scope{Centre: r.PathValue("name")} }
func ofFilter(r *http.Request) asof.Scope {
	f, err := filter.Parse(r.URL.Query(), time.Time{})
	if err != nil {
		return asof.Scope{} // the list itself says why
	}
	return asof.ScopeOf(f)
}

func ofLetters(*http.Request) asof.Scope { return asof.Scope{Exception: quarantined} }
func ofFindings(*http.Request) asof.Scope {
	return asof.Scope{Failed: string(schemas.Data), Findings: true}
}
func ofReplays(*http.Request) asof.Scope { return asof.Scope{Replays: true} }

// hasPast tells whether a page has one, by its address below the prefix.
func hasPast(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return path == "/" || slices.Contains([]string{"files", "documents", "quality", "sources", "centres", "sessions",
		"dead-letters", "replays", "findings", "analytics", "tail"}, first)
}

// asksMoment tells whether an address asks how something stood.
func asksMoment(r *http.Request) bool {
	query := r.URL.Query()
	return query.Get(asOf) != "" || query.Has(slider)
}

// onlyNow has what shows, or changes, what is now refuse to do so for a moment.
func (s *Site) onlyNow(routes []access.Route) []access.Route {
	for i, route := range routes {
		if _, ok := route.Handler.(momentary); ok || route.Least == access.Nobody { // who shows nobody anything
			continue
		}
		routes[i].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asksMoment(r) {
				s.answer(w, r, page{}, http.StatusOK, past.NoPast("This page"), "")
				return
			}
			route.Handler.ServeHTTP(w, r)
		})
	}
	return routes
}

// ever answers with a view's page as it is now, or as it was at the moment that the
// address gives, by the tracker of then.
func (s *Site) ever(v timely, scope scoped) http.Handler {
	return s.of(v, scope, func(ctx context.Context, at time.Time, about asof.Scope, ask func(pg.Querier, asof.Filled) error) error {
		return s.Past.At(ctx, at, about, ask)
	})
}

// recorded is ever of a view that asks the history, which has what was told up to then.
func (s *Site) recorded(v timely) http.Handler {
	return s.of(v, ofAll, func(ctx context.Context, at time.Time, _ asof.Scope, ask func(pg.Querier, asof.Filled) error) error {
		f, err := s.Past.Filled(ctx, at)
		if err != nil {
			return err
		}
		return ask(s.Tracker, f)
	})
}

// pastReader has ask read the tracker of a moment, as far as a scope goes.
type pastReader func(ctx context.Context, at time.Time, about asof.Scope, ask func(pg.Querier, asof.Filled) error) error

// of answers with a view's page as it is now, or, as read reads it, as it was. The moment
// of a slider is replaced by one that people can read.
func (s *Site) of(v timely, scope scoped, read pastReader) http.Handler {
	now := s.within(timeout, func(ctx context.Context, r *http.Request) (page, error) { return v(s, ctx, r) })
	return momentary{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asksMoment(r) {
			now.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(asReader(r.Context()), past.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		if !r.URL.Query().Has(slider) {
			shown, p, err := s.past(ctx, r, v, scope, read)
			shown.answer(w, r, p, http.StatusOK, err, "")
			return
		}
		to, err := s.slid(r)
		if err != nil {
			s.answer(w, r, page{}, http.StatusOK, err, "")
			return
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
	})}
}
