package http_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

func TestHTTPConformsOnNginx(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, Password: "s3cret"})
		servers.Need(t, err)
		t.Cleanup(nginx.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksFollowed, Config: remote.Config{
			URL: nginx.URL("/"), Password: "s3cret",
		}}
	})
}

// By the server's own log nothing is asked for that its robots.txt forbids.
func TestNginxIsNotAskedWhatItForbids(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	remotetest.Put(t, dir, "robots.txt", "User-agent: *\nDisallow: /add/*secret\nDisallow: /edit\n")
	for _, name := range []string{"add/secret.zip", "add/open.zip", "edit/x.zip"} {
		remotetest.Put(t, dir, name, "12345")
	}
	nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir})
	servers.Need(t, err)
	t.Cleanup(nginx.Stop)
	s := remotetest.Dial(t, remote.Config{URL: nginx.URL("/")})
	if got, err := remotetest.Listed(t, s, "add"); len(got) != 2 || err != nil {
		t.Errorf("listing: %v, %v", got, err)
	}
	if _, err := remotetest.Listed(t, s, "edit"); remote.Exception(err) != "robots_forbidden" {
		t.Errorf("a forbidden directory: %v", err)
	}
	for name, want := range map[string]string{"add/secret.zip": "robots_forbidden", "edit/x.zip": "robots_forbidden"} {
		if _, err := s.Open(t.Context(), name, 5); remote.Exception(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	// nginx has noted what came before when it answers the next question.
	if _, err := s.Stat(t.Context(), "add/open.zip"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(nginx.AccessLog)
	if err != nil || strings.Contains(string(log), "secret") || strings.Contains(string(log), "/edit") || !strings.Contains(string(log), "HEAD /add/open.zip") {
		t.Errorf("nginx was asked, %v:\n%s", err, log)
	}
}
