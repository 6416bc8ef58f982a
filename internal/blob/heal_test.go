package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/blob"
)

// damages are the ways in which a stored blob is not what it was.
func damages() map[string]func(path string, content []byte) error {
	write := func(path string, content []byte) error {
		return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, content, 0o600))
	}
	return map[string]func(string, []byte) error{
		"shorter": func(p string, c []byte) error { return write(p, c[:len(c)-1]) },
		"empty":   func(p string, _ []byte) error { return write(p, nil) },
		"longer":  func(p string, c []byte) error { return write(p, append(bytes.Clone(c), 'x')) },
		"changed": func(p string, c []byte) error { return write(p, append([]byte{c[0] ^ 1}, c[1:]...)) },
		"gone":    func(p string, _ []byte) error { return os.Remove(p) },
		"gone with its directory": func(p string, _ []byte) error {
			return os.RemoveAll(filepath.Dir(p))
		},
	}
}

func stored(t *testing.T, content []byte) (*blob.Dir, string, string) {
	t.Helper()
	dir := t.TempDir()
	d := open(t, dir)
	ref, err := blob.Put(t.Context(), d, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return d, ref.SHA256, filepath.Join(dir, ref.SHA256[:2], ref.SHA256)
}

// Whatever happened to a stored blob: it is named damaged or gone by who reads
// it, and the same bytes stored again replace it.
func TestWhateverHappenedToABlobItIsFoundAndMended(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 300_000) // more than one read
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			d, sha, path := stored(t, content)
			if err := damage(path, content); err != nil {
				t.Fatal(err)
			}
			other := open(t, filepath.Dir(filepath.Dir(path))) // another process
			said := errors.New("the archive is bad")
			err := blob.Read(t.Context(), d, sha, nil, func(blob.Blob) error { return said })
			if !blob.Unusable(err) || errors.Is(err, said) {
				t.Errorf("who reads it is told %v", err)
			}
			if _, err := blob.Put(t.Context(), other, bytes.NewReader(content)); err != nil {
				t.Fatalf("store it again: %v", err)
			}
			for _, s := range []*blob.Dir{d, other} {
				if err := blob.Read(t.Context(), s, sha, nil, func(blob.Blob) error { return said }); !errors.Is(err, said) {
					t.Errorf("once it is mended: %v", err)
				}
			}
		})
	}
}

// What a reader says of damaged bytes is never believed, a panic of it neither.
func TestNobodyIsBelievedOnDamagedBytes(t *testing.T) {
	content := []byte("content of an archive")
	for name, judge := range map[string]func() error{
		"a verdict":  func() error { return nil },
		"an error":   func() error { return errors.New("bad archive") },
		"a panic":    func() error { panic("at the disco") },
		"a poor one": func() error { return io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			d, sha, path := stored(t, content)
			if err := damages()["changed"](path, content); err != nil {
				t.Fatal(err)
			}
			if err := blob.Read(t.Context(), d, sha, nil, func(blob.Blob) error { return judge() }); !errors.Is(err, blob.ErrDamaged) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	d, sha, _ := stored(t, content)
	defer func() {
		if p := recover(); p != "at the disco" {
			t.Errorf("a panic on the right bytes became %v", p)
		}
	}()
	_ = blob.Read(t.Context(), d, sha, nil, func(blob.Blob) error { panic("at the disco") })
}

// Who has damaged bytes open while another process mends them is told to read
// again, and not that they are damaged: nothing is to be fetched any more.
func TestWhatWasMendedMeanwhileIsNotDamaged(t *testing.T) {
	content := []byte("content of an archive")
	d, sha, path := stored(t, content)
	if err := damages()["changed"](path, content); err != nil {
		t.Fatal(err)
	}
	err := blob.Read(t.Context(), d, sha, nil, func(blob.Blob) error {
		_, err := blob.Put(t.Context(), d, bytes.NewReader(content))
		return err
	})
	if err == nil || blob.Unusable(err) {
		t.Errorf("the error is %v", err)
	}
}

// A store is the right one by its mark, or by what it holds; an empty directory
// is only for who knows of no blobs.
func TestRecognise(t *testing.T) {
	know := func(names ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return names, nil }
	}
	content := []byte("content")
	d, sha, path := stored(t, content)
	gone := fmt.Sprintf("%064d", 0)
	if err := d.Recognise(t.Context(), know(gone)); !errors.Is(err, blob.ErrNotMarked) {
		t.Errorf("a store of others: %v", err)
	}
	if err := d.Recognise(t.Context(), know(gone, sha)); err != nil {
		t.Errorf("a store from before marks: %v", err)
	}
	if err := open(t, filepath.Dir(filepath.Dir(path))).Recognise(t.Context(), know(gone)); err != nil {
		t.Errorf("a store with a mark: %v", err)
	}
	if err := open(t, t.TempDir()).Recognise(t.Context(), know()); err != nil {
		t.Errorf("a new store: %v", err)
	}
	if _, err := d.Open(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing blob of a store with a mark: %v", err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(filepath.Dir(path)), blob.Mark)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), gone); blob.Unusable(err) || !errors.Is(err, blob.ErrNotMarked) {
		t.Errorf("a missing blob of a store that has lost its mark: %v", err)
	}
	if err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(); err != nil {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := d.Open(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing blob of a store that was begun again: %v", err)
	}
}

// A walk finds all that is damaged, and all that is known and missing, goes on
// behind a name, and keeps to its rate.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	var names []string
	bad := map[string]bool{}
	for i := range 200 {
		ref, err := blob.Put(t.Context(), d, bytes.NewReader(fmt.Appendf(nil, "blob %d", i)))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, ref.SHA256)
		if i%20 == 0 {
			bad[ref.SHA256] = true
			kind := []string{"shorter", "changed", "longer", "gone"}[i/20%4]
			if err := damages()[kind](filepath.Join(dir, ref.SHA256[:2], ref.SHA256), fmt.Appendf(nil, "blob %d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(names)
	known := func(_ context.Context, after string) ([]string, error) {
		from, found := slices.BinarySearch(names, after)
		if found {
			from++
		}
		return slices.Clone(names[from:min(from+100, len(names))]), nil
	}
	walk := func(after string) (seen []string, wrong int) {
		w := &blob.Walk{Dir: d, Known: known, After: after}
		if err := w.Run(t.Context(), func(l blob.Verification) error {
			seen = append(seen, l.SHA256)
			if blob.Unusable(l.Err) != bad[l.SHA256] {
				t.Errorf("%s: %v", l.SHA256, l.Err)
			}
			if l.Err != nil {
				wrong++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return seen, wrong
	}
	if seen, wrong := walk(""); !slices.Equal(seen, names) || wrong != len(bad) {
		t.Errorf("%d of %d blobs were looked at, %d of %d are bad", len(seen), len(names), wrong, len(bad))
	}
	if seen, _ := walk(names[90]); !slices.Equal(seen, names[91:]) {
		t.Errorf("behind the 91st %d blobs were looked at", len(seen))
	}
}

func TestAWalkKeepsToItsRate(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for i := range 4 {
		if _, err := blob.Put(t.Context(), d, bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 1000))); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := (&blob.Walk{Dir: d, Rate: 400}).Run(t.Context(), func(blob.Verification) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("4,000 bytes at 400 a second took %v", took)
		}
	})
}
