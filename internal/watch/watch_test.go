package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"tributary/test/wait"
)

// bench is a watcher of directories of the test, and what it has told.
type bench struct {
	*Watcher
	t    *testing.T
	root string

	mu      sync.Mutex
	dirs    map[string][]string
	states  map[string]State
	looks   int
	told    chan string
	lost    atomic.Value // why, as an error
	refuses func() bool  // what is told is to be told again
}

func newBench(t *testing.T, ids ...string) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir(), dirs: map[string][]string{}, told: make(chan string, 100)}
	b.Watcher = New(Deps{
		Dirs: func(context.Context) (map[string][]string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			all := map[string][]string{}
			for id, dirs := range b.dirs {
				all[id] = dirs
			}
			return all, nil
		},
		Changed: func(_ context.Context, id string) bool {
			b.told <- id
			return b.refuses == nil || !b.refuses()
		},
		Lost:  func(err error) { b.lost.Store(err) },
		Pause: func(string) time.Duration { return 0 },
		Report: func(states map[string]State, _ map[string]error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.states, b.looks = states, b.looks+1
		},
	})
	b.every = 20 * time.Millisecond
	for _, id := range ids {
		b.dirs[id] = []string{b.path(id, "add"), b.path(id, "edit")}
		b.make(id, "add")
	}
	return b
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.root}, elements...)...)
}

func (b *bench) make(id, dir string) {
	b.t.Helper()
	b.must(os.MkdirAll(b.path(id, dir), 0o755))
	// Long ago: what a directory shows of before is no change.
	b.must(os.Chtimes(b.path(id, dir), time.Time{}, time.Now().Add(-time.Hour)))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// until waits for a condition, looking often.
func (b *bench) until(what string, is func() bool) {
	b.t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	for !is() {
		select {
		case <-over.C:
			b.t.Fatalf("still not so: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// run has it watch until the test ends, and returns when all are watched as they are to be.
func (b *bench) run(states map[string]State) {
	b.t.Helper()
	b.start()
	b.stand(states)
}

func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

func (b *bench) stand(states map[string]State) {
	b.t.Helper()
	b.until(fmt.Sprint("states ", states), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return cmp.Equal(b.states, states)
	})
}

// next is of whom is told next.
func (b *bench) next() string {
	b.t.Helper()
	select {
	case id := <-b.told:
		return id
	case <-time.After(wait.Patience()):
		b.t.Fatal("nothing is told")
		return ""
	}
}

// looked waits until everything was looked at once more.
func (b *bench) looked() {
	b.t.Helper()
	b.mu.Lock()
	from := b.looks
	b.mu.Unlock()
	b.until("another look", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.looks > from+3
	})
}

func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench) error{
		"a file comes":           func(b *bench) error { return os.WriteFile(b.path("one", "add", "new.zip"), nil, 0o600) },
		"a file is written to":   func(b *bench) error { return os.WriteFile(b.path("one", "add", "old.zip"), []byte("more"), 0o600) },
		"a file is replaced":     func(b *bench) error { return os.Rename(b.path("other.zip"), b.path("one", "add", "old.zip")) },
		"a file goes":            func(b *bench) error { return os.Remove(b.path("one", "add", "old.zip")) },
		"a directory comes":      func(b *bench) error { return os.Mkdir(b.path("one", "edit"), 0o755) },
		"a directory goes":       func(b *bench) error { return os.RemoveAll(b.path("one", "add")) },
		"a directory is moved":   func(b *bench) error { return os.Rename(b.path("one", "add"), b.path("aside")) },
		"what holds it is moved": func(b *bench) error { return os.Rename(b.path("one"), b.path("aside")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "one", "two")
			b.must(os.WriteFile(b.path("one", "add", "old.zip"), nil, 0o600))
			b.must(os.WriteFile(b.path("other.zip"), nil, 0o600))
			b.make("one", "add")
			b.run(map[string]State{"one": Watched, "two": Watched})
			b.must(change(b))
			if got := b.next(); got != "one" {
				t.Errorf("told was of %s", got)
			}
		})
	}
}

// A directory that is removed and made anew, or replaced by another, is watched as the
// one before was.
func TestAnotherDirectoryIsWatched(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench) error{
		"made anew": func(b *bench) error {
			return errors.Join(os.RemoveAll(b.path("one", "add")), os.Mkdir(b.path("one", "add"), 0o755))
		},
		"replaced": func(b *bench) error {
			return errors.Join(os.Rename(b.path("one", "add"), b.path("aside")), os.Rename(b.path("two", "add"), b.path("one", "add")))
		},
		"what holds it is replaced": func(b *bench) error {
			return errors.Join(os.Rename(b.path("one"), b.path("aside")), os.Rename(b.path("two"), b.path("one")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "one")
			b.make("two", "add")
			b.run(map[string]State{"one": Watched})
			b.must(change(b))
			b.next()
			b.looked()
			b.must(os.WriteFile(b.path("one", "add", "new.zip"), nil, 0o600))
			b.next()
		})
	}
}

