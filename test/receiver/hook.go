// Package receiver is whom notices are told in tests: a webhook that checks who signs,
// and a mail server. Both can be made to fail.
package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Secret is what the webhook's messages must be signed with.
const Secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// Told is a message as the webhook got it.
type Told struct {
	ID   string
	Type string
	File string
	Data map[string]any
	Raw  string
}

// Hook is a webhook.
type Hook struct {
	URL string

	mu     sync.Mutex
	told   []Told
	tries  int
	answer func(Told) int
	bad    error
}

// NewHook starts a webhook that ends with the test, which fails if a message is not as
// the convention has it.
func NewHook(t testing.TB) *Hook {
	h := &Hook{}
	s := httptest.NewServer(h)
	h.URL = s.URL + "/hook"
	t.Cleanup(func() {
		s.Close()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.bad != nil {
			t.Error(h.bad)
		}
	})
	return h
}

// Answer has the webhook answer with statuses that a function chooses; nil: with 200.
// What isn't answered with 2xx was not told.
func (h *Hook) Answer(f func(Told) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

// Told is what was told, in order.
func (h *Hook) Told() []Told {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

// Tries is how many messages came, those included that were not taken.
func (h *Hook) Tries() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tries
}

func (h *Hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got, err := read(r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries++
	if err != nil {
		h.bad = err
	}
	status := http.StatusOK
	if h.answer != nil {
		status = h.answer(got)
	}
	if status == http.StatusOK {
		h.told = append(h.told, got)
	}
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

// read reads a message, and checks all that the convention says of it.
func read(r *http.Request) (Told, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/hook" {
		return Told{}, fmt.Errorf("%s %s came", r.Method, r.URL.Path)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return Told{}, nil //nolint:nilerr // who sent it was killed
	}
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	key, _ := base64.StdEncoding.DecodeString(Secret[len("whsec_"):])
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "." + string(raw)))
	if want, got := "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), r.Header.Get("webhook-signature"); got != want {
		return Told{}, fmt.Errorf("the signature is %s, want %s", got, want)
	}
	if s, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(s, 0)).Abs() > time.Hour {
		return Told{}, fmt.Errorf("the timestamp is %q", at)
	}
	var body struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	if err := json.Unmarshal(raw, &body); err != nil || body.Timestamp.IsZero() {
		return Told{}, fmt.Errorf("the body is %s: %v", raw, err)
	}
	file, _ := body.Data["file"].(string)
	return Told{id, body.Type, file, body.Data, string(raw)}, nil
}
