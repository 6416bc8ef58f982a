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

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/sql/history/recipes"
	"tributary/web/access"
)

// timeout is how long a page may take to be read from the stores.
const timeout = 20 * time.Second

// Site is what all pages have in common.
type Site struct {
	Prefix  string // path below which all addresses are; empty or as /tributary
	Name    string // what is served here: the profile, and where
	Tracker pg.Querier
	History History // nil: questions about the history are not answered
	Stores  Stores  // that statements of people may ask
	Now     func() time.Time
	Log     *slog.Logger
	// Position is where the tracker stands, for GET /events (live.Feed); nil: pages are
	// not told of changes.
	Position func() string

	// Beside adds to where everything stands what is not in the tracker, as tributary
	// status tells it: outboxes, whether insertion has stopped, disk; nil: nothing.
	Beside func(ctx context.Context, s *report.Status) error

	// Letters gives at most limit dead letters, the newest first; all: the dropped ones
	// too. They lie in the broker and in control. nil: they are not to be seen here.
	Letters func(ctx context.Context, limit int, all bool, each func(deadletter.Row) error) error
	// Replays lists at most limit replays, the newest first, with how far each is, which
	// only control knows; nil: they are not to be seen here.
	Replays func(ctx context.Context, limit int) ([]*replay.Status, error)
	// Warehouse has the findings; nil: they are not to be seen here.
	Warehouse pg.Querier
	// Meaning says what a check of the profile finds; nil: nobody here knows.
	Meaning func(check string) string

	// ByLink lets in who asks by a link to what is of a centre (access.Guard); nil: nobody
	// does.
	ByLink func(next http.Handler) http.Handler

	asking    chan struct{}    // held while a question is answered
	recipes   []recipes.Recipe // the questions about the history
	templates map[string]*template.Template
	owns      map[string]*template.Template // of a centre's own view
}

//go:embed templates
var templates embed.FS

// page is what one address shows.
type page struct {
	Title    string
	At       string // the address in the side list that it belongs to: /, /files
	Template string // templates/NAME.html
	Data     any
	Command  string // that says the same on the command line; empty: none
}

// view makes a page for who asks.
type view func(ctx context.Context, r *http.Request) (page, error)

// questions is how many questions and statements of people are answered at once.
const questions = 4

// New prepares a site.
func New(s Site) (*Site, error) {
	s.asking = make(chan struct{}, questions)
	var err error
	if s.recipes, err = recipes.All(); err != nil {
		return nil, err
	}
	if s.owns, err = s.ownTemplates(); err != nil {
		return nil, err
	}
	frame, err := template.New("frame.html").Funcs(s.funcs()).ParseFS(templates, "templates/frame/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	s.templates = map[string]*template.Template{}
	pages, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	for _, file := range pages {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if s.templates[name], err = template.Must(frame.Clone()).ParseFS(templates, file); err != nil {
			return nil, fmt.Errorf("templates of the pages: %w", err)
		}
	}
	return &s, nil
}

// Routes are the addresses of all pages.
func (s *Site) Routes() []access.Route {
	return append(s.ownRoutes(), []access.Route{
		{Pattern: "GET /{$}", Least: access.Reader, Handler: s.show(s.now)},
		{Pattern: "GET /files", Least: access.Reader, Handler: s.show(s.files)},
		{Pattern: "GET /files/{action}/{name}", Least: access.Reader, Handler: s.show(s.file)},
		{Pattern: "GET /files/{action}/{name}/documents/{entry...}", Least: access.Reader, Handler: s.show(s.document)},
		{Pattern: "GET /documents", Least: access.Reader, Handler: s.show(s.documents)},
		{Pattern: "GET /sources", Least: access.Reader, Handler: s.show(s.sources)},
		{Pattern: "GET /sources/{id}", Least: access.Reader, Handler: s.show(s.source)},
		{Pattern: "GET /centres", Least: access.Reader, Handler: s.show(s.centres)},
		{Pattern: "GET /centres/{name}", Least: access.Reader, Handler: s.show(s.centre)},
		{Pattern: "GET /sessions", Least: access.Reader, Handler: s.show(s.sessions)},
		{Pattern: "GET /sessions/{number}", Least: access.Reader, Handler: s.show(s.session)},
		{Pattern: "GET /dead-letters", Least: access.Reader, Handler: s.show(s.letters)},
		{Pattern: "GET /replays", Least: access.Reader, Handler: s.show(s.replays)},
		{Pattern: "GET /findings", Least: access.Reader, Handler: s.show(s.findings)},
		{Pattern: "GET /analytics", Least: access.Reader, Handler: s.show(s.allRecipes)},
		{Pattern: "GET /analytics/{recipe}", Least: access.Reader, Handler: s.show(s.recipe)},
		{Pattern: "GET /analytics/{recipe}/chart.svg", Least: access.Reader, Handler: http.HandlerFunc(s.chart)},
		{Pattern: "GET /sql", Least: access.Reader, Handler: s.show(s.console)},
		{Pattern: "POST /sql", Least: access.Reader, Handler: s.within(statementTime, s.console)},
		{Pattern: "POST /theme", Least: access.Nobody, Handler: http.HandlerFunc(s.setTheme)},
		{Pattern: "GET /", Least: access.Reader, Handler: s.show(s.missing)},
	}...)
}

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
		status, events := http.StatusOK, s.events() // before the page is read, so that it shows that much at least
		p, err := v(ctx, r)
		if err != nil {
			status, p = s.failed(r, err)
		}
		var b bytes.Buffer
		if err := s.templates[p.Template].Execute(&b, s.frame(r, p, events)); err != nil {
			s.Log.Error("a page can't be made", "address", r.URL.Path, "error", err)
			http.Error(w, "This page can't be made; the log of tributary says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // the client may be gone, which is its affair
	})
}