// Of one that is new only what has changed just before is told, since its directory may
// have been listed before that.
func TestWhoIsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one", "two")
	b.every = time.Hour // that is just before, however busy the machine is
	b.must(os.WriteFile(b.path("two", "add", "new.zip"), nil, 0o600))
	b.start()
	if got := b.next(); got != "two" {
		t.Errorf("told was of %s, where nothing had changed", got)
	}
}

// Many changes are told as one, what is not taken is told again, and after that there is
// a pause.
func TestManyChangesAreOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one")
	refusals := 2
	b.refuses = func() bool { refusals--; return refusals >= 0 }
	b.deps.Pause = func(string) time.Duration { return time.Hour }
	b.run(map[string]State{"one": Watched})
	for i := range 1000 {
		b.must(os.WriteFile(b.path("one", "add", fmt.Sprint(i)), []byte("x"), 0o600))
	}
	for range 3 {
		b.next()
	}
	b.must(os.WriteFile(b.path("one", "add", "later"), []byte("x"), 0o600))
	b.until("quiet", func() bool { b.looked(); return len(b.told) == 0 })
}

// Where the kernel's queue overflows, everybody is told of a change, also where nothing
// was seen, and what lies at the paths by then is watched.
func TestAnOverflowIsAChangeOfAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one", "two", "three")
	hold := make(chan struct{})
	b.refuses = func() bool { <-hold; return false }
	b.run(map[string]State{"one": Watched, "two": Watched, "three": Watched})
	files := []string{b.path("one", "add", "a"), b.path("one", "add", "b")}
	for _, f := range files {
		b.must(os.WriteFile(f, nil, 0o600))
	}
	b.next() // and it sees nothing more until it is let go
	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	b.must(err)
	var n int
	_, err = fmt.Sscan(string(most), &n)
	b.must(err)
	for i := range n + 3*4096 {
		b.must(os.Truncate(files[i%2], 0)) // alternately, since the same event twice is one
		b.must(os.Chmod(files[i%2], 0o600))
	}
	b.must(os.Rename(b.path("two", "add"), b.path("aside"))) // of which nothing is heard
	b.make("two", "add")
	close(hold)
	told := map[string]bool{}
	b.until("an overflow", func() bool { err, is := b.lost.Load().(error); return is && errors.Is(err, fsnotify.ErrEventOverflow) })
	for len(told) < 3 {
		told[b.next()] = true
	}
	b.looked()
	b.must(os.WriteFile(b.path("two", "add", "new.zip"), nil, 0o600))
	for b.next() != "two" {
	}
}

// Where the system has no watch left, that is a state of who asks, and as soon as there
// is one it is watched: something may have come meanwhile.
func TestNoWatchIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one", "two")
	var none sync.Mutex
	left := 1
	b.add = func(w *fsnotify.Watcher, path string) error {
		none.Lock()
		defer none.Unlock()
		if left == 0 {
			return fmt.Errorf("add: %w", syscall.ENOSPC)
		}
		left--
		return w.Add(path)
	}
	b.dirs = map[string][]string{"one": {b.path("one", "add")}}
	b.run(map[string]State{"one": Watched})
	b.mu.Lock()
	b.dirs["two"] = []string{b.path("two", "add")}
	b.mu.Unlock()
	b.stand(map[string]State{"one": Watched, "two": Exhausted})
	none.Lock()
	left = 1
	none.Unlock()
	b.stand(map[string]State{"one": Watched, "two": Watched})
	if got := b.next(); got != "two" {
		t.Errorf("told was of %s", got)
	}
}

// No more directories are watched than are allowed.
func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one", "two", "three")
	b.most = 2
	b.start()
	b.until("one that is not watched", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		n := map[State]int{}
		for _, s := range b.states {
			n[s]++
		}
		return n[Watched] == 2 && n[Exhausted] == 1
	})
}

// A share whose server is gone keeps nobody else from being told.
func TestAShareThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "one", "two", "three")
	gone := make(chan struct{})
	var waiting atomic.Int32
	b.stat = func(path string) (os.FileInfo, error) {
		switch path {
		case b.path("two", "add"):
			waiting.Add(1)
			<-gone
		case b.path("three", "add"):
			return nil, &os.PathError{Op: "stat", Path: path, Err: syscall.ESTALE}
		}
		return os.Stat(path)
	}
	b.run(map[string]State{"one": Watched, "two": Unreachable, "three": Unreachable})
	b.must(os.WriteFile(b.path("one", "add", "new.zip"), nil, 0o600))
	if got := b.next(); got != "one" {
		t.Errorf("told was of %s", got)
	}
	b.looked()
	if n := waiting.Load(); n != 1 {
		t.Errorf("%d wait for it at once", n)
	}
	close(gone)
	b.stand(map[string]State{"one": Watched, "two": Watched, "three": Unreachable})
}
