// Package pages makes the pages of the tracker: one file for each, with what it shows
// and where that comes from, and one template. Data is asked by the functions of
// queries, the same that commands and the API use.
package pages

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/queries/centrereport"
	"tributary/queries/explained"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/web/access"
	"tributary/web/compared"
	"tributary/web/order"
	"tributary/web/past"
	"tributary/web/question"
)

// timeout is how long a page may take to be read from the stores.
const timeout = 20 * time.Second

// Site is what all pages have in common.
type Site struct {
	Prefix  string // path below which all addresses are; empty or as /tributary
	Address string // where people reach the pages, with the prefix; empty: nobody says it
	Name    string // what is served here: the profile, and where
	Tracker pg.Querier
	History question.History // nil: questions about the history are not answered
	Stores  question.Stores  // that statements of people may ask
	Now     func() time.Time
	Log     *slog.Logger
	// Position is where the tracker stands, for GET /events (live.Feed); nil: pages are
	// not told of changes.
	Position func(context.Context) string

	// Beside adds to where everything stands what is not in the tracker, as tributary
	// status tells it: outboxes, whether insertion has stopped, disk; nil: nothing.
	Beside func(ctx context.Context, s *report.Status) error

	// Letters gives at most limit dead letters, the newest first; all: the dropped ones
	// too. They lie in the broker and in control. nil: they are not to be seen here.
	Letters func(ctx context.Context, limit int, all bool, each func(deadletter.Row) error) error
	// Replays lists at most limit replays, the newest first, with how far each is, which
	// only control knows; nil: they are not to be seen here.
	Replays func(ctx context.Context, limit int) ([]*replay.Status, error)
	// ReplayTold tells of one replay, by number, run or shadow, and how its files ended. One
	// that isn't there is a control.ErrNoReplay. nil: it is not to be seen here.
	ReplayTold func(ctx context.Context, name string) (*replay.Status, error)
	// Shadows compares shadows; nil: nobody does here.
	Shadows *compared.Reader
	// Warehouse has the findings; nil: they are not to be seen here.
	Warehouse pg.Querier
	// Replay asks for replays; nil: that can't be done here.
	Replay Replay
	// Orders are what may be ordered here.
	Orders order.Table
	// Definitions define sources and centres; nil: that can't be done here.
	Definitions *order.Deps
	// Mapping says what keys of the warehouse's records are made of; nil: where records
	// come from is not told here.
	Mapping *mapping.Mapping
	// Meaning says what a check of the profile finds; nil: nobody here knows.
	Meaning func(check string) string
	// Advice says what a name of an exception or a finding means for a centre, and what it
	// can do; nil: no reports to centres are made here.
	Advice func(name string) centrereport.Advice
	// Past tells of moments of the past; nil: nobody here knows them.
	Past *past.Reader

	// Why answers why a file is where it is, at a source or at each; nil: nobody does here.
	Why func(ctx context.Context, source, path string) ([]why.Answer, int, error)
	// Every is how often a source is polled that does not say it.
	Every time.Duration
	// Notify says who is told what, beside feeds.
	Notify config.Notify
	// Control keeps what people ask again and when they looked last; nil: nothing is kept.
	Control pg.Querier

	// Originals reads what was received; nil: it is not to be seen here.
	Originals *original.Reader
	// ByLink lets in who asks by a link to what is of a centre (access.Guard); nil: nobody
	// does.
	ByLink func(next http.Handler) http.Handler

	asker     *question.Asker
	shared    *shared                       // what one reader of the first page has had read for others; nil of the past
	explainer *explained.Reader             // of documents, for few pages at once
	handed    chan struct{}                 // held while an original is handed out
	masters   map[string]*template.Template // never executed, so that they can be copied
	templates map[string]*template.Template
	owns      map[string]*template.Template // of a centre's own view
	then      *then                         // the moment that is shown; nil: now
	present   pg.Querier                    // the tracker of now, where a moment is shown
}

//go:embed templates
var templates embed.FS

