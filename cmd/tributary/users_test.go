//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPasswordIsReadFromStdinOrAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("correct horse battery\r\nnext line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stdin, file   string
		want, refused string
	}{
		"stdin":              {"a password of stdin\nx", "", "a password of stdin", ""},
		"without a line end": {" a password of stdin ", "", " a password of stdin ", ""},
		"a file":             {"another password", file, "correct horse battery", ""},
		"nothing":            {"", "", "", "too short"},
		"a short one":        {"eleven char\n", "", "", "too short"},
		"a long one":         {strings.Repeat("x", 1<<20), "", "", "too long"},
		"no file":            {"", file + ".not", "", "no such file"},
	} {
		c := newCLI(strings.NewReader(tc.stdin), nil, nil, nil)
		got, err := c.password(t.Context(), tc.file)
		if tc.refused == "" && (err != nil || got != tc.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)) {
			t.Errorf("%s: %v, want %q", name, err, tc.refused)
		}
	}
}

func TestUsersLogSaysItsNewName(t *testing.T) {
	var out, errs strings.Builder
	if code := run(t.Context(), newCLI(nil, &out, &errs, nil), strings.Fields("users log --limit -1")); code != exitUsage || !strings.Contains(errs.String(), "use tributary audit --kind account") || !strings.Contains(errs.String(), "--limit") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
