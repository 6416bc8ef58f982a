//go:build !race

package poll

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
)

// Sizes, ages and names are as each protocol's real servers show them.
func TestEveryProtocolsFilesAreLeft(t *testing.T) {
	for name, start := range realServers() {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "served")
			for _, action := range schemas.Actions() {
				if err := os.MkdirAll(filepath.Join(root, action), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			b := newBench(t)
			b.now, b.cfg.Settle = time.Now(), 0
			write := func(path string, size int, age time.Duration) {
				t.Helper()
				path = filepath.Join(root, path)
				if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, b.now.Add(-age), b.now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			const hour = time.Hour
			write("add/"+named(1), 2000, 5*hour)
			write("add/"+named(2), 2000, 5*hour)
			write("add/"+named(3), 999, 5*hour)
			write("add/"+named(4), 100_001, 5*hour)
			write("add/"+named(5), 2000, 100*hour)
			write("edit/"+named(1), 2000, 5*hour)
			write("edit/"+named(2), 2000, 2*hour)
			cfg := start(t, root)
			b.deps.Dial = func(ctx context.Context, _ remote.Config) (remote.Session, error) {
				return connectors.All().Dial(ctx, cfg)
			}
			b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", MinSize: 1000, MaxSize: 100_000, MinAge: config.Duration(3 * hour), MaxAge: config.Duration(72 * hour), LatestOnly: true})
			for _, step := range []struct {
				happens     func()
				taken, left string
			}{
				{func() {}, "add/" + named(2),
					"add/" + named(1) + " not_latest, add/" + named(3) + " too_small, add/" + named(4) + " too_large, add/" + named(5) + " too_old, edit/" + named(1) + " not_latest, edit/" + named(2) + " too_young"},
				{func() { b.now = b.now.Add(90 * time.Minute); write("add/"+named(6), 2000, 4*hour) }, "add/" + named(2) + ", add/" + named(6) + ", edit/" + named(2),
					"add/" + named(1) + " not_latest, add/" + named(3) + " too_small, add/" + named(4) + " too_large, add/" + named(5) + " too_old, edit/" + named(1) + " not_latest"},
			} {
				step.happens()
				if got := b.listing(); got != "complete" {
					t.Fatalf("the poll is %s: %s", got, b.text("SELECT exception, message FROM control.poll ORDER BY ended_at DESC LIMIT 1"))
				}
				if d := cmp.Diff(step.taken, b.text("SELECT string_agg(action || '/' || name, ', ' ORDER BY action, name) FROM control.hosting WHERE state = 'present'")); d != "" {
					t.Errorf("what is taken (- want, + got):\n%s", d)
				}
				if d := cmp.Diff(step.left, b.text("SELECT string_agg(directory || '/' || name || ' ' || reason, ', ' ORDER BY directory, name) FROM control.ignored")); d != "" {
					t.Errorf("what is left (- want, + got):\n%s", d)
				}
			}
		})
	}
}