// page is what one address shows.
type page struct {
	Title    string
	At       string // the address in the side list that it belongs to: /, /files
	Template string // templates/NAME.html
	Data     any
	Command  string   // that says the same on the command line; empty: none
	Offers   []offer  // what may be ordered here
	Keep     *keeping // how what is asked here can be kept; nil: it can't
	Still    bool     // it does not bring itself up to date: making it takes long
	Shows    *stood   // what it shows was read for another reader too; nil: it was not
	Feeds    []option // feeds of notices about what it shows
}

// view makes a page for who asks.
type view func(ctx context.Context, r *http.Request) (page, error)

// New prepares a site.
func New(s Site) (*Site, error) {
	s.shared = &shared{}
	s.explainer, s.handed = explained.New(s.Originals), make(chan struct{}, handed)
	var err error
	if s.asker, err = question.New(s.History, s.Stores, s.Now); err != nil {
		return nil, err
	}
	if s.owns, err = s.ownTemplates(); err != nil {
		return nil, err
	}
	frame, err := template.New("frame.html").Funcs(s.funcs()).ParseFS(templates, "templates/frame/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	s.masters, s.templates = map[string]*template.Template{}, map[string]*template.Template{}
	pages, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	for _, file := range pages {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if s.masters[name], err = template.Must(frame.Clone()).ParseFS(templates, file); err != nil {
			return nil, fmt.Errorf("templates of the pages: %w", err)
		}
		s.templates[name] = template.Must(s.masters[name].Clone())
	}
	return &s, nil
}

// Asker answers questions for others than the pages too.
func (s *Site) Asker() *question.Asker { return s.asker }

// Explainer explains documents for others than the pages too.
func (s *Site) Explainer() *explained.Reader { return s.explainer }

// errNoPage says that an address is none of ours.
var errNoPage = errors.New("no page has this address")

// errBadFilter says that an address asks for something that can't be.
var errBadFilter = errors.New("this address can't be read")

// show answers with a view's page, whole or not at all.
func (s *Site) show(v view) http.Handler { return s.within(timeout, v) }

// within is show of a page that may take so long.
func (s *Site) within(timeout time.Duration, v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		events := s.events(ctx) // before the page is read, so that it shows that much at least
		p, err := v(ctx, r)
		s.answer(w, r, p, http.StatusOK, err, events)
	})
}

// answer answers with a page and its status, or with why there is none.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, p page, status int, err error, events string) {
	if err != nil {
		status, p = s.failed(r, err)
	}
	switch {
	case p.Still:
		events = ""
	case p.Shows != nil && events != "":
		events = s.eventsAfter(p.Shows.position)
	}
	f := s.frame(r, p, events)
	if p.Shows != nil {
		f.Now = p.Shows.at.UTC()
	}
	f.Said = s.heard(w, r)
	var b bytes.Buffer
	t, err := s.template(p.Template)
	if err == nil {
		err = t.Execute(&b, f)
	}
	if err != nil {
		s.Log.Error("a page can't be made", "address", r.URL.Path, "error", err)
		http.Error(w, "This page can't be made; the log of tributary says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone, which is its affair
}

// missing is the page of every address that is none.
func (s *Site) missing(context.Context, *http.Request) (page, error) {
	return page{}, errNoPage
}

// frame is what the frame around each page shows.
type frame struct {
	page
	Site   *Site
	Person access.Person
	Theme  string // auto, light or dark
	Places []places
	Now    time.Time
	Said   string // what was done by the page before
	Events string // the address that tells of changes from here on; empty: none
	Then   *then  // the moment that is shown; nil: now
	Moment chooser
}

// events is the address that tells of changes from now on.
func (s *Site) events(ctx context.Context) string {
	if s.Position == nil {
		return ""
	}
	return s.eventsAfter(s.Position(ctx))
}

func (s *Site) eventsAfter(position string) string { return s.to("/events", "after", position) }

func (s *Site) frame(r *http.Request, p page, events string) frame {
	return frame{page: p, Site: s, Person: access.From(r.Context()), Theme: themeOf(r), Places: s.places(r.Context(), p.At, p.At != ""), Now: s.Now().UTC(), Events: events, Then: s.then, Moment: s.chooser(r, p)}
}
