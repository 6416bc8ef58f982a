package obs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tributary/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLogger(t *testing.T) {
	tests := map[string]struct {
		cfg      config.Log
		terminal bool
		want     string // contained in the line; empty: nothing is logged
	}{
		"json":                   {config.Log{Level: "info", Format: "json"}, true, `"msg":"hello"`},
		"text":                   {config.Log{Level: "debug", Format: "text"}, false, "level=INFO msg=hello"},
		"auto on a terminal":     {config.Log{Level: "info", Format: "auto"}, true, "msg=hello"},
		"auto to a file":         {config.Log{Level: "info", Format: "auto"}, false, `"msg":"hello"`},
		"below the chosen level": {config.Log{Level: "warn", Format: "auto"}, false, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			log, err := NewLogger(&b, tc.terminal, tc.cfg, &slog.LevelVar{})
			if err != nil {
				t.Fatal(err)
			}
			log.Info("hello")
			if tc.want == "" && b.Len() > 0 || !strings.Contains(b.String(), tc.want) {
				t.Errorf("logged %q, want %q", b.String(), tc.want)
			}
		})
	}
	for _, cfg := range []config.Log{{Level: "loud", Format: "auto"}, {Level: "info", Format: "xml"}} {
		if _, err := NewLogger(io.Discard, false, cfg, &slog.LevelVar{}); err == nil {
			t.Errorf("NewLogger accepted %+v", cfg)
		}
	}
}

func server() (*Server, *Health) {
	h := NewHealth()
	return &Server{Addr: "127.0.0.1:0", Health: h, Registry: NewRegistry("v1"), Logger: slog.New(slog.DiscardHandler)}, h
}

func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestHealth(t *testing.T) {
	s, h := server()
	expect := func(path string, code int, body string) {
		t.Helper()
		if c, b := get(t, s, path); c != code || b != body {
			t.Errorf("%s = %d %q, want %d %q", path, c, b, code, body)
		}
	}
	expect("/livez", 200, "ok\n")
	expect("/readyz", 200, "ok\n")

	broker := errors.New("no broker\nanswers")
	h.AddReady("kafka", func(context.Context) error { return broker })
	stage := h.Component("download")
	expect("/livez", 200, "ok\n") // a broker that is away is no reason to restart
	expect("/readyz", 503, "[-] download: starting\n[-] kafka: no broker answers\nreadyz failed\n")
	broker = nil
	stage.Ready(nil)
	expect("/readyz", 200, "ok\n")
	expect("/readyz?verbose", 200, "[+] download\n[+] kafka\nok\n")
	stage.NotReady("stalled")
	expect("/readyz?verbose", 503, "[-] download: stalled\n[+] kafka\nreadyz failed\n")
	// What only warns is said to who asks for all, and fails nothing.
	h.AddWarning("broker_log", func(context.Context) error { return errors.New("too large") })
	expect("/readyz?verbose", 503, "[!] broker_log: too large\n[-] download: stalled\n[+] kafka\nreadyz failed\n")
	stage.Ready(nil)
	expect("/readyz", 200, "ok\n")
	expect("/readyz?verbose", 200, "[!] broker_log: too large\n[+] download\n[+] kafka\nok\n")
	stage.Ready(func() error { return errors.New("has not joined its group yet") })
	expect("/readyz", 503, "[-] download: has not joined its group yet\nreadyz failed\n")
	expect("/livez", 200, "ok\n")
	expect("/nothing", 404, "404 page not found\n")
}

func TestMetrics(t *testing.T) {
	s, _ := server()
	code, body := get(t, s, "/metrics")
	if code != 200 || !strings.Contains(body, "tributary_build_info{") || !strings.Contains(body, `version="v1"} 1`) {
		t.Errorf("/metrics = %d without build_info:\n%.500s", code, body)
	}
}

func TestRunServesUntilItIsStopped(t *testing.T) {
	s, _ := server()
	addr := make(chan string, 1)
	s.Listening = func(a string) { addr <- a }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + <-addr + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 200 {
		t.Errorf("/livez = %d", r.StatusCode)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestRunRefusesATakenAddress(t *testing.T) {
	first, _ := server()
	addr := make(chan string, 1)
	first.Listening = func(a string) { addr <- a }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- first.Run(ctx) }()
	second, _ := server()
	second.Addr = <-addr
	if err := second.Run(ctx); err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("Run on a taken address = %v", err)
	}
	cancel()
	<-done
}
