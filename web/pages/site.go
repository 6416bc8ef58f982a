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
	"tributary/web/access"
)

// timeout is how long a page may take to be read from the stores.
const timeout = 20 * time.Second

// Site is what all pages have in common.
type Site struct {
	Prefix  string // path below which all addresses are; empty or as /tributary
	Name    string // what is served here: the profile, and where
	Tracker pg.Querier
	Now     func() time.Time
	Log     *slog.Logger

	templates map[string]*template.Template
}

//go:embed templates/*.html
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

// New prepares a site.
func New(s Site) (*Site, error) {
	frame, err := template.New("frame.html").Funcs(s.funcs()).ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/list.html", "templates/sprite.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	s.templates = map[string]*template.Template{}
	pages, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	for _, file := range pages { // the frame's own define nothing that is not there already
		name := strings.TrimSuffix(path.Base(file), ".html")
		if s.templates[name], err = template.Must(frame.Clone()).ParseFS(templates, file); err != nil {
			return nil, fmt.Errorf("templates of the pages: %w", err)
		}
	}
	return &s, nil
}

// Routes are the addresses of all pages.
func (s *Site) Routes() []access.Route {
	return []access.Route{
		{Pattern: "GET /{$}", Least: access.Reader, Handler: s.show(s.now)},
		{Pattern: "GET /files", Least: access.Reader, Handler: s.show(s.files)},
		{Pattern: "GET /files/{action}/{name}", Least: access.Reader, Handler: s.show(s.file)},
		{Pattern: "GET /files/{action}/{name}/documents/{entry...}", Least: access.Reader, Handler: s.show(s.document)},
		{Pattern: "GET /documents", Least: access.Reader, Handler: s.show(s.documents)},
		{Pattern: "GET /", Least: access.Reader, Handler: s.show(s.missing)},
	}
}

// errBadFilter says that an address asks for something that can't be.
var errBadFilter = errors.New("this address can't be read")

// show answers with a view's page, whole or not at all.
func (s *Site) show(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		status := http.StatusOK
		p, err := v(ctx, r)
		if err != nil {
			status, p = s.failed(r, err)
		}
		var b bytes.Buffer
		if err := s.templates[p.Template].Execute(&b, s.frame(r, p)); err != nil {
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
	return page{}, report.ErrNotFound
}

// failed is the page that says why there is no other.
func (s *Site) failed(r *http.Request, err error) (int, page) {
	var unknown *report.UnknownError
	var filter *report.FilterError
	status, said := http.StatusServiceUnavailable, "The tracker does not answer."
	switch {
	case errors.Is(err, report.ErrNotFound), errors.As(err, &unknown):
		status, said = http.StatusNotFound, "There is nothing here."
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

func (s *Site) frame(r *http.Request, p page) frame {
	f := frame{page: p, Site: s, Person: access.From(r.Context()), Theme: "auto", Now: s.Now().UTC()}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	f.Places = []places{
		{"Now", []place{{Address: "/", Name: "Now"}, {Address: "/files", Name: "Files"}, {Address: "/documents", Name: "Documents"}}},
	}
	for i := range f.Places {
		for j := range f.Places[i].Pages {
			f.Places[i].Pages[j].Current = f.Places[i].Pages[j].Address == p.At
		}
	}
	return f
}
