package access

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tributary/sql/control"
)

//go:embed templates/*.html
var files embed.FS

const (
	loginPath  = "/login"
	logoutPath = "/logout"
	apiPath    = "/api/"
)

// Config says how people log in.
type Config struct {
	// Prefix is the path below which a proxy passes requests on; empty: none. The
	// guard is asked without it.
	Prefix string
	// Secure has browsers send the cookie over TLS only. It is false only where pages
	// are served without: on loopback, or by an explicit order.
	Secure bool
	// Proxies are the addresses of proxies before the pages, whose word on who asks is
	// taken (X-Forwarded-For): failed logins are counted for each address.
	Proxies []netip.Prefix
	// Idle and Absolute are how long a session lasts without a request, and at all; 0:
	// 12 hours and 7 days.
	Idle, Absolute time.Duration
}

// Deps are what the guard is made of.
type Deps struct {
	Store Store
	// Provider is with whom people log in who have no password here; nil: nobody.
	Provider *Provider
	// Known is the account of somebody whom a provider knows, made where there is none.
	Known func(ctx context.Context, issuer, subject string, p Person) (*control.Account, error)
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	defaultIdle     = 12 * time.Hour
	defaultAbsolute = 7 * 24 * time.Hour
	// seenEvery is how often it is noted that a session or a token asks.
	seenEvery = time.Minute
	// patience is how long the store may take.
	patience = 10 * time.Second
	// sessionsKept is how many browsers may be logged in with one account.
	sessionsKept = 50
)

// Guard lets those in who may. It is safe for concurrent use.
type Guard struct {
	cfg       Config
	deps      Deps
	crossing  *http.CrossOriginProtection
	attempts  *attempts
	asking    chan struct{} // held while a provider is asked
	waiting   chan struct{} // held by who waits for a password to be computed, or has it computed
	computing chan struct{} // held while one is computed, which takes 19 MiB
	templates *template.Template
}

// New makes a guard.
func New(cfg Config, deps Deps) *Guard {
	cfg.Idle, cfg.Absolute = cmp.Or(cfg.Idle, defaultIdle), cmp.Or(cfg.Absolute, defaultAbsolute)
	return &Guard{
		cfg: cfg, deps: deps, crossing: http.NewCrossOriginProtection(), attempts: newAttempts(),
		asking: make(chan struct{}, askers), waiting: make(chan struct{}, waiters), computing: make(chan struct{}, computations),
		templates: template.Must(template.ParseFS(files, "templates/*.html")),
	}
}

// Routes are the addresses at which people log in and out.
func (g *Guard) Routes() []Route {
	return append(g.providerRoutes(), []Route{
		{"GET " + loginPath, Nobody, http.HandlerFunc(g.showLogin)},
		{"POST " + loginPath, Nobody, g.sameOrigin(g.login)},
		{"GET " + loginPath + "/{secret}", Nobody, http.HandlerFunc(g.showLink)},
		{"POST " + loginPath + "/{secret}", Nobody, g.sameOrigin(g.useLink)},
		{"POST " + logoutPath, Nobody, g.sameOrigin(g.logout)},
	}...)
}

// sameOrigin refuses what another site has a browser do, and bounds what is done.
func (g *Guard) sameOrigin(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.crossing.Check(r); err != nil {
			g.refuse(w, r, http.StatusForbidden, crossOrigin)
			return
		}
		ctx, done := context.WithTimeout(r.Context(), patience)
		defer done()
		next(w, r.WithContext(ctx))
	})
}

// Require passes on to next who has at least the role, as From then tells it.
func (g *Guard) Require(least Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, done := context.WithTimeout(r.Context(), patience)
		p, err := g.who(r.WithContext(ctx))
		done()
		// What was answered to one is for nobody else.
		w.Header().Add("Vary", "Cookie, Authorization")
		switch {
		case errors.Is(err, errCrossOrigin):
			g.refuse(w, r, http.StatusForbidden, crossOrigin)
		case errors.Is(r.Context().Err(), context.Canceled):
			// Whoever asked is gone, and reads no answer.
		case err != nil:
			g.deps.Log.ErrorContext(r.Context(), "can't look who asks", "error", err)
			g.refuse(w, r, http.StatusServiceUnavailable, unavailable)
		case p.Role == Producer && r.URL.Path == "/" && !forPrograms(r):
			// Who is of one centre begins with what is theirs.
			http.Redirect(w, r, g.cfg.Prefix+OwnPath, http.StatusSeeOther)
		case p.Role >= least:
			next.ServeHTTP(w, r.WithContext(With(r.Context(), p)))
		case p.Role > Nobody:
			g.refuse(w, r, http.StatusForbidden, forbidden(p, least))
		case forPrograms(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			g.refuse(w, r, http.StatusUnauthorized, unauthenticated)
		default:
			g.sendToLogin(w, r)
		}
	})
}

