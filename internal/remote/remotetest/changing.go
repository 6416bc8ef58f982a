package remotetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tributary/internal/remote"
)

// listsWhatStays holds that a directory in which files come and go all the time is listed
// with each file once that was there all the time, or the listing is said to be broken off:
// nginx ends the connection where a file goes between its name and its size.
func listsWhatStays(t *testing.T, w *world) {
	const stays, lists, tries = 60, 4, 200
	for i := range stays {
		w.put(t, fmt.Sprintf("add/stays-%d.zip", i), noise(10+i))
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := w.comeAndGo(n); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for n, tried := 0, 0; n < lists; tried++ {
		got := map[string]remote.Entry{}
		err := w.s.List(t.Context(), "add", func(e remote.Entry) error {
			if _, twice := got[e.Name]; twice {
				t.Errorf("%q is listed twice", e.Name)
			}
			got[e.Name] = e
			return nil
		})
		if remote.ClassOf(err) == remote.Connection && tried < tries {
			continue
		}
		if err != nil {
			t.Errorf("after %d listings: %v", tried, err)
			break
		}
		n++
		for i := range stays {
			name := fmt.Sprintf("stays-%d.zip", i)
			want := remote.Entry{Name: name, Size: int64(10 + i), ModTime: moment, Precision: w.Precision, Kind: remote.File}
			if e := got[name]; e.Name != want.Name || e.Size != want.Size || !e.ModTime.Equal(want.ModTime) || e.Kind != want.Kind {
				t.Errorf("%s is listed as %+v", name, e)
			}
		}
	}
	stop()
	wg.Wait()
}

// comeAndGo puts a file there, and takes away one of those before.
func (w *world) comeAndGo(n int) error {
	const there = 20
	name := func(n int) string { return filepath.Join(w.Root, "add", fmt.Sprintf("goes-%d.zip", n)) }
	if err := w.replace(name(n), noise(100+n%7)); err != nil || n < there {
		return err
	}
	return os.Remove(name(n - there))
}

// replace puts a file in the place of another, or of none, at once.
func (w *world) replace(path string, data []byte) error {
	part := filepath.Join(filepath.Dir(w.Root), "coming")
	if err := os.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	if err := os.Chtimes(part, moment, moment); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// replacedMeanwhile holds that of a file in whose place another is put while it is read,
// of the same size and time, the bytes are those of the one or of the other, or the reading
// fails: never some of each.
func replacedMeanwhile(t *testing.T, w *world) {
	const size = 6 << 20 // more than servers and the way to them hold
	old, now := noise(size), append(noise(size - 1)[:size-1:size-1], 0)
	for _, first := range []int{1, 300_000} {
		w.put(t, "add/f.zip", old)
		r := w.open(t, "add/f.zip", size)
		var got bytes.Buffer
		_, err := io.CopyN(&got, struct{ io.Reader }{r}, int64(first))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.replace(filepath.Join(w.Root, "add/f.zip"), now); err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(&got, struct{ io.Reader }{r})
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err == nil && !bytes.Equal(got.Bytes(), old) && !bytes.Equal(got.Bytes(), now) {
			t.Errorf("replaced after %d bytes: %d bytes come, some of each", first, got.Len())
		}
	}
	if got := w.fetch(t, "add/f.zip", size); !bytes.Equal(got, now) {
		t.Errorf("afterwards %d bytes come, or others", len(got))
	}
}
