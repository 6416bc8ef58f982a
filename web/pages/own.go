package pages

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/access"
	"tributary/web/past"
)

// ownPage is what one address of a centre's own view shows.
type ownPage struct {
	Title    string // of the window
	Template string // templates/own/NAME.html
	Data     any
}

// ownView makes a page of what a centre sees.
type ownView func(ctx context.Context, at ownAt, r *http.Request) (ownPage, error)

// ownAt is what a centre sees, and below which address.
type ownAt struct {
	own.View

	site *Site
	base string // /own, or /c/SECRET
}

func (at ownAt) to(path string, query ...string) string { return at.site.to(at.base+path, query...) }

// fileTo is the address of a file of the centre, or of a document of it.
func (at ownAt) fileTo(action, name string, below ...string) string {
	return at.site.Prefix + at.base + strings.TrimPrefix(at.site.fileTo(action, name, below...), at.site.Prefix)
}

// ownRoutes are the addresses of a centre's own view: once for who has an account, and
// once for who has a link. All of one link begins with its secret, also what is nothing.
func (s *Site) ownRoutes() (out []access.Route) {
	all := []struct {
		method, path string
		handler      http.Handler
	}{
		{"GET", "", s.own(s.ownHome)},
		{"GET", "/files", s.own(s.ownFiles)},
		{"GET", "/files/{action}/{name}", s.own(s.ownFile)},
		{"GET", "/files/{action}/{name}/documents/{entry...}", s.own(s.ownDocument)},
		{"GET", "/documents", s.own(s.ownDocuments)},
		{"GET", "/errors.csv", http.HandlerFunc(s.ownSheet)},
		{"GET", "/weeks/{week}", s.own(s.ownWeek)},
		{"GET", "/feed.xml", http.HandlerFunc(s.ownFeed)},
		{"GET", "/{nothing...}", s.own(s.ownNothing)},
		{"POST", "/theme", http.HandlerFunc(s.ownTheme)},
	}
	for _, x := range all {
		x.handler = s.ownNow(x.handler)
		out = append(out, access.Route{Pattern: x.method + " " + access.OwnPath + x.path, Least: access.Producer, Handler: kept(x.handler)})
		if s.ByLink != nil {
			out = append(out, access.Route{Pattern: x.method + " " + access.CentrePath + "/{token}" + x.path, Least: access.Nobody, Handler: s.ByLink(x.handler)})
		}
	}
	return out
}

// ownNow has what a centre sees refuse to be shown as of a moment.
func (s *Site) ownNow(next http.Handler) http.Handler {
	refuse := s.own(func(context.Context, ownAt, *http.Request) (ownPage, error) {
		return ownPage{}, past.NoPast("This page")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asksMoment(r) {
			refuse.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// kept has nobody keep what is answered.
func kept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-store")
		next.ServeHTTP(w, r)
	})
}

// ownTemplates are the pages of a centre's own view, in a frame of their own.
func (s *Site) ownTemplates() (map[string]*template.Template, error) {
	frame, err := template.New("own.html").Funcs(s.funcs()).ParseFS(templates, "templates/own/frame/*.html", "templates/frame/sprite.html", "templates/frame/parts.html", "templates/frame/list.html")
	if err != nil {
		return nil, fmt.Errorf("templates of a centre's pages: %w", err)
	}
	pages, err := fs.Glob(templates, "templates/own/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of a centre's pages: %w", err)
	}
	out := map[string]*template.Template{}
	for _, file := range pages {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if out[name], err = template.Must(frame.Clone()).ParseFS(templates, file); err != nil {
			return nil, fmt.Errorf("templates of a centre's pages: %w", err)
		}
	}
	return out, nil
}

// ownOf is what who asks sees; errNoPage if they are of no centre.
func (s *Site) ownOf(r *http.Request) (ownAt, error) {
	at := ownAt{site: s, base: access.OwnPath, View: own.View{Tracker: s.Tracker, Centre: access.From(r.Context()).Centre, Now: s.Now()}}
	if token := r.PathValue("token"); token != "" {
		at.base = access.CentrePath + "/" + token
	}
	if at.Centre == "" {
		return at, errNoPage
	}
	return at, nil
}

// ownFrame is what is around each page of a centre.
type ownFrame struct {
	ownPage

	Centre                     string
	Theme                      string
	Home, Feed, ThemeTo, OutTo string // addresses
	Name                       string // whose account it is; empty: a link's
	Ends                       string // when the link ends; empty: an account's
	Now                        time.Time
}

