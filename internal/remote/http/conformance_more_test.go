//go:build !race

package http_test

import (
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
)

// What goroutines share is the same with every server: with the race detector one is enough.

func TestHTTPSConformsOnNginx(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		nginx, err := servers.StartNginx(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, TLS: true, Extra: []string{"autoindex_exact_size off;", "autoindex_localtime on;"}})
		servers.Need(t, err)
		t.Cleanup(nginx.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksFollowed, Config: remote.Config{
			URL: nginx.URL("/"), CAFile: nginx.CAFile,
		}}
	})
}

func TestHTTPConformsOnApache(t *testing.T) {
	for name, options := range map[string]string{"fancy": "IndexOptions FancyIndexing HTMLTable", "preformatted": "IndexOptions FancyIndexing IconsAreLinks", "plain": "IndexOptions -FancyIndexing"} {
		t.Run(name, func(t *testing.T) {
			remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
				dir := remotetest.Mkdir(t, remotetest.Served(t))
				remotetest.Open(t, dir)
				apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, Extra: []string{"Options +Indexes -FollowSymLinks", options}})
				servers.Need(t, err)
				t.Cleanup(apache.Stop)
				return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, EmptyUnknown: name == "plain", Config: remote.Config{URL: apache.URL("/")}}
			})
		})
	}
}

func TestWebDAVConformsOnApache(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		remotetest.Open(t, dir)
		apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, WebDAV: true, Extra: []string{"Options -FollowSymLinks"}})
		servers.Need(t, err)
		t.Cleanup(apache.Stop)
		return remotetest.Fixture{Root: dir, Precision: time.Second, Links: remotetest.LinksHidden, Config: remote.Config{URL: apache.URL("/"), WebDAV: true}}
	})
}
