// Package web serves the pages and the API of the tracker. It reads projections and
// acts through the functions that commands use: nothing that it shows or does is its
// own. Whoever asks has said who they are (web/access), on loopback too.
package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"tributary/web/access"
)

// Limits of what a client may hold up. Reading an answer may take long where it is
// one that goes on (events), so that handlers bound their own.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// maxBody is the most that a form or a request may bring, in bytes.
	maxBody  = 1 << 20
	stopTime = 3 * time.Second
)

// Config says where the pages are.
type Config struct {
	// Listen is host:port, and Else where to listen if that is taken; empty: nowhere.
	Listen, Else string
	// Prefix is the path below which a proxy passes requests on, such as /tributary;
	// empty where there is none.
	Prefix string
	// CertFile and KeyFile are files in PEM; both empty: without TLS.
	CertFile, KeyFile string
}

// Guard lets those in who may (web/access).
type Guard interface {
	// Require passes on to next who has at least the role.
	Require(least access.Role, next http.Handler) http.Handler
}

// Deps are what the pages are made of.
type Deps struct {
	Guard  Guard
	Routes []access.Route
	Static fs.FS
	Log    *slog.Logger
	// Listening, if set, is told the address once it is listened on.
	Listening func(ctx context.Context, addr string)
}

// Server serves pages and API.
type Server struct {
	cfg  Config
	deps Deps
}

// New makes a server that does not listen yet.
func New(cfg Config, deps Deps) *Server { return &Server{cfg: cfg, deps: deps} }

// Handler is what the server serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.deps.Routes {
		h := r.Handler
		if r.Least > access.Nobody {
			h = s.deps.Guard.Require(r.Least, h)
		}
		mux.Handle(r.Pattern, h)
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", static(s.deps.Static)))
	return secured(s.cfg.CertFile != "", http.StripPrefix(s.cfg.Prefix, mux))
}

// Run listens and serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var how net.ListenConfig
	listener, err := how.Listen(ctx, "tcp", s.cfg.Listen)
	if errors.Is(err, syscall.EADDRINUSE) && s.cfg.Else != "" {
		listener, err = how.Listen(ctx, "tcp", s.cfg.Else)
	}
	if err != nil {
		return fmt.Errorf("web.listen: %w: choose another address", err)
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // what goes on ends with the server
		ErrorLog:          slog.NewLogLogger(s.deps.Log.Handler(), slog.LevelDebug),
	}
	if s.deps.Listening != nil {
		s.deps.Listening(ctx, listener.Addr().String())
	}
	served := make(chan error, 1)
	go func() {
		if s.cfg.CertFile != "" {
			served <- server.ServeTLS(listener, s.cfg.CertFile, s.cfg.KeyFile)
		} else {
			served <- server.Serve(listener)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve the pages: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop serving the pages: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}

// policy lets a page use what the server itself serves, and nothing written into it:
// a name or a message that gets into the markup can't do anything there.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured says with every answer what a browser may do with it.
func secured(tls bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if tls {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		h.Set("Cache-Control", "private, no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// static serves files that change with the program only. Browsers ask each time
// whether they have, so that pages never meet another program's style or script.
func static(files fs.FS) http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := fs.ReadFile(files, r.URL.Path)
		if err != nil {
			http.NotFound(w, r) // folders too: no listing
			return
		}
		w.Header().Set("Etag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}
