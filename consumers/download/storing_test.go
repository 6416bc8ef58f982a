package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/schemas"
	"tributary/test/wait"
)

// A checksum is asked for unless control says that listings have shown none.
func TestAChecksumIsAskedForUnlessThereIsNone(t *testing.T) {
	for name, tt := range map[string]struct {
		none     bool
		err      error
		asked    int
		checksum string
	}{
		"there is none":     {none: true, asked: 0, checksum: "no_checksum"},
		"there may be one":  {none: false, asked: 1, checksum: "matched"},
		"control is silent": {none: true, err: errors.New("no answer"), asked: 1, checksum: "matched"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("a.zip", "content")
			b.put("a.zip.md5", md("content"))
			var said []string
			b.deps.WithoutChecksums = func(_ context.Context, source, definition string, files []string) (bool, error) {
				said = append(append(said, source, definition), files...)
				return tt.none, tt.err
			}
			if err := b.work(t.Context(), b.job("a.zip")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"src", b.definition, schemas.FileID("add", "a.zip")}, said); diff != "" {
				t.Errorf("control is asked (- want, + got):\n%s", diff)
			}
			got := b.finished()["a.zip"]
			if got == nil || got.Checksum != tt.checksum || b.server.opens["add/a.zip.md5"] != tt.asked {
				t.Errorf("the checksum was asked for %d times, and the file ends as %+v", b.server.opens["add/a.zip.md5"], got)
			}
		})
	}
}

// slowly is a store whose first blob is committed once next is closed.
type slowly struct {
	blob.Store
	first chan string
	next  chan struct{}
}

func (s *slowly) Create(ctx context.Context) (blob.Writer, error) {
	w, err := s.Store.Create(ctx)
	return &slowWriter{Writer: w, s: s}, err
}

type slowWriter struct {
	blob.Writer
	s    *slowly
	text []byte
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.text = append(w.text, b...)
	return w.Writer.Write(b)
}

func (w *slowWriter) Commit() (blob.Ref, error) {
	select {
	case w.s.first <- string(w.text):
		select {
		case <-w.s.next:
		case <-time.After(wait.Patience()):
			return blob.Ref{}, errors.New("no other file came meanwhile")
		}
	default:
	}
	return w.Writer.Commit()
}

// While a file is stored the next one comes, but no more are asked for at once than the
// session is good for; and none is told before it is stored.
func TestTheNextFileComesWhileOneIsStored(t *testing.T) {
	b := newBench(t)
	s := &slowly{Store: b.deps.Blobs, first: make(chan string, 1), next: make(chan struct{})}
	b.deps.Blobs = s
	var asked, told []string
	const files = 9
	var names []string
	for i := range files {
		name := fmt.Sprint(i, ".zip")
		names = append(names, name)
		b.put(name, name).opened = func() {
			asked = append(asked, name)
			if i == files-1 {
				b.mu.Lock()
				told = b.told()
				b.mu.Unlock()
				close(s.next)
			}
		}
		b.put(name+".md5", md(name)).opened = func() { asked = append(asked, name+".md5") }
	}
	if err := b.work(t.Context(), b.job(names...)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range names {
		want = append(want, name, name+".md5")
	}
	if diff := cmp.Diff(want, asked); diff != "" { // under -race, that none is asked for beside another shows by itself
		t.Errorf("the server is asked (- want, + got):\n%s", diff)
	}
	if held := <-s.first; !slices.Contains(names, held) || slices.Contains(told, held) || len(b.finished()) != files {
		t.Errorf("before %s is stored %v are told, and %d in the end", held, told, len(b.finished()))
	}
}

// told are the files whose outcome was told so far. The caller holds the mutex.
func (b *bench) told() (names []string) {
	for _, m := range b.out {
		if d, ok := m.Body.(*schemas.DownloadFinished); ok {
			names = append(names, d.FileName)
		}
	}
	return names
}
