package pace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/throttle"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// served is a directory with files in add and edit that every server may read.
func served(t *testing.T, size int, names ...string) string {
	t.Helper()
	root, err := os.MkdirTemp("", "pace") // Apache reads it as nobody
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, size := range map[string]int{"add": size, "edit": 10} {
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
	return root
}

// each starts a server of each kind, and has control know sources of it; then members
// work for these, one for each of the list, all at once. It began when all were connected,
// which takes its time.
func each(t *testing.T, size int, sources []config.Source, members []int, judge func(t *testing.T, k kind, log []request, began, ended time.Duration), names ...string) {
	t.Helper()
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, s := controltest.Open(t, 10), k.start(t, served(t, size, names...), "http://127.0.0.1:1")
			t.Cleanup(s.stop)
			for _, src := range sources {
				src.URL = s.URL
				define(t, pool, src)
			}
			var began time.Duration
			var mu sync.Mutex
			var wg, connected sync.WaitGroup
			connected.Add(len(members))
			ready := func() {
				mu.Lock()
				began = time.Duration(time.Now().UnixNano())
				mu.Unlock()
				connected.Done()
				connected.Wait()
			}
			for _, i := range members {
				wg.Go(func() {
					if err := member(t.Context(), pool, sources[i], s.Config, ready); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			log, ended := s.asked(t, k)
			judge(t, k, log, began, ended)
		})
	}
}

// define has control know a source of the server.
func define(t *testing.T, pool *pgxpool.Pool, src config.Source) {
	t.Helper()
	text, err := src.Definition()
	if err != nil {
		t.Fatal(err)
	}
	protocol, _, _ := strings.Cut(src.URL, ":")
	if _, err := pool.Exec(t.Context(), `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
		VALUES ($1, 'H', 'site', $4, $2, 4, '1 hour', 'available', 1, $3::text::jsonb)`, src.ID, src.URL, text, protocol); err != nil {
		t.Fatal(err)
	}
}

// member does what one does: it lists and fetches, through a session of its own. Where
// robots.txt is heeded it also wants what that forbids, straight and by a redirect, and
// what a mirror has. It calls ready before it does any of it.
func member(ctx context.Context, pool *pgxpool.Pool, src config.Source, c remote.Config, ready func()) (err error) {
	src.URL = c.URL
	gate := control.GateTo(pool, src, "site", time.Now, slog.New(slog.DiscardHandler))
	defer gate.Close(ctx)
	c.Gate, c.IgnoreRobots = gate, src.Robots == config.RobotsIgnore
	s, err := connectors.All().Dial(ctx, c)
	ready()
	if err != nil {
		return err
	}
	defer s.Close()
	var names []string
	if err := s.List(ctx, "add", func(e remote.Entry) error { names = append(names, e.Name); return nil }); err != nil {
		return err
	}
	if !c.IgnoreRobots {
		err = errors.Join(wants(ctx, s, names[0]), fetch(ctx, s, gate, "add/mirror.zip"))
	}
	for _, name := range names {
		err = errors.Join(err, fetch(ctx, s, gate, "add/"+name))
	}
	return err
}

// wants asks for what a robots.txt forbids, that of a mirror too.
func wants(ctx context.Context, s remote.Session, name string) (err error) {
	for _, path := range []string{"add/moved.zip", "add/elsewhere.zip", "edit/" + name} {
		if _, forbidden := s.Stat(ctx, path); remote.Exception(forbidden) != "robots_forbidden" {
			err = errors.Join(err, errors.New("what robots.txt forbids is asked for: "+path), forbidden)
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

// paused expects that many requests at least, each of which comes so many pauses after
// the beginning as there were requests before it; and none sooner than a pause after the
// one before, where the log is exact.
func paused(t *testing.T, k kind, log []request, began time.Duration, least int, pause time.Duration) {
	t.Helper()
	if len(log) < least {
		t.Errorf("%d requests are noted, want %d or more:\n%v", len(log), least, log)
	}
	for i, r := range log {
		if after := r.began - began; after < time.Duration(i)*pause-k.late {
			t.Errorf("%s comes %s after the beginning, and is number %d", r.what, after, i+1)
		}
		if i == 0 || !k.exact {
			continue
		}
		if between := r.began - log[i-1].began; between < pause-k.late {
			t.Errorf("%s comes %s after %s, want %s or more", r.what, between, log[i-1].what, pause)
		}
	}
}

// The pause of one source of a server is kept by all sessions together, of another
// source of it too.
func TestServersSeePauses(t *testing.T) {
	t.Parallel()
	const pause = 200 * time.Millisecond
	each(t, 10, []config.Source{
		{ID: "a", Robots: config.RobotsIgnore, Throttle: config.Throttles{{Pause: config.Duration(pause)}}},
		{ID: "b", Robots: config.RobotsIgnore},
	}, []int{0, 1, 0}, func(t *testing.T, k kind, log []request, began, _ time.Duration) {
		paused(t, k, log, began, 3*6, pause)
	}, "a.zip", "b.zip", "c.zip", "d.zip", "e.zip")
}

// However many sessions there are, no more requests come than are allowed: all but one
// are that far apart, as the first may have been long on its way.
func TestServersSeeRequestsAMinute(t *testing.T) {
	t.Parallel()
	each(t, 10, []config.Source{{ID: "a", Robots: config.RobotsIgnore, Throttle: config.Throttles{{Of: config.ThrottleSource, Requests: 300}}}}, []int{0, 0, 0},
		func(t *testing.T, k kind, log []request, began, _ time.Duration) {
			took := log[len(log)-1].began - began
			if least := time.Duration(len(log)-2)*200*time.Millisecond - k.late; len(log) < 3*6 || took < least {
				t.Errorf("%d requests took %s, want %s or more", len(log), took, least)
			}
		}, "a.zip", "b.zip", "c.zip", "d.zip", "e.zip")
}

// Bytes come no faster than is allowed, but for those that the machines keep on the way.
func TestServersSeeTheRate(t *testing.T) {
	t.Parallel()
	const size, rate = 16 << 20, 8 << 20
	each(t, size, []config.Source{{ID: "a", Robots: config.RobotsIgnore, Throttle: config.Throttles{{Rate: rate}}}}, []int{0, 0, 0},
		func(t *testing.T, k kind, _ []request, began, ended time.Duration) {
			took, least := ended-began, time.Duration(float64(3*(size-k.way))/rate*float64(time.Second))-k.late
			if took < least {
				t.Errorf("%d bytes took %s, want %s or more", 3*size, took, least)
			}
		}, "a.zip")
}

// What robots.txt asks for is kept without a key of the source: the pause, and what is
// not to be asked for. That of a server which is only sent on to is kept there as well.
func TestServersSeeWhatRobotsTxtAsksFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nginx", "apache"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kinds()[name]
			mirror := k.start(t, served(t, 10, "a.zip"), "http://127.0.0.1:1")
			t.Cleanup(mirror.stop)
			pool, s := controltest.Open(t, 10), k.start(t, served(t, 10, "a.zip", "b.zip"), strings.TrimSuffix(mirror.URL, "/"))
			t.Cleanup(s.stop)
			src := config.Source{ID: "a", URL: s.URL}
			define(t, pool, src)
			began := time.Duration(time.Now().UnixNano())
			if err := member(t.Context(), pool, src, s.Config, func() {}); err != nil {
				t.Fatal(err)
			}
			for of, is := range map[string]struct {
				server
				least int
				asked []string // among others
			}{
				"its own server": {s, 1 + 1 + 2 + 1, []string{" /robots.txt ", " /add/moved.zip ", " /add/elsewhere.zip ", " /add/mirror.zip "}},
				"the mirror":     {mirror, 2, []string{" /robots.txt ", " /add/a.zip "}},
			} {
				log, _ := is.server.asked(t, k)
				paused(t, k, log, began, is.least, 150*time.Millisecond)
				var asked []string
				for _, r := range log {
					asked = append(asked, r.what)
				}
				all := strings.Join(asked, "\n")
				if strings.Contains(all, " /edit") || strings.Count(all, " /robots.txt ") != 1 {
					t.Errorf("%s was asked for what robots.txt forbids, or for that again:\n%s", of, all)
				}
				for _, what := range is.asked {
					if !strings.Contains(all, what) {
						t.Errorf("%s was not asked for%s:\n%s", of, what, all)
					}
				}
			}
			known, err := control.ThrottledServer(t.Context(), pool, "a")
			if err != nil || known.Crawl != 150*time.Millisecond {
				t.Errorf("known of what it asks for: %s, %v", known.Crawl, err)
			}
		})
	}
}
