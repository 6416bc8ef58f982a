// Package remotetest is the conformance suite that every connector of package
// remote passes against a real server: what a session promises, checked from
// outside, on files that the test itself puts where the server serves them.
package remotetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// Fixture is a server under test.
type Fixture struct {
	// Root is the local directory that the server serves as the base.
	Root string
	// Config reaches it.
	Config remote.Config
	// Precision of the times that listings of .zip files show.
	Precision time.Duration
	// Links is what becomes of symbolic links.
	Links Links
	// EmptyUnknown: the server doesn't say that a file is empty.
	EmptyUnknown bool
	// KeysOnly: the server has keys, which are UTF-8, and neither links nor directories:
	// one of these is there where a key begins with it.
	KeysOnly bool
	// NoBackslash: the server lists names with a backslash, and opens none of them.
	NoBackslash bool
	// Ungated: there is no server that may be asked now or later.
	Ungated bool
	// FromScratch: the connector can't go on in the middle of a file.
	FromScratch bool
}

// Links is what becomes of symbolic links.
type Links int

// A server shows them as such, all or those that lead somewhere, or as what they
// lead to, or not at all.
const (
	LinksShown Links = iota
	LinksShownIfWhole
	LinksFollowed
	LinksHidden
)

// Run runs the suite; start makes a server with an empty root.
func Run(t *testing.T, start func(t *testing.T) Fixture) {
	for name, test := range map[string]func(*testing.T, *world){
		"lists what is there":               listsWhatIsThere,
		"lists strange names":               listsStrangeNames,
		"lists what nobody should serve":    listsWhatNobodyShouldServe,
		"lists many entries once each":      listsMany,
		"lists what stays while others go":  listsWhatStays,
		"one version of what is replaced":   replacedMeanwhile,
		"missing directory is not exist":    missingDirectory,
		"error of yield ends the listing":   yieldError,
		"delivers every size":               deliversEverySize,
		"delivers what is there":            deliversWhatIsThere,
		"stat agrees with list":             statAgrees,
		"vanished file is not exist":        vanished,
		"early close leaves session usable": earlyClose,
		"several at once":                   severalAtOnce,
		"goes on in the middle of a file":   goesOn,
		"never leaves the base":             neverLeaves,
		"cancelled is cancelled":            cancelled,
		"closed session refuses":            closedRefuses,
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s, err := connectors.All().Dial(t.Context(), f.Config)
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, &world{Fixture: f, s: s})
		})
	}
}

type world struct {
	Fixture
	s remote.Session
}

// moment is a time in the past with nothing but seconds, as all servers keep.
var moment = time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)

func (w *world) put(t *testing.T, name string, data []byte) {
	t.Helper()
	p := filepath.Join(w.Root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	part := p
	if w.KeysOnly {
		part = filepath.Join(filepath.Dir(w.Root), "part") // an object is there at once, whole
	}
	if err := os.WriteFile(part, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(part, moment, moment); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, p); err != nil {
		t.Fatal(err)
	}
}

// link puts a symbolic link there, where a server can have any.
func (w *world) link(t *testing.T, target, name string) {
	t.Helper()
	if w.KeysOnly {
		return
	}
	if err := os.Symlink(target, filepath.Join(w.Root, name)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) list(t *testing.T, dir string) map[string]remote.Entry {
	t.Helper()
	got := map[string]remote.Entry{}
	err := w.s.List(t.Context(), dir, func(e remote.Entry) error {
		if _, twice := got[e.Name]; twice {
			t.Errorf("%q is listed twice", e.Name)
		}
		for name, text := range e.Attributes {
			if text == "" || text != remote.Clean(text) {
				t.Errorf("%q has the attribute %s that can't be kept as it is: %q", e.Name, name, text)
			}
		}
		e.Attributes = nil // each server's own
		got[e.Name] = e
		return nil
	})
	if err != nil {
		t.Fatalf("list %q: %v", dir, err)
	}
	return got
}

// fetch reads a file by io.Copy, as the download stage does, and again by plain
// reads, and returns what both delivered.
func (w *world) fetch(t *testing.T, name string, hint int64) []byte {
	t.Helper()
	var copied bytes.Buffer
	r := w.open(t, name, hint)
	if _, err := io.Copy(&copied, r); err != nil {
		t.Errorf("copy %q: %v", name, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close %q: %v", name, err)
	}
	r = w.open(t, name, hint)
	read, err := io.ReadAll(struct{ io.Reader }{r})
	if err != nil {
		t.Errorf("read %q: %v", name, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close %q: %v", name, err)
	}
	if !bytes.Equal(copied.Bytes(), read) {
		t.Errorf("%q: copying gave %d bytes, reading %d others", name, copied.Len(), len(read))
	}
	return read
}

func (w *world) open(t *testing.T, name string, hint int64) io.ReadCloser {
	t.Helper()
	r, err := w.s.Open(t.Context(), name, hint)
	if err != nil {
		t.Fatalf("open %q: %v", name, err)
	}
	return r
}

// noise is data in which a hole or a swap shows.
func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8(sha256.Sum256([]byte(fmt.Sprint(n))))
	_, _ = rng.Read(b)
	return b
}

func neverLeaves(t *testing.T, w *world) {
	secret := filepath.Join(filepath.Dir(w.Root), "secret.zip")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"../secret.zip", "add/../../secret.zip", "..", "a\x00b"} {
		if r, err := w.s.Open(t.Context(), p, 6); err == nil {
			_ = r.Close()
			t.Errorf("open %q works", p)
		}
		if _, err := w.s.Stat(t.Context(), p); err == nil {
			t.Errorf("stat %q works", p)
		}
		if err := w.s.List(t.Context(), p, func(remote.Entry) error { return nil }); err == nil {
			t.Errorf("list %q works", p)
		}
	}
}

func cancelled(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	if _, err := w.s.Open(ctx, "add/a.zip", 5); err != nil {
		got = append(got, remote.Exception(err))
	}
	if err := w.s.List(ctx, "add", func(remote.Entry) error { return nil }); err != nil {
		got = append(got, remote.Exception(err))
	}
	if want := []string{"cancelled", "cancelled"}; !slices.Equal(got, want) {
		t.Errorf("exceptions %v, want %v", got, want)
	}
}

func closedRefuses(t *testing.T, w *world) {
	w.put(t, "add/a.zip", noise(5))
	for range 2 {
		if err := w.s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := w.s.Open(t.Context(), "add/a.zip", 5); err == nil {
		t.Error("open works after close")
	}
	if err := w.s.List(t.Context(), "add", func(remote.Entry) error { return nil }); err == nil {
		t.Error("list works after close")
	}
}
