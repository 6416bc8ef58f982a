package unzip

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/impc"
)

// Documents' names in a shadow run are judged by the rules for shadows, all
// others by the other ones, and each says by which.
func TestShadowsAreJudgedByTheirRules(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, impc.FS); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "profile.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `(?P<increment>[0-9]{1,5})\.(?P<kind>`, `(?P<increment>[0-9]{2,5})\.(?P<kind>`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil || changed == string(text) {
		t.Fatal("the pattern is another one by now", err)
	}
	strict, err := profile.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	centres, err := profile.NewCentreSet(strict.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	for _, c := range []struct {
		run, exception string
		shadow         *Rules
		by             *profile.Profile
	}{
		{schemas.LiveRun, "", &Rules{strict, centres}, b.deps.Rules.Profile},
		{schemas.ID("a live replay"), "", &Rules{strict, centres}, b.deps.Rules.Profile},
		{run, "document_name_pattern", &Rules{strict, centres}, strict},
		{run, "", nil, b.deps.Rules.Profile},
	} {
		b.deps.Shadow = c.shadow
		m := b.fetched(pack(t, specimen, "<a/>"))
		m.Body.(*schemas.DownloadFinished).Run = c.run
		if err := b.work(m); err != nil {
			t.Fatal(err)
		}
		want := c.by.Versions().Unzip
		for _, m := range b.out {
			switch e := m.Body.(type) {
			case *schemas.DocumentExtracted:
				if e.Exception != c.exception || e.UnzipVersion != want {
					t.Errorf("run %s: %q by version %s, want %q by %s", c.run, e.Exception, e.UnzipVersion, c.exception, want)
				}
			case *schemas.StatusChanged:
				if e.FinishedAt != nil && e.VersionOf != want {
					t.Errorf("run %s: %s by version %s, want %s", c.run, e.Phase, e.VersionOf, want)
				}
			}
		}
	}
}
