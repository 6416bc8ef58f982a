package validate

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/impc"
)

// tightened is the profile with a schema of specimens that knows no homozygous
// ones, under another version.
func tightened(t *testing.T) *profile.Profile {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, impc.FS); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"profile.yaml": {`version: "1"`, `version: "2"`},
		"xsd/specimen.xsd": {`<xs:attribute name="zygosity" type="v:alleleCopies" use="required"/>`,
			`<xs:attribute name="zygosity" use="required"><xs:simpleType><xs:restriction base="v:alleleCopies"><xs:enumeration value="hemizygous"/></xs:restriction></xs:simpleType></xs:attribute>`},
	} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), change[0]) {
			t.Fatalf("%s has no %s (%v)", name, change[0], err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := profile.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Documents of a shadow run are judged by the profile for shadows, all others by
// the other, and each says by which.
func TestShadowsAreJudgedByTheirProfile(t *testing.T) {
	b := newBench(t, config.Default().Validate)
	live, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	tight := tightened(t)
	if b.Validator, err = New(config.Default().Validate, Deps{Profile: live, Shadow: tight, Blobs: b.store, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }}); err != nil {
		t.Fatal(err)
	}
	shadow, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run, result, profile string
		by                   *profile.Profile
	}{
		{schemas.LiveRun, schemas.Valid, "impc@1", live},
		{schemas.ID("a live replay"), schemas.Valid, "impc@1", live},
		{shadow, schemas.FailedEnd, "impc@2", tight},
	} {
		m := b.extracted("specimen", sample(t, "specimen"))
		m.Body.(*schemas.DocumentExtracted).Run = c.run
		v, st := b.judged(m)
		if want := c.by.Versions().XSD["specimen"]; v.Result != c.result || v.Profile != c.profile || v.XSDVersion != want || st.VersionOf != want {
			t.Errorf("run %s: %s by %s, version %s and %s, want %s by %s, version %s", c.run, v.Result, v.Profile, v.XSDVersion, st.VersionOf, c.result, c.profile, want)
		}
	}
}
