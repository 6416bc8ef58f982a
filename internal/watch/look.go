package watch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// probe is what lies at somebody's directories: nil where there is nothing.
type probe struct {
	id   string
	dirs []string
	at   []os.FileInfo
	err  error
}

// look finds out what lies at directories. It may wait for long, as for a share whose
// server is gone.
func (w *Watcher) look(ctx context.Context, id string, dirs []string) {
	p := probe{id: id, dirs: dirs, at: make([]os.FileInfo, len(dirs))}
	for i, dir := range dirs {
		info, err := w.stat(dir)
		switch {
		case err == nil:
			p.at[i] = info
		case !errors.Is(err, os.ErrNotExist):
			p.err = err
		}
	}
	select {
	case w.probed <- p:
	case <-ctx.Done():
	}
}

// forgetEnded forgets watches that have ended with what they watched.
func (w *Watcher) forgetEnded() {
	if w.notify == nil {
		return
	}
	there := map[string]bool{}
	for _, path := range w.notify.WatchList() {
		there[path] = true
	}
	for path := range w.watched {
		if !there[path] {
			delete(w.watched, path)
		}
	}
}

func (w *Watcher) drop(path string) {
	_ = w.notify.Remove(path) // it may have ended by itself
	delete(w.watched, path)
}

// take makes the watches that are lacking of what was looked at. What has come to a
// path, or gone from it, is a change. Of somebody who is new one of the time is for
// which it may have asked: its directory may have been listed before that.
func (w *Watcher) take(p probe) {
	w.looking--
	a := w.asking[p.id]
	if a == nil {
		return
	}
	fresh := !a.known
	a.probing, a.known, a.state, a.why = time.Time{}, true, Watched, nil
	if p.err != nil {
		a.state, a.why = Unreachable, p.err
	}
	for i, path := range p.dirs {
		is := p.at[i]
		if fresh && is != nil && is.ModTime().After(a.since) {
			w.mark(p.id)
		}
		if err := w.watch(path, is, !fresh); err != nil {
			a.state, a.why = StateOf(err), err
		}
	}
}

// watch sees to it that what lies at a path is watched. Where another thing does than
// before, that is a change; that there was nothing may be one.
func (w *Watcher) watch(path string, is os.FileInfo, change bool) error {
	was := w.watched[path]
	if was != nil && is != nil && os.SameFile(was, is) {
		return nil
	}
	if was != nil {
		w.drop(path)
		change = true
	}
	if change && (was != nil || is != nil) {
		defer w.touched(path)
	}
	switch {
	case is == nil || !is.IsDir():
		return nil
	case w.notify == nil:
		return w.refused
	case len(w.watched) >= w.most:
		return errMost
	}
	if err := w.add(w.notify, path); err != nil {
		return err
	}
	w.watched[path] = is
	return nil
}

var errMost = errors.New("as many directories are watched as this program does")

// StateOf tells what a system gives no more of from a directory that has gone meanwhile.
func StateOf(err error) State {
	for _, none := range []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, errMost, errFew} {
		if errors.Is(err, none) {
			return Exhausted
		}
	}
	return Unreachable
}
