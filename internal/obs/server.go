package obs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers /livez, /readyz and /metrics. It has no authentication.
type Server struct {
	Addr     string // host:port
	Health   *Health
	Registry *prometheus.Registry
	Logger   *slog.Logger

	// Listening, if set, is told the address once it is listened on: with
	// port 0 the system chooses one.
	Listening func(addr string)
}

// Handler is what the server serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, "livez", nil, true) // whoever answers is live: nothing that is away is mended by a restart
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		results, ok := s.Health.Ready(r.Context())
		answer(w, r, "readyz", results, ok)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	return mux
}

// answer writes ok or what fails; with ?verbose every check, one a line.
func answer(w http.ResponseWriter, r *http.Request, name string, results []Result, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	var b strings.Builder
	for _, c := range results {
		switch {
		case c.Warns && c.Reason != "":
			if r.URL.Query().Has("verbose") {
				fmt.Fprintf(&b, "[!] %s: %s\n", c.Name, oneLine(c.Reason))
			}
		case c.Reason != "":
			fmt.Fprintf(&b, "[-] %s: %s\n", c.Name, oneLine(c.Reason))
		case r.URL.Query().Has("verbose"):
			fmt.Fprintf(&b, "[+] %s\n", c.Name)
		}
	}
	if ok {
		fmt.Fprintln(&b, "ok")
	} else {
		fmt.Fprintln(&b, name+" failed")
	}
	_, _ = w.Write([]byte(b.String())) // the client may be gone, which is its affair
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Run listens and serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("http.listen: %w: choose another address", err)
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	s.Logger.Info("serving health and metrics", "address", listener.Addr().String())
	if s.Listening != nil {
		s.Listening(listener.Addr().String())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("http.listen: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop serving: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health and metrics: %w", err)
	}
	return nil
}
