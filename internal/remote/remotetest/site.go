package remotetest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Site is an HTTP server that answers as its test wants, and notes what it was
// asked, with the header Authorization where there was one.
type Site struct {
	*httptest.Server

	mu   sync.Mutex
	seen []string
}

// NewSite starts one, which ends with the test.
func NewSite(t *testing.T, handle http.HandlerFunc) *Site {
	t.Helper()
	s := &Site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Authorization")))
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Asked are the requests so far.
func (s *Site) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}
