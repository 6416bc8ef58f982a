// Package watch tells that something may have changed in directories of this machine,
// by inotify.
//
// What it tells is a hint, never the truth: it doesn't say what has changed, may tell
// of a change that was none, and tells nothing of what another machine does on a
// network share. Whoever needs to know looks, and goes on looking by the clock. So
// nothing here is an error: a directory that can't be watched is one of which no hint
// comes, and its [State] says why.
package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
)

// State is how somebody's directories are watched.
type State string

// The states.
const (
	// Watched: changes are told, as far as the file system tells them.
	Watched State = "watched"
	// Exhausted: the system gives this account no more watches, or as many are used as this program uses.
	Exhausted State = "watches_exhausted"
	// Unreachable: the directories can't be looked at, or don't answer.
	Unreachable State = "unreachable"
)

// States are all that there are.
func States() []State { return []State{Watched, Exhausted, Unreachable} }

const (
	// refreshEvery is how often is looked whose directories are to be watched, and
	// whether those that are watched are still the ones at their paths.
	refreshEvery = 5 * time.Second
	// quiet is how long is waited after a change, so that many are told as one.
	quiet = time.Second
	// most is how many directories are watched at once. The kernel lets an account watch
	// some thousands at least, and other programs of it need some.
	most = 3000
	// mostLooks is at how many askers' directories is looked at once.
	mostLooks = 64
)

// Deps are what a Watcher works with. Its functions are called by Run alone, one at a
// time.
type Deps struct {
	// Dirs returns the directories to watch, as absolute paths, by the id of who asks.
	Dirs func(context.Context) (map[string][]string, error)
	// Changed is told whose directories may have changed. It returns false where it is
	// to be told so again.
	Changed func(ctx context.Context, id string) bool
	// Pause is how long nothing more is told of somebody after that.
	Pause func(id string) time.Duration
	// Lost is told why events were lost, such as that the kernel's queue of them was full.
	// Changes of everybody follow.
	Lost func(why error)
	// Report is told how everybody's directories are watched, by id, whenever that was
	// looked at, and why one is not.
	Report func(states map[string]State, whys map[string]error)
}

// Watcher watches directories.
type Watcher struct {
	deps  Deps
	most  int
	every time.Duration // between looks
	add   func(*fsnotify.Watcher, string) error
	stat  func(string) (os.FileInfo, error)

	notify  *fsnotify.Watcher // nil: the system gives none now
	asking  map[string]*asker
	watched map[string]os.FileInfo // by path: what was there when its watch was made
	probed  chan probe
	looking int                  // probes under way
	looked  time.Time            // since when everybody was known who asked
	due     map[string]time.Time // of whom something is to be told, and when
	told    map[string]time.Time // when something was told last
	refused error                // why the system gives none
}

// asker is somebody whose directories are watched.
type asker struct {
	dirs    []string
	probing time.Time // since when its directories are looked at; zero: they are not
	known   bool      // they were looked at before
	since   time.Time // it is new: nobody asked before that
	state   State
	why     error
}

// New makes a Watcher.
func New(d Deps) *Watcher {
	return &Watcher{deps: d, most: most, every: refreshEvery, add: (*fsnotify.Watcher).Add, stat: os.Stat,
		asking: map[string]*asker{}, watched: map[string]os.FileInfo{}, due: map[string]time.Time{}, told: map[string]time.Time{}}
}

// Run watches until ctx ends. On systems other than Linux it does nothing: their way
// takes a descriptor for each file.
func (w *Watcher) Run(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.probed, w.looked = make(chan probe), time.Now().Add(-w.every)
	defer w.close()
	refresh, tell := time.NewTimer(0), time.NewTimer(quiet)
	defer refresh.Stop()
	defer tell.Stop()
	for {
		var events chan fsnotify.Event
		var failed chan error
		var tells <-chan time.Time // nil: there is nothing to tell
		if w.notify != nil {
			events, failed = w.notify.Events, w.notify.Errors
		}
		if len(w.due) > 0 {
			tells = tell.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-refresh.C:
			w.refresh(ctx)
			refresh.Reset(w.every)
		case p := <-w.probed:
			w.take(p)
		case e := <-events:
			w.touched(e.Name)
			w.touched(filepath.Dir(e.Name))
		case err := <-failed:
			// An event may have been that a watch has ended.
			w.deps.Lost(err)
			w.begin()
			refresh.Reset(quiet)
		case <-tells:
			w.tell(ctx)
			tell.Reset(quiet / 4)
		}
	}
}

// begin forgets all watches, and tells everybody of a change.
func (w *Watcher) begin() {
	w.close()
	for id := range w.asking {
		w.mark(id)
	}
}

func (w *Watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close() // which never fails
	}
	w.notify, w.watched = nil, map[string]os.FileInfo{}
}

// refresh looks whose directories are to be watched, and has them looked at.
func (w *Watcher) refresh(ctx context.Context) {
	began := time.Now()
	all, err := w.deps.Dirs(ctx)
	if err != nil {
		return // until it answers, what is watched is
	}
	if w.notify == nil {
		w.notify, w.refused = fsnotify.NewWatcher()
	}
	w.forget(all)
	w.forgetEnded()
	for id, dirs := range all {
		a := w.asking[id]
		if a == nil {
			a = &asker{since: w.looked}
			w.asking[id] = a
		}
		a.dirs = dirs
		switch {
		case !a.probing.IsZero() && time.Since(a.probing) > w.every:
			a.state, a.why = Unreachable, errors.New("the file system does not answer")
		case a.probing.IsZero() && w.looking < mostLooks:
			a.probing = time.Now()
			w.looking++
			go w.look(ctx, id, dirs)
		}
	}
	w.looked = began
	w.report()
}

// forget forgets who doesn't ask any more.
func (w *Watcher) forget(all map[string][]string) {
	wanted := map[string]bool{}
	for _, dirs := range all {
		for _, d := range dirs {
			wanted[d] = true
		}
	}
	for id := range w.asking {
		if _, is := all[id]; !is {
			delete(w.asking, id)
			delete(w.due, id)
			delete(w.told, id)
		}
	}
	for path := range w.watched {
		if !wanted[path] {
			w.drop(path)
		}
	}
}

// touched notes that something has changed at a path, which may be nobody's.
func (w *Watcher) touched(path string) {
	for id, a := range w.asking {
		for _, dir := range a.dirs {
			if dir == path {
				w.mark(id)
			}
		}
	}
}

// mark has somebody told of a change, once it is quiet for a moment and the pause after
// the last is over.
func (w *Watcher) mark(id string) {
	if _, marked := w.due[id]; marked {
		return
	}
	at := time.Now().Add(quiet)
	if told, is := w.told[id]; is {
		if over := told.Add(w.deps.Pause(id)); over.After(at) {
			at = over
		}
	}
	w.due[id] = at
}

// tell tells everybody whose time has come.
func (w *Watcher) tell(ctx context.Context) {
	now := time.Now()
	for id, at := range w.due {
		if at.After(now) {
			continue
		}
		delete(w.due, id)
		if w.deps.Changed(ctx, id) {
			w.told[id] = now
		} else {
			w.due[id] = now.Add(quiet)
		}
	}
}

func (w *Watcher) report() {
	states, whys := map[string]State{}, map[string]error{}
	for id, a := range w.asking {
		if a.state != "" {
			states[id], whys[id] = a.state, a.why
		}
	}
	w.deps.Report(states, whys)
}
