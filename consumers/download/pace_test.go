package download

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/internal/throttle"
	"tributary/schemas"
)

// For how long a server asks to be left alone stands in the outcome, whatever it was
// asked for.
func TestTheOutcomeSaysForHowLongAServerAsksToBeLeftAlone(t *testing.T) {
	for _, busy := range []string{"/add/1.zip", "/robots.txt"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == busy {
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(s.Close)
		b := newBench(t)
		b.deps.Dial, b.definition = connectors.All().Dial, `{"id": "src", "url": "`+s.URL+`/"}`
		if err := b.work(t.Context(), b.job("1.zip")); err != nil {
			t.Fatal(err)
		}
		if d := b.finished()["1.zip"]; d == nil || d.Exception != "server_busy" || d.RetryAfter != (2*time.Minute).Milliseconds() {
			t.Errorf("%s is busy: it ended as %+v", busy, d)
		}
	}
}

// patient lets what came be paid off for a second each time.
type patient struct{ spent atomic.Int64 }

func (p *patient) Server(context.Context, string) (throttle.Server, error) {
	return throttle.Server{Name: "host:22", Sessions: 1, Sources: []throttle.Source{{ID: "src", Definition: `{"throttle":[{"rate":"256KiB"}]}`}}}, nil
}
func (p *patient) Claim(context.Context, []throttle.Bound) (time.Duration, error) { return 0, nil }
func (p *patient) Answered(context.Context, []throttle.Bound) error               { return nil }
func (p *patient) Heed(context.Context, string, time.Duration) error              { return nil }
func (p *patient) Spend(_ context.Context, _ []throttle.Bound, n int64) (time.Duration, error) {
	p.spent.Add(n)
	return time.Second, nil
}

// Who waits since no more may come is not too slow, and makes progress.
func TestAPaceIsNoSlowness(t *testing.T) {
	synctest.Test(t, aPaceIsNoSlowness)
}

func aPaceIsNoSlowness(t *testing.T) {
	b := newBench(t)
	store := &patient{}
	b.deps.Gate = func(src config.Source, server string) *throttle.Gate {
		return throttle.NewGate(store, throttle.Server{Name: server}, src.ID, time.Now, slog.New(slog.DiscardHandler))
	}
	b.cfg.MinRate, b.cfg.RateGrace = 128<<10, config.Duration(2*time.Second)
	piece := strings.Repeat("x", 64<<10)
	content := strings.Repeat(piece, 4)
	b.put("1.zip", content).reader = func(context.Context) io.Reader {
		return io.MultiReader(strings.NewReader(piece), strings.NewReader(piece), strings.NewReader(piece), strings.NewReader(piece))
	}
	if err := b.work(t.Context(), b.job("1.zip")); err != nil {
		t.Fatal(err)
	}
	if d := b.finished()["1.zip"]; d == nil || d.Result != schemas.Fetched || store.spent.Load() != int64(len(content)) {
		t.Errorf("%d bytes are paid off; it ended as %+v", store.spent.Load(), d)
	}
	if b.progress < 8 {
		t.Errorf("progress was told %d times while it waited for some seconds", b.progress)
	}
}