// missing is the page of every address that is none.
func (s *Site) missing(context.Context, *http.Request) (page, error) {
	return page{}, errNoPage
}

// failed is the page that says why there is no other.
func (s *Site) failed(r *http.Request, err error) (int, page) {
	var unknown *report.UnknownError
	var filter *report.FilterError
	status, said := http.StatusServiceUnavailable, "The tracker does not answer."
	switch {
	case errors.Is(err, errNoPage), errors.Is(err, report.ErrNotFound), errors.As(err, &unknown):
		status, said = http.StatusNotFound, "There is nothing here."
	case errors.Is(err, errNotHere):
		said = "This can't be read here."
	case errors.Is(err, errBadFilter), errors.As(err, &filter):
		status, said = http.StatusBadRequest, "This address can't be read."
	default:
		s.Log.Warn("a page can't be read", "address", r.URL.Path, "error", err)
	}
	return status, page{Title: said, Template: "failed", Data: struct{ Said, Why string }{said, err.Error()}}
}

// frame is what the frame around each page shows.
type frame struct {
	page
	Site   *Site
	Person access.Person
	Theme  string // auto, light or dark
	Places []places
	Now    time.Time
	Events string // the address that tells of changes from here on; empty: none
}

// places are a group of the side list.
type places struct {
	Name  string
	Pages []place
}

type place struct {
	Address, Name string
	Current       bool
}

// events is the address that tells of changes from now on.
func (s *Site) events() string {
	if s.Position == nil {
		return ""
	}
	return s.to("/events", "after", s.Position())
}

func (s *Site) frame(r *http.Request, p page, events string) frame {
	f := frame{page: p, Site: s, Person: access.From(r.Context()), Theme: themeOf(r), Now: s.Now().UTC(), Events: events}
	f.Places = []places{
		{"Now", []place{{Address: "/", Name: "Now"}, {Address: "/files", Name: "Files"}, {Address: "/documents", Name: "Documents"}}},
		{"Where from", []place{{Address: "/sources", Name: "Sources"}, {Address: "/centres", Name: "Centres"}, {Address: "/sessions", Name: "Sessions"}}},
		{"To do", []place{{Address: "/dead-letters", Name: "Dead letters"}, {Address: "/replays", Name: "Replays"}, {Address: "/findings", Name: "Findings"}}},
		{"Ask", []place{{Address: "/analytics", Name: "Analytics"}, {Address: "/sql", Name: "SQL"}}},
	}
	for i := range f.Places {
		for j := range f.Places[i].Pages {
			f.Places[i].Pages[j].Current = f.Places[i].Pages[j].Address == p.At
		}
	}
	return f
}
