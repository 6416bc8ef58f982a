//go:build !race

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/engine/enginetest"
)

// anywhere runs a command in a directory without a configuration.
func anywhere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	code = run(t.Context(), newCLI(strings.NewReader(""), &out, &errs, nil), args)
	return code, out.String(), errs.String()
}

func weatherDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "test", "profiles", "weather"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProfileCheck(t *testing.T) {
	weather := weatherDir(t)
	if code, stdout, stderr := anywhere(t, "profile", "check", "--without-sql", weather); code != exitOK || !strings.Contains(stdout, "profile weather, version 1: 2 kinds") || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := anywhere(t, "profile", "check", "impc", "--without-sql"); code != exitOK || !strings.Contains(stdout, "keeps all that its schemas can say") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := anywhere(t, "profile", "check", "nothing"); code != exitUsage || !strings.Contains(stderr, "no directory nothing") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := anywhere(t, "profile", "check", filepath.Join(weather, "profile.yaml")); code != exitUsage || !strings.Contains(stderr, "is not a directory") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	bad := t.TempDir()
	if err := os.CopyFS(bad, os.DirFS(weather)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bad, "profile.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.NewReplacer("title:", "titel:", "kinds:", "kindes:").Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := anywhere(t, "profile", "check", bad)
	if code != exitFailed || strings.Count(stderr, "tributary: profile.yaml: line ") != 2 || strings.Contains(stdout, "good") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// Without a configuration a Postgres is started, used and taken away.
func TestProfileCheckSQL(t *testing.T) {
	enginetest.Postgres(t) // skips where there is none
	tmp := enginetest.Dir(t)
	t.Setenv("TMPDIR", tmp)
	if code, stdout, stderr := anywhere(t, "profile", "check", weatherDir(t)); code != exitOK || !strings.Contains(stdout, "the profile is good") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "tributary-check-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A configuration may name a folder, from its own place, wherever the built-in
// profile may stand.
func TestProfileFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "mine"), os.DirFS(weatherDir(t))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tributary.yaml")
	if err := os.WriteFile(path, []byte("profile: ./mine\ndata_dir: data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := at(t, path, "config", "check"); code != exitOK || !strings.Contains(stdout, filepath.Join(dir, "mine")) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// So it may for shadows.
	shadows := filepath.Join(dir, "shadows.yaml")
	if err := os.WriteFile(shadows, []byte("profile: impc\nshadow_profile: ./mine\ndata_dir: data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := at(t, shadows, "config", "check"); code != exitOK || !strings.Contains(stdout, "profile impc, shadows by "+filepath.Join(dir, "mine")) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// What is wrong with the mapping is found before anything is loaded.
	file := filepath.Join(dir, "mine", "profile.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "table: sensor", "table: sensors", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, shadows} {
		if code, _, stderr := at(t, path, "config", "check"); code != exitUsage || !strings.Contains(stderr, "rows of sensors go to a table that is not below tables") {
			t.Errorf("%s: exit code %d\n%s", path, code, stderr)
		}
	}
}
