package http_test

import (
	"errors"
	"net/http"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/internal/remote/writing"
	"tributary/test/servers"
	"tributary/test/wait"
)

func TestWebDAVIsWrittenOnApache(t *testing.T) {
	remotetest.RunWriting(t, wait.Patience(), func(t *testing.T, dir string) remotetest.Fixture {
		locks := remotetest.Mkdir(t, remotetest.Served(t))
		if err := errors.Join(servers.OpenToAll(dir), servers.OpenToAll(locks)); err != nil {
			t.Fatal(err)
		}
		apache, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, WebDAV: true, Locks: locks})
		servers.Need(t, err)
		t.Cleanup(apache.Stop)
		return remotetest.Fixture{Config: remote.Config{URL: apache.URL("/"), WebDAV: true}}
	})
}

// Nobody changes a server over a protocol that reads only.
func TestHTTPIsNotWritten(t *testing.T) {
	site := remotetest.NewSite(t, http.NotFound)
	over := remotetest.Dial(t, remote.Config{URL: site.URL})
	if _, err := remote.Writing(over, writing.Permitted()); !errors.Is(err, writing.ErrUnsupported) || remote.Exception(err) != "writing_unsupported" {
		t.Errorf("over HTTP: %v", err)
	}
}
