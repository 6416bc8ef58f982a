package remotetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// Served makes a served directory with a parent of its own, for the tests that
// try to leave it.
func Served(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "served")
}

// Open lets everybody read a directory of a test, whose own is its owner's.
func Open(t *testing.T, dir string) {
	t.Helper()
	for range 3 {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		dir = filepath.Dir(dir)
	}
}

// Mkdir makes a directory, and those above it, and returns it.
func Mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Put writes a file below root, in directories that are made for it.
func Put(t *testing.T, root, name, text string) {
	t.Helper()
	p := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// File writes a text into a file of its own, and returns where it is.
func File(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Dial opens a session that ends with the test.
func Dial(t *testing.T, c remote.Config) remote.Session {
	t.Helper()
	s, err := connectors.All().Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Listed lists a directory: names with their kinds, directories with a slash.
func Listed(t *testing.T, s remote.Session, dir string) (out []string, err error) {
	t.Helper()
	err = s.List(t.Context(), dir, func(e remote.Entry) error {
		out = append(out, e.Kind.String()+" "+e.Name)
		return nil
	})
	return out, err
}

// Entries are those of a directory, with the error that ended the listing.
func Entries(s remote.Session, t *testing.T, dir string) ([]remote.Entry, error) {
	t.Helper()
	var got []remote.Entry
	err := s.List(t.Context(), dir, func(e remote.Entry) error { got = append(got, e); return nil })
	return got, err
}

// Download returns the bytes of a file.
func Download(ctx context.Context, s remote.Session, name string, hint int64) ([]byte, error) {
	r, err := s.Open(ctx, name, hint)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, r)
	return b.Bytes(), err
}

// GoOn opens a file at the offset 4, and returns what comes.
func GoOn(t *testing.T, s remote.Session, version string) (string, error) {
	t.Helper()
	r, ok := s.(remote.Resumer)
	if !ok {
		t.Fatal("the session can't resume")
	}
	body, err := r.OpenAt(t.Context(), "add/a.zip", 4, version)
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(body)
	return string(got), errors.Join(err, body.Close())
}
