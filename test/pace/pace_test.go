package pace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/remote"
	"tributary/internal/throttle"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/test/servers"
)

// resolution is how far a difference of times in nginx's log may be from the truth: each
// is made of two numbers of milliseconds.
const resolution = 4 * time.Millisecond

// request is a line of the server's log.
type request struct {
	began, ended time.Duration // since the epoch
	what         string
}

// site is an nginx with files in add, and what it was asked, in order.
func site(t *testing.T, size int, names ...string) *servers.HTTPD {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"add", "edit"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(root, dir, name), make([]byte, size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "robots.txt"), []byte("User-agent: *\nCrawl-delay: 0.15\nDisallow: /edit\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: root})
	if err != nil {
		enginetest.Missing(t, err.Error())
	}
	t.Cleanup(nginx.Stop)
	return nginx
}

func asked(t *testing.T, nginx *servers.HTTPD) (out []request) {
	t.Helper()
	nginx.Stop() // so that all is written
	text, err := os.ReadFile(nginx.Times)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		var times [2]time.Duration
		for i := range times {
			if times[i], err = time.ParseDuration(parts[i] + "s"); err != nil {
				t.Fatal(line, err)
			}
		}
		if strings.HasSuffix(parts[2], "HTTP/1.0") {
			continue // whoever started it has looked whether it answers
		}
		out = append(out, request{times[0] - times[1], times[0], parts[2]})
	}
	slices.SortFunc(out, func(a, b request) int { return int(a.began - b.began) })
	return out
}

// define has control know a source of the site.
func define(t *testing.T, pool *pgxpool.Pool, src config.Source) {
	t.Helper()
	text, err := src.Definition()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
		VALUES ($1, 'H', 'site', 'http', $2, 4, '1 hour', 'available', 1, $3::text::jsonb)`, src.ID, src.URL, text); err != nil {
		t.Fatal(err)
	}
}

// member does what one does: it lists and fetches, through a session of its own.
func member(ctx context.Context, pool *pgxpool.Pool, src config.Source) (err error) {
	gate := control.GateTo(pool, src, "site", time.Now, slog.New(slog.DiscardHandler))
	defer gate.Close(ctx)
	s, err := remote.Dial(ctx, remote.Config{URL: src.URL, Gate: gate, IgnoreRobots: src.Robots == config.RobotsIgnore})
	if err != nil {
		return err
	}
	defer s.Close()
	var names []string
	if err := s.List(ctx, "add", func(e remote.Entry) error { names = append(names, e.Name); return nil }); err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, fetch(ctx, s, gate, "add/"+name))
		if _, forbidden := s.Stat(ctx, "edit/"+name); src.Robots != config.RobotsIgnore && remote.Exception(forbidden) != "robots_forbidden" {
			err = errors.Join(err, errors.New("what robots.txt forbids is asked for"), forbidden)
		}
	}
	return err
}

func fetch(ctx context.Context, s remote.Session, gate *throttle.Gate, path string) error {
	r, err := s.Open(ctx, path, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := r.Read(b)
		if err := gate.Took(ctx, int64(n), nil); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// all lets members work at once.
func all(t *testing.T, pool *pgxpool.Pool, sources ...config.Source) {
	t.Helper()
	var wg sync.WaitGroup
	for _, src := range sources {
		wg.Go(func() {
			if err := member(t.Context(), pool, src); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// The pause of one source of a server is kept by all sessions together, of another
// source of it too.
func TestNginxSeesPauses(t *testing.T) {
	t.Parallel()
	const pause = 100 * time.Millisecond
	pool, nginx := controltest.Open(t, 10), site(t, 10, "a.zip", "b.zip")
	first := config.Source{ID: "a", URL: nginx.URL("/"), Robots: config.RobotsIgnore, Throttle: config.Throttles{{Pause: config.Duration(pause)}}}
	second := config.Source{ID: "b", URL: nginx.URL("/"), Robots: config.RobotsIgnore}
	define(t, pool, first)
	define(t, pool, second)
	all(t, pool, first, second, first)
	judge(t, asked(t, nginx), 3*2*3, pause)
}

// judge expects that many requests at least, none sooner than a pause after the one
// before.
func judge(t *testing.T, log []request, least int, pause time.Duration) {
	t.Helper()
	if len(log) < least {
		t.Errorf("nginx has noted %d requests, want %d or more:\n%v", len(log), least, log)
	}
	for i, r := range log[1:] {
		if between := r.began - log[i].began; between < pause-resolution {
			t.Errorf("%s comes %s after %s, want %s or more", r.what, between, log[i].what, pause)
		}
	}
}

// What robots.txt asks for is kept without a key of the source: the pause, and what is
// not to be asked for.
func TestNginxSeesWhatRobotsTxtAsksFor(t *testing.T) {
	t.Parallel()
	pool, nginx := controltest.Open(t, 10), site(t, 10, "a.zip", "b.zip")
	src := config.Source{ID: "a", URL: nginx.URL("/")}
	define(t, pool, src)
	all(t, pool, src)
	log := asked(t, nginx)
	judge(t, log, 1+1+2+2, 150*time.Millisecond)
	for _, r := range log {
		if strings.Contains(r.what, "/edit") {
			t.Errorf("nginx was asked for what robots.txt forbids: %s", r.what)
		}
	}
}

// However many sessions there are, no more requests come than are allowed: all but one
// are that far apart, as the first may have been long on its way.
func TestNginxSeesRequestsAMinute(t *testing.T) {
	t.Parallel()
	pool, nginx := controltest.Open(t, 10), site(t, 10, "a.zip", "b.zip")
	src := config.Source{ID: "a", URL: nginx.URL("/"), Robots: config.RobotsIgnore, Throttle: config.Throttles{{Of: config.ThrottleSource, Requests: 600}}}
	define(t, pool, src)
	all(t, pool, src, src)
	log := asked(t, nginx)
	took := log[len(log)-1].began - log[0].began
	if least := time.Duration(len(log)-2) * 100 * time.Millisecond; took < least-resolution {
		t.Errorf("%s requests took %s, want %s or more", strconv.Itoa(len(log)), took, least)
	}
}

// Bytes come no faster than is allowed, but for those that the machines keep on the way.
func TestNginxSeesTheRate(t *testing.T) {
	t.Parallel()
	const size, rate, onTheWay = 16 << 20, 8 << 20, 10 << 20
	pool, nginx := controltest.Open(t, 10), site(t, size, "a.zip")
	src := config.Source{ID: "a", URL: nginx.URL("/"), Robots: config.RobotsIgnore, Throttle: config.Throttles{{Rate: rate}}}
	define(t, pool, src)
	all(t, pool, src, src, src)
	log := asked(t, nginx)
	var ended time.Duration
	for _, r := range log {
		ended = max(ended, r.ended)
	}
	took := ended - log[0].began
	if least := time.Duration(float64(3*(size-onTheWay)) / rate * float64(time.Second)); took < least {
		t.Errorf("%d bytes took %s, want %s or more", 3*size, took, least)
	}
}