var errCrossOrigin = errors.New("another site has a browser ask")

// who is who asks: by a token, or by the session that the cookie names. It is nobody,
// without an error, if neither is good.
func (g *Guard) who(r *http.Request) (Person, error) {
	if secret, ok := bearer(r); ok {
		// No browser sends a token by itself, so that no other site can have one do it.
		return g.token(r, tokenDigest(secret))
	}
	session := g.session(r)
	if session == nil {
		return Person{}, nil
	}
	if g.crossing.Check(r) != nil || crossing(r) {
		return Person{}, errCrossOrigin
	}
	return g.sessionOf(r, session)
}

// bearer is the token that a program sends.
func bearer(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return secret, strings.EqualFold(scheme, "Bearer")
}

// crossing tells whether a page of another site asks, for something that is no page
// to go to. Links to pages work from everywhere.
func crossing(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

func (g *Guard) token(r *http.Request, secret []byte) (Person, error) {
	if secret == nil {
		return Person{}, nil
	}
	now := g.deps.Now()
	t, err := g.deps.Store.Token(r.Context(), secret)
	if err != nil || t == nil || t.RevokedAt != nil || !now.Before(t.ExpiresAt) {
		return Person{}, err
	}
	if t.UsedAt == nil || now.Sub(*t.UsedAt) >= seenEvery {
		if err := g.deps.Store.SeeToken(r.Context(), secret, now); err != nil {
			return Person{}, err
		}
	}
	return person("token:"+t.Name, t.Role, t.Centre)
}

func (g *Guard) sessionOf(r *http.Request, secret []byte) (Person, error) {
	now := g.deps.Now()
	s, err := g.deps.Store.Session(r.Context(), secret)
	if err != nil || s == nil || s.DisabledAt != nil || now.Sub(s.BegunAt) >= g.cfg.Absolute || now.Sub(s.SeenAt) >= g.cfg.Idle {
		return Person{}, err
	}
	if now.Sub(s.SeenAt) >= seenEvery {
		if err := g.deps.Store.SeeSession(r.Context(), secret, now); err != nil {
			return Person{}, err
		}
	}
	return person(s.Name, s.Role, s.Centre)
}

// sendToLogin has a browser go to the login page, and back afterwards where that is a
// page.
func (g *Guard) sendToLogin(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("HX-Request") != "" {
		// A part of a page asks: the page must go, not the part.
		page := ""
		if u, err := url.Parse(r.Header.Get("HX-Current-URL")); err == nil {
			page = u.RequestURI()
		}
		w.Header().Set("HX-Redirect", g.loginFor(page))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	page := ""
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		page = g.cfg.Prefix + r.URL.RequestURI()
	}
	http.Redirect(w, r, g.loginFor(page), http.StatusSeeOther)
}

// loginFor is the address of the login page that leads to another.
func (g *Guard) loginFor(page string) string {
	to := g.cfg.Prefix + loginPath
	if back := g.local(page); back != g.cfg.Prefix+"/" {
		to += "?next=" + url.QueryEscape(back)
	}
	return to
}

// maxNext is how long the address of a page may be to which a login leads.
const maxNext = 2000

// local is an address as it was given if it is one of these pages, else that of the
// first page: nobody is sent elsewhere by a link to the login.
func (g *Guard) local(next string) string {
	first := g.cfg.Prefix + "/"
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNext || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, first) || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(u.Path, "\\\x00") ||
		strings.Contains(u.Path, "/..") || strings.HasPrefix(u.Path, g.cfg.Prefix+loginPath) || strings.ContainsFunc(next, unprintable) {
		return first
	}
	return next
}

func unprintable(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }
