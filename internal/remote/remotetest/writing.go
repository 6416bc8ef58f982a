package remotetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// RunWriting runs the suite of sessions that can change what is on their servers; start
// makes a server of a directory that may be changed. After patience a change is stuck.
func RunWriting(t *testing.T, patience time.Duration, start func(t *testing.T, dir string) Fixture) {
	t.Run("changes what it is told to", func(t *testing.T) { changes(t, start) })
	t.Run("waits for its turn", func(t *testing.T) { waits(t, patience, start) })
}

// WriterOf opens a session, and what changes the files of its server.
func WriterOf(t *testing.T, c remote.Config) (remote.Session, writing.Writer) {
	t.Helper()
	s := Dial(t, c)
	w, err := remote.Writing(s, writing.Permitted())
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// Contents are the files of a directory, each with its text.
func Contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// changes tries what a writer promises.
func changes(t *testing.T, start func(t *testing.T, dir string) Fixture) {
	dir := Mkdir(t, Served(t))
	for file, text := range map[string]string{"add/remove.zip": "1", "add/move.zip": "22", "add/stays.zip": "333", "add/mark.zip": "4444", "done/add/stays.zip": "other", "add/marked.zip.done": "by others"} {
		Put(t, dir, file, text)
	}
	f := start(t, dir)
	_, w := WriterOf(t, f.Config)
	ctx := t.Context()
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	ok("delete", w.Remove(ctx, "add/remove.zip"))
	if err := w.Remove(ctx, "add/remove.zip"); !errors.Is(err, fs.ErrNotExist) && !f.KeysOnly {
		t.Errorf("deleting what is gone: %v", err)
	}
	for _, made := range []string{"new", "new/add", "new/add"} {
		ok("make directory "+made, w.MakeDirectory(ctx, made))
	}
	ok("move", w.Move(ctx, "add/move.zip", "new/add/move.zip"))
	if err := w.Move(ctx, "add/move.zip", "new/add/other.zip"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("moving what is gone: %v", err)
	}
	if err := w.Move(ctx, "add/stays.zip", "done/add/stays.zip"); !errors.Is(err, fs.ErrExist) || remote.Exception(err) != "target_exists" {
		t.Errorf("moving over what is there: %v", err)
	}
	if err := w.Move(ctx, "add/stays.zip", "add/stays.zip"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("moving to itself: %v", err)
	}
	for range 2 {
		ok("mark", w.Mark(ctx, "add/mark.zip.done"))
	}
	ok("mark what is marked", w.Mark(ctx, "add/marked.zip.done"))
	if err := w.Remove(ctx, "../x"); err == nil {
		t.Error("left the base")
	}
	want := map[string]string{"add/stays.zip": "333", "add/mark.zip": "4444", "add/mark.zip.done": "", "done/add/stays.zip": "other", "add/marked.zip.done": "by others", "new/add/move.zip": "22"}
	if d := cmp.Diff(want, Contents(t, dir)); d != "" {
		t.Errorf("the server's files (- want, + got):\n%s", d)
	}
}

// turnstile lets one pass at a time, and counts them.
type turnstile struct {
	free   chan struct{}
	passed atomic.Int64
}

func (g *turnstile) Ask(ctx context.Context) (func(), error) {
	select {
	case <-g.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.passed.Add(1)
	return sync.OnceFunc(func() { g.free <- struct{}{} }), nil
}

func (g *turnstile) AtLeast(context.Context, time.Duration) {}

func (g *turnstile) Paced(context.Context) bool { return true }

// waits has each change wait until the server may be asked, and for nothing while it is.
func waits(t *testing.T, patience time.Duration, start func(t *testing.T, dir string) Fixture) {
	dir := Mkdir(t, Served(t))
	Put(t, dir, "add/remove.zip", "1")
	Put(t, dir, "add/move.zip", "22")
	f := start(t, dir)
	if f.Ungated {
		return
	}
	cfg, gate := f.Config, &turnstile{free: make(chan struct{}, 1)}
	gate.free <- struct{}{}
	cfg.Gate = gate
	_, w := WriterOf(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for what, change := range map[string]func() error{
		"delete": func() error { return w.Remove(ctx, "add/remove.zip") },
		"mark":   func() error { return w.Mark(ctx, "add/x.done") },
		"move":   func() error { return w.Move(ctx, "add/move.zip", "add/moved.zip") },
	} {
		before := gate.passed.Load()
		if err := change(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		least := map[bool]int64{true: 2, false: 1}[what == "move"] // what is there is asked first
		if asked := gate.passed.Load() - before; asked < least {
			t.Errorf("%s asked the server %d times, want %d at the least", what, asked, least)
		}
	}
}
