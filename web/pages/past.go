package pages

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/web/access"
	"tributary/web/past"
)

// asOf is the parameter of addresses that gives a moment.
const asOf = "as_of"

// then is the moment of the past that a page shows, and what leads elsewhere from it.
type then struct {
	At       time.Time
	Said     string // how far the history goes; empty: it was not asked
	Ago      string
	Rail     *rail
	Back, On []way
	Now      string // the same page, now
	Changed  []way  // what changed between this and other moments, of what the page is about
}

// Text is the moment as addresses have it.
func (t *then) Text() string { return past.Text(t.At) }

// past makes a view's page as it was, and the site that shows it: that of now if there is
// no such moment.
func (s *Site) past(ctx context.Context, r *http.Request, v timely, scope scoped, read pastReader) (shown *Site, p page, err error) {
	at, err := past.Moment(asOf, r.URL.Query().Get(asOf), s.Now())
	if err != nil {
		return s, p, err
	}
	absolute(r, at)
	shown = s
	about := scope(r)
	err = read(ctx, at, about, func(q pg.Querier, f asof.Filled) error {
		t, err := s.newThen(ctx, r, at, about, f)
		if err != nil {
			return err
		}
		shown = s.at(q, t)
		p, err = v(shown, ctx, r)
		p.Command = commandAt(p.Command, at)
		return err
	})
	var problem *past.Problem
	if errors.As(err, &problem) && problem.Elsewhere() {
		t, terr := s.newThen(ctx, r, at, about, asof.Filled{})
		if terr != nil {
			return s, p, terr
		}
		shown = s.at(s.Tracker, t) // which says why, and leads to what can be shown of that moment
	}
	return shown, p, err
}

// at is the site as it was: of its tracker only, since what else there is tells of now.
func (s *Site) at(q pg.Querier, t *then) *Site {
	c := *s
	c.present = s.Tracker
	c.Tracker, c.then, c.Now = q, t, func() time.Time { return t.At }
	c.Orders, c.Replay, c.Originals, c.Mapping, c.Definitions, c.Control, c.shared = nil, nil, nil, nil, nil, nil, nil
	c.ReplayTold, c.Shadows, c.Why = nil, nil, nil
	c.Position, c.Beside, c.Letters, c.Replays, c.Warehouse, c.History, c.Stores = nil, nil, nil, nil, nil, nil, nil
	return &c
}

// asReader makes who asks a reader: nobody changes the past.
func asReader(ctx context.Context) context.Context {
	who := access.From(ctx)
	who.Role = min(who.Role, access.Reader)
	return access.With(ctx, who)
}

// absolute has the moments of a filter say when, as seen from the one that is shown:
// links and the command line then mean the same.
func absolute(r *http.Request, at time.Time) {
	query := r.URL.Query()
	for _, name := range []string{"since", "until"} {
		if t, err := asof.ParseMoment(query.Get(name), at); err == nil {
			query.Set(name, past.Text(t))
		}
	}
	r.URL.RawQuery = query.Encode()
}

// upToThen is past.UpTo of the moment that is shown; of now it is the query as it is.
func (s *Site) upToThen(query url.Values) url.Values {
	if s.then == nil {
		return query
	}
	return past.UpTo(query, s.then.At)
}

// newThen is a moment, and what leads elsewhere from it, on a page about some files. Where
// the history was not asked how far it goes, that is not said.
func (s *Site) newThen(ctx context.Context, r *http.Request, at time.Time, about asof.Scope, f asof.Filled) (*then, error) {
	t := &then{At: at, Ago: age(s.Now().Sub(at)), Now: s.here(r, time.Time{})}
	if f != (asof.Filled{}) {
		t.Said = ", " + strings.TrimPrefix(f.Said(at), "as of "+past.Text(at)+", ")
	}
	var err error
	if t.Rail, err = s.newRail(ctx, at, at, f.Since); err != nil {
		return nil, err
	}
	if t.Back, t.On, err = s.steps(ctx, r, at, f.Since); err != nil {
		return nil, err
	}
	diff := func(text string, from time.Time, to string) {
		if !from.Before(f.Since) {
			t.Changed = append(t.Changed, way{Text: text, To: s.to("/diff", "from", past.Text(from), "to", to, "file", about.Name, "centre", about.Centre)})
		}
	}
	diff("since then, until now", at, "")
	diff("in the hour before", at.Add(-time.Hour), past.Text(at))
	diff("in the day before", at.Add(-24*time.Hour), past.Text(at))
	return t, nil
}

// here is the address that is asked for, of another moment; the zero one is now. It is
// that of the first page of a list.
func (s *Site) here(r *http.Request, at time.Time) string {
	query := r.URL.Query()
	for _, name := range []string{asOf, slider, "after", "before"} {
		query.Del(name)
	}
	if !at.IsZero() {
		query.Set(asOf, past.Text(at))
	}
	address := s.Prefix + r.URL.EscapedPath()
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// chooser is the form in which people choose a moment: where it leads, and the other
// parameters.
type chooser struct {
	To   string
	Kept []pair
	Ago  []way // moments that are asked for often
}

// chooser is the form of a page: of the same page, where that has a past.
func (s *Site) chooser(r *http.Request, p page) chooser {
	if s.then == nil && (!hasPast(r.URL.Path) || p.At == "" || p.Still) { // there is no such page, or it is a form
		r = r.Clone(r.Context())
		r.URL = &url.URL{Path: "/"}
	}
	c := chooser{To: s.Prefix + r.URL.EscapedPath()}
	if s.then == nil {
		for _, x := range []struct {
			text string
			ago  time.Duration
		}{{"1 h ago", time.Hour}, {"a day ago", 24 * time.Hour}, {"a week ago", 7 * 24 * time.Hour}} {
			c.Ago = append(c.Ago, way{Text: x.text, To: s.here(r, s.Now().Add(-x.ago).Truncate(time.Second))})
		}
	}
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if v := query.Get(name); v != "" && name != asOf && name != slider && name != "after" && name != "before" {
			c.Kept = append(c.Kept, pair{name, v})
		}
	}
	return c
}

// commandAt is a command that says how things stood; empty where there is none.
func commandAt(command string, at time.Time) string {
	for _, known := range []string{"status", "files", "documents", "show"} {
		if strings.HasPrefix(command, "tributary "+known) {
			return command + " --as-of " + past.Text(at)
		}
	}
	if strings.HasPrefix(command, "tributary report ") { // which says until when
		return command
	}
	return ""
}

// template is that of a page, with the functions of this site.
func (s *Site) template(name string) (*template.Template, error) {
	if s.then == nil {
		return s.templates[name], nil
	}
	t, err := s.masters[name].Clone()
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	return t.Funcs(s.funcs()), nil
}
