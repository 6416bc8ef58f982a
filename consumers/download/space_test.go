package download

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tributary/internal/blob"
	"tributary/internal/config"
)

const mib = 1 << 20

// disk is a file system of which the test says how much is free.
type disk struct{ free atomic.Int64 }

func (d *disk) space(minFree int64) *blob.Space {
	return blob.NewSpace(func() (blob.Usage, error) { return blob.Usage{Free: d.free.Load(), Total: 1 << 40}, nil }, minFree, 1, "the store",
		slog.New(slog.DiscardHandler))
}

// unfinished counts what a store has not committed.
func unfinished(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Without room no connection is made, and no attempt is charged: the job is
// told apart from a failure by having no outcome at all.
func TestALowDiskKeepsJobsFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.put("a.zip", strings.Repeat("x", 1000))
		var d disk
		b.deps.Space = d.space(10_000)
		for _, step := range []struct {
			free int64
			done bool
		}{{9_999, false}, {12_000, false}, {12_500, true}} {
			time.Sleep(2 * time.Second) // the file system is asked once a second
			d.free.Store(step.free)
			dials := b.dials
			err := b.work(t.Context(), b.job("a.zip"))
			if step.done != (err == nil) || !step.done && (!errors.Is(err, blob.ErrLow) || b.dials > dials || len(b.out) > 0) {
				t.Errorf("with %d free: %v, %d connections, %d events", step.free, err, b.dials-dials, len(b.out))
			}
		}
		if b.finished()["a.zip"] == nil {
			t.Error("the file was not fetched when there was room again")
		}
	})
}

// A file that would leave too little ends by itself: it is tried again later,
// and holds up neither the others of its job nor those behind it.
func TestAFileTooLargeForTheDiskFails(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", "x")
	b.put("large.zip", "").size = 3000
	b.put("liar.zip", "").size = 10 << 40
	b.put("z.zip", "x")
	var d disk
	d.free.Store(12_000)
	b.deps.Space = d.space(10_000)
	if err := b.work(t.Context(), b.job("a.zip", "large.zip", "liar.zip", "z.zip")); err != nil {
		t.Fatal(err)
	}
	got := b.finished()
	for name, want := range map[string]string{"a.zip": "", "large.zip": "no_room", "liar.zip": "file_too_large", "z.zip": ""} {
		if o := got[name]; o == nil || o.Exception != want {
			t.Errorf("%s ended as %+v, want %q", name, o, want)
		}
	}
	if n := b.server.opens["add/large.zip"]; n > 0 {
		t.Errorf("the file without room was opened %d times", n)
	}
}

// Files under way at once do not run into the floor together.
func TestFilesUnderWayShareTheRoom(t *testing.T) {
	b := newBench(t)
	var d disk
	d.free.Store(12_000)
	b.deps.Space = d.space(10_000)
	first, second := b.put("first.zip", strings.Repeat("x", 1500)), b.put("second.zip", strings.Repeat("x", 1500))
	first.opened = func() {
		other := newBench(t)
		other.Downloader.deps.Space = b.deps.Space
		other.server.files["add/second.zip"] = second
		if err := other.work(t.Context(), other.job("second.zip")); err != nil {
			t.Error(err)
		}
		if o := other.finished()["second.zip"]; o == nil || o.Exception != "no_room" {
			t.Errorf("beside the first the second file ended as %+v, want no_room", o)
		}
	}
	if err := b.work(t.Context(), b.job("first.zip")); err != nil || b.finished()["first.zip"].Exception != "" {
		t.Errorf("the first file: %v, %+v", err, b.finished()["first.zip"])
	}
}

// A disk that gets low during a transfer ends it without an outcome, and
// nothing of the file is left.
func TestADiskThatGetsLowInATransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dir := t.TempDir()
		store, err := blob.NewDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		b.deps.Blobs = store
		f := b.put("a.zip", strings.Repeat("x", 1000))
		var d disk
		d.free.Store(100_000)
		b.deps.Space = d.space(10_000)
		f.opened = func() {
			d.free.Store(5_000)
			time.Sleep(2 * time.Second)
		}
		if err := b.work(t.Context(), b.job("a.zip")); !errors.Is(err, blob.ErrLow) {
			t.Errorf("a low disk is reported as %v", err)
		}
		if len(b.finished()) > 0 {
			t.Error("the file has an outcome, which would charge it an attempt")
		}
		if n := unfinished(t, dir); n > 0 {
			t.Errorf("%d unfinished files are left in the store", n)
		}
	})
}

// tmpfs mounts a small file system; that needs root, and the right to mount.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root; the same is tested with an invented one")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system can't be mounted here (%v); the same is tested with an invented one", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// On a real small disk: a transfer that fills it is given up without an
// outcome and without a trace, one below the floor is not begun, and when there
// is room all goes on by itself.
func TestASmallDiskFillsAndIsFreed(t *testing.T) {
	dir := tmpfs(t, "8m")
	store, err := blob.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := newBench(t)
	b.deps.Blobs = store
	b.cfg.MaxFileSize = config.Bytes(1 << 40)
	large := b.put("large.zip", "x")
	large.endless, large.size = true, -1
	err = b.work(t.Context(), b.job("large.zip"))
	if !errors.Is(err, blob.ErrFull) || !strings.Contains(err.Error(), "no space left on the disk of "+dir) {
		t.Errorf("a full disk is reported as %v", err)
	}
	if len(b.finished()) > 0 || unfinished(t, dir) > 0 {
		t.Errorf("%d outcomes and %d unfinished files, want none", len(b.finished()), unfinished(t, dir))
	}

	b.deps.Space = blob.NewSpace(store.Usage, 4*mib, 1, dir, slog.New(slog.DiscardHandler))
	b.put("small.zip", "x")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 5*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	b.out, b.dials = nil, 0
	if err := b.work(t.Context(), b.job("small.zip")); !errors.Is(err, blob.ErrLow) || b.dials > 0 {
		t.Errorf("below the floor: %v, %d connections", err, b.dials)
	}
	if err := os.Remove(ballast); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if err = b.work(t.Context(), b.job("small.zip")); err == nil {
			break
		}
		<-tick.C
	}
	if err != nil || b.finished()["small.zip"] == nil {
		t.Errorf("with room again: %v", err)
	}
}
