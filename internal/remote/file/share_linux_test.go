package file_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

// A network share whose server is gone is an error, never an empty directory and never a
// file that is gone: as long as the file system says nothing, and once it says that nobody
// answers.
func TestAShareWhoseServerIsGone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "add")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	share, err := servers.StartShare(dir)
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	servers.Need(t, err)
	t.Cleanup(share.Stop)
	// What is over at once is over before any time, and only silence ends soon.
	patient := remote.Config{URL: "file://" + base, ConnectTimeout: wait.Patience(), IdleTimeout: wait.Patience()}
	hasty := patient // the base is there
	hasty.IdleTimeout = 50 * time.Millisecond
	session, inside := remotetest.Dial(t, hasty), patient
	inside.URL += "/add/partner"
	inside.ConnectTimeout = hasty.IdleTimeout
	asks := map[string]func(context.Context) error{
		"connect": func(ctx context.Context) error {
			s, err := connectors.All().Dial(ctx, inside)
			if err == nil {
				_ = s.Close()
			}
			return err
		},
		"list": func(ctx context.Context) error {
			return session.List(ctx, "add", func(remote.Entry) error { return nil })
		},
		"stat": func(ctx context.Context) error { _, err := session.Stat(ctx, "add/a.zip"); return err },
		"open": func(ctx context.Context) error {
			r, err := session.Open(ctx, "add/a.zip", -1)
			if err == nil {
				_ = r.Close()
			}
			return err
		},
	}
	expect := func(ctx context.Context, about, exception string) {
		t.Helper()
		for op, ask := range asks {
			if err := ask(ctx); remote.Exception(err) != exception || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %s: %v is %q, expected is %q", about, op, err, remote.Exception(err), exception)
			}
		}
	}
	expect(t.Context(), "nobody answers", "timed_out")
	session, inside.ConnectTimeout = remotetest.Dial(t, patient), patient.ConnectTimeout
	given, up := context.WithCancel(t.Context())
	up()
	expect(given, "who asks gives up", "cancelled")
	share.Break()
	expect(t.Context(), "the share is broken", "connection_lost")
}
