//go:build !race

package poll

import (
	"context"
	"fmt"
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

const (
	composed   = "caf\u00e9.zip"
	decomposed = "cafe\u0301.zip"
)

// Names that differ only in case or in how accents are written are told with both names,
// and both are taken. What is no file of ours, or lies in another directory, is no twin.
func TestTwinsAreTold(t *testing.T) {
	b := newBench(t)
	b.once, b.cfg.Attempts = true, 1
	small := strings.ToLower(good)
	for _, name := range []string{good, small, composed, decomposed, "readme.txt", "README.txt"} {
		b.server.show(name, 10)
	}
	b.server.dirs["edit"] = []remote.Entry{{Name: good, Kind: remote.File, Size: 10}, {Name: good, Kind: remote.File, Size: 10}, {Name: strings.ToUpper(good2), Kind: remote.File, Size: 10}}
	b.listing()
	if got := b.text("SELECT count(*) FROM control.hosting"); got != "6" {
		t.Errorf("%s hostings", got)
	}
	if d := cmp.Diff(map[string]string{"name_twins": "4", "name_twin_names": fmt.Sprintf("%q %q %+q %+q", "add/"+good, "add/"+small, "add/"+decomposed, "add/"+composed)}, b.twinsTold()); d != "" {
		t.Error(d)
	}
	want := fmt.Sprintf(`{"add": {"first": [["%s", "%s"], ["%s", "%s"]], "names": 4}}`, good, small, decomposed, composed)
	if d := cmp.Diff(want, b.text("SELECT twins::text FROM control.source")); d != "" {
		t.Error(d)
	}

	b.server.fail = fmt.Errorf("cut off")
	b.server.hide(small)
	b.listing()
	if d := cmp.Diff(want, b.text("SELECT twins::text FROM control.source")); d != "" {
		t.Errorf("after a listing that broke off:\n%s", d)
	}
	b.server.fail = nil
	b.server.hide(composed)
	b.listing()
	if got := b.text("SELECT twins::text FROM control.source"); got != "{}" || len(b.twinsTold()) > 0 {
		t.Errorf("the twins are gone, and kept are %s", got)
	}
}

// twinsTold is what the last poll's event tells of twins.
func (b *bench) twinsTold() map[string]string {
	said := map[string]string{}
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask {
			for _, key := range []string{"name_twins", "name_twin_names"} {
				if e.Attributes[key] != "" {
					said[key] = e.Attributes[key]
				}
			}
		}
	}
	return said
}

// A minimal poll tells of the directories that it lists, and keeps what is known of the others.
func TestTwinsOfMinimalPolls(t *testing.T) {
	b := newBench(t)
	b.cfg.Settle = 0
	add, edit := remote.Entry{Name: "add", Kind: remote.Dir, ModTime: noon.Add(-time.Hour)}, remote.Entry{Name: "edit", Kind: remote.Dir, ModTime: noon.Add(-time.Hour)}
	b.server.base = []remote.Entry{add, edit}
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", CompleteEvery: config.Duration(240 * time.Hour)})
	b.server.show(composed, 10)
	b.server.show(decomposed, 10)
	b.server.dirs["edit"] = []remote.Entry{{Name: "a.zip", Kind: remote.File, Size: 10}}
	for range 3 {
		b.listing()
		b.now = b.now.Add(time.Hour)
	}
	b.server.dirs["edit"] = append(b.server.dirs["edit"], remote.Entry{Name: "A.zip", Kind: remote.File, Size: 10})
	b.server.base[1].ModTime = b.now
	if got := b.listing(); got != "minimal" {
		t.Fatalf("the poll is %s", got)
	}
	want := fmt.Sprintf(`{"add": {"first": [["%s", "%s"]], "names": 2}, "edit": {"first": [["A.zip", "a.zip"]], "names": 2}}`, decomposed, composed)
	if d := cmp.Diff(want, b.text("SELECT twins::text FROM control.source")); d != "" {
		t.Error(d)
	}
}

// However many twins there are, all are counted, and the same few are kept by name.
func TestManyTwins(t *testing.T) {
	b := newBench(t)
	b.once = true
	for i := range 2000 {
		for _, form := range []string{"h%d.zip", "H%d.zip", "h%d.Zip", "h%d.zIp", "h%d.ziP"} {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: fmt.Sprintf(form, i), Kind: remote.File, Size: 1, ModTime: noon})
		}
	}
	kept := ""
	for range 2 {
		b.listing()
		if got := b.text("SELECT twins->'add'->>'names', jsonb_array_length(twins->'add'->'first'), max(jsonb_array_length(one)) FROM control.source, jsonb_array_elements(twins->'add'->'first') one GROUP BY twins"); got != "10000 50 4" {
			t.Errorf("kept are %s", got)
		}
		if said := b.twinsTold(); said["name_twins"] != "10000" || len(said["name_twin_names"]) > maxNames {
			t.Errorf("told are %s twins, in %d bytes", said["name_twins"], len(said["name_twin_names"]))
		}
		now := b.text("SELECT jsonb_path_query_array(twins, '$.add.first[*][0]')::text FROM control.source")
		if kept != "" && kept != now {
			t.Errorf("kept are first %s and then %s", kept, now)
		}
		kept = now
	}
}

// Each protocol's real servers show both.
func TestEveryProtocolShowsTwins(t *testing.T) {
	for name, start := range realServers() {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "served")
			small := strings.ToLower(good)
			for _, action := range schemas.Actions() {
				if err := os.MkdirAll(filepath.Join(root, action), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{good, small, composed, decomposed, good2} {
				if err := os.WriteFile(filepath.Join(root, "add", name), []byte(name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cfg := start(t, root)
			b := newBench(t)
			b.once, b.now = true, time.Now()
			b.deps.Dial = func(ctx context.Context, _ remote.Config) (remote.Session, error) {
				return connectors.All().Dial(ctx, cfg)
			}
			if got := b.listing(); got != "complete" {
				t.Fatalf("the poll is %s", got)
			}
			want := fmt.Sprintf(`{"add": {"first": [["%s", "%s"], ["%s", "%s"]], "names": 4}}`, good, small, decomposed, composed)
			if d := cmp.Diff(want, b.text("SELECT twins::text FROM control.source")); d != "" {
				t.Error(d)
			}
			if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "5" {
				t.Errorf("%s files are recorded", got)
			}
		})
	}
}