// own answers with a page of what a centre sees, whole or not at all. What it does not
// see, what there is not, and what can't be read is one and the same.
func (s *Site) own(view ownView) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		status := http.StatusOK
		at, err := s.ownOf(r)
		var p ownPage
		if err == nil {
			p, err = view(ctx, at, r)
		}
		if err != nil {
			status, p = s.ownFailed(at, err)
		}
		var b bytes.Buffer
		if err := s.owns[p.Template].Execute(&b, at.frame(r, p)); err != nil {
			s.Log.Error("a centre's page can't be made", "page", p.Template, "centre", at.Centre, "error", err) // its address may be a secret
			http.Error(w, "This page can't be made at the moment.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // the client may be gone, which is its affair
	})
}

func (at ownAt) frame(r *http.Request, p ownPage) ownFrame {
	f := ownFrame{ownPage: p, Centre: at.Centre, Theme: themeOf(r), Home: at.to(""), Feed: at.to("/feed.xml"), ThemeTo: at.to("/theme"), OutTo: at.site.to("/logout"), Now: at.Now.UTC()}
	if ends, ok := access.LinkEnds(r.Context()); ok {
		f.Ends = ends.UTC().Format("2 January 2006")
	}
	if at.base == access.OwnPath {
		f.Name = access.From(r.Context()).Name
	}
	return f
}

// ownFailed is the page that says why there is no other.
func (s *Site) ownFailed(at ownAt, err error) (int, ownPage) {
	var unknown *report.UnknownError
	var filter *report.FilterError
	var moment *past.Problem
	if errors.As(err, &moment) {
		return moment.Status, ownPage{Title: "Only as it stands now", Template: "failed", Data: moment.Detail}
	}
	if errors.Is(err, errNoPage) || errors.Is(err, errBadFilter) || errors.Is(err, report.ErrNotFound) || errors.As(err, &unknown) || errors.As(err, &filter) {
		return http.StatusNotFound, ownPage{Title: "There is nothing here", Template: "failed", Data: "There is nothing of yours at this address."}
	}
	s.Log.Warn("a centre's page can't be read", "centre", at.Centre, "error", err) // its address may be a secret
	return http.StatusServiceUnavailable, ownPage{Title: "Not now", Template: "failed", Data: "This can't be read at the moment. Try again in a minute."}
}

// ownNothing is the page of every other address.
func (s *Site) ownNothing(context.Context, ownAt, *http.Request) (ownPage, error) {
	return ownPage{}, errNoPage
}

// ownTheme keeps the theme that was chosen. Pages by a link tell nobody where somebody
// came from, so that it leads back to their first.
func (s *Site) ownTheme(w http.ResponseWriter, r *http.Request) {
	at, _ := s.ownOf(r)
	s.chooseTheme(w, r, at.to(""))
}

// plainStatus is how a file or a document stands, in plain words.
type plainStatus struct{ Status, Stands string }

func standing(phase, status string, name *string) plainStatus {
	p := plainStatus{status, own.Stands(phase, status, text(name))}
	if status == string(schemas.Done) && schemas.Phase(phase).ID() < schemas.Overview.ID() {
		p.Status = string(schemas.Running) // what is done with one phase waits for the next
	}
	return p
}

// ownRow is a file or a document in a list.
type ownRow struct {
	plainStatus

	Action, Name, To string
	Document         string
	Why, Exception   string
	Last, DateTime   string
}

func (at ownAt) fileRow(f report.File) ownRow {
	row := ownRow{plainStatus: standing(f.Phase, f.Status, f.Exception), Action: f.Action, Name: f.File, To: at.fileTo(f.Action, f.File)}
	row.why(text(f.Exception), cut(text(f.Message)), "")
	row.when(at.site, f.Last)
	return row
}

func (r *ownRow) when(s *Site, at *time.Time) {
	if at != nil {
		r.Last, r.DateTime = s.recent(*at), at.UTC().Format(time.RFC3339)
	}
}

// why is what is wrong: its own words, else those for its name.
func (r *ownRow) why(name, says, finds string) {
	if name == "" {
		return
	}
	title, _ := own.Words(name, finds, own.MoveOf(name))
	r.Exception, r.Why = name, cmp.Or(says, title)
}
