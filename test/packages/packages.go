// Package packages lists Go packages for tests that type-check the program themselves.
package packages

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Package is a package as go list tells of it.
type Package struct {
	ImportPath, Dir string
	Export          string // the file with what the compiler exported of it, in the build's cache
	GoFiles         []string
}

// List builds packages that are named from root on, and all that they import, and lists
// them: what is imported comes first.
func List(t testing.TB, root string, named ...string) (all []Package) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, named...)...) //nolint:gosec // what tests name
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("list packages: %v", err)
		}
		all = append(all, p)
	}
}
