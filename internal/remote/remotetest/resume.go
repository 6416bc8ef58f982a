package remotetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tributary/internal/remote"
)

// goesOn holds that a session which can resume delivers from any offset on what is
// there, and nothing of another version where the server names versions.
func goesOn(t *testing.T, w *world) {
	s, ok := w.s.(remote.Resumer)
	if ok == w.FromScratch {
		t.Fatalf("the session can go on: %v", ok)
	}
	if w.FromScratch {
		return
	}
	data := noise(3 << 20)
	w.put(t, "add/f.zip", data)
	body := w.open(t, "add/f.zip", int64(len(data)))
	version := remote.Version(body)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{1, 100, 32<<10 + 1, 1 << 20, int64(len(data)) - 1} {
		for _, whole := range []func(io.Reader) ([]byte, error){
			func(r io.Reader) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{r}) },
			func(r io.Reader) ([]byte, error) {
				var got bytes.Buffer
				_, err := io.Copy(&got, r)
				return got.Bytes(), err
			},
		} {
			r, err := s.OpenAt(t.Context(), "add/f.zip", offset, version)
			if err != nil {
				t.Fatalf("open at %d: %v", offset, err)
			}
			got, err := whole(r)
			if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, data[offset:]) {
				t.Errorf("from %d on: %d bytes, or others (%v)", offset, len(got), err)
			}
		}
	}
	if _, err := s.OpenAt(t.Context(), "add/none.zip", 1, version); remote.ClassOf(err) != remote.NotExist {
		t.Errorf("what is not there: %v", err)
	}
	w.leavesBehind(t, s, version)
	if got := w.fetch(t, "add/f.zip", -1); !bytes.Equal(got, noise(3<<20+1)) {
		t.Errorf("afterwards the file delivers %d bytes, or others", len(got))
	}
}

// leavesBehind puts another version in the file's place.
func (w *world) leavesBehind(t *testing.T, s remote.Resumer, version string) {
	w.put(t, "add/f.zip", noise(3<<20+1))
	later := moment.AddDate(0, 0, 1)
	if err := os.Chtimes(filepath.Join(w.Root, "add/f.zip"), later, later); err != nil {
		t.Fatal(err)
	}
	r, err := s.OpenAt(t.Context(), "add/f.zip", 1<<20, version)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		err = errors.Join(err, r.Close())
	} else if !errors.Is(err, remote.ErrNotResumed) {
		t.Errorf("another version: %v", err)
	}
	if version != "" && !errors.Is(err, remote.ErrNotResumed) {
		t.Errorf("another version is given as %s (%v)", version, err)
	}
}
