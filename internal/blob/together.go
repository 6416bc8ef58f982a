package blob

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"tributary/internal/crashpoint"
)

const (
	// mostTogether is how large a blob may be that waits for others. A larger one takes
	// longer to reach the disk than they do together.
	mostTogether = 1 << 20
	// mostDirty is how much, of all programs, may be on its way to the disks of the
	// machine when a file system is synced: all that is in it comes first.
	mostDirty = 32 << 20
)

// together brings small blobs to their places, all at once that are committed while
// others are on their way: two syncs of the file system make them durable, where each
// would take one of its file and one of its directory. Who commits does the work of all
// who wait, so nothing runs beside.
type together struct {
	// top is the open directory of the store, by which its file system is synced: from
	// before anything was written, so that it is told of what could not be.
	top *os.File
	// whole syncs all that is in it, and dirty is how much in the machine there may be.
	whole func(*os.File) error
	dirty func() int64
	// apart is set where each blob is brought to its place by itself: the file system is
	// none that is known to sync as a whole what it was told to, or it has failed to.
	apart atomic.Bool
	// turn is held by who brings blobs to their places.
	turn chan struct{}

	mu      sync.Mutex
	waiting []*arrival
}

// arrival is a blob that is to come to its place.
type arrival struct {
	w     *writer
	ref   Ref
	in    *fanDir // its place, once it is there
	done  chan struct{}
	alone bool // it must be brought there by itself, after all
	err   error
}

func newTogether(top *os.File) *together {
	t := &together{top: top, whole: syncWhole, dirty: dirty, turn: make(chan struct{}, 1)}
	t.apart.Store(!syncsWhole(top))
	return t
}

// place brings a blob to its place, and is back when it is durable there.
func (t *together) place(w *writer, ref Ref) error {
	if ref.Size > mostTogether || t.apart.Load() {
		return w.place(ref)
	}
	return t.await(t.join(w, ref))
}

// join has a blob wait for its turn.
func (t *together) join(w *writer, ref Ref) *arrival {
	a := &arrival{w: w, ref: ref, done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, a)
	return a
}

// await takes the turn for all that wait, unless somebody else brings this one to its
// place before.
func (t *together) await(a *arrival) error {
	select {
	case t.turn <- struct{}{}:
		t.work()
		<-t.turn
		<-a.done // who had the turn before may have taken it along
	case <-a.done:
	}
	if a.alone {
		return a.w.place(a.ref)
	}
	return a.err
}

// work brings all that wait to their places. One alone is there sooner by itself; those
// that come meanwhile are together.
func (t *together) work() {
	t.mu.Lock()
	all := t.waiting
	t.waiting = nil
	t.mu.Unlock()
	switch {
	case len(all) == 0: // who had the turn before has taken all along
	case t.apart.Load() || t.dirty() > mostDirty:
		for _, a := range all {
			a.alone = true
		}
	case len(all) == 1:
		all[0].err = all[0].w.place(all[0].ref)
	default:
		t.placeAll(all)
	}
	for _, a := range all {
		close(a.done)
	}
}

// placeAll is writer.place for all of them at once: no name is there before the
// content is durable.
func (t *together) placeAll(all []*arrival) {
	if err := t.sync(); err != nil {
		for _, a := range all {
			a.alone = true
		}
		return
	}
	crashpoint.At("blob", "commit", "before")
	for _, a := range all {
		a.in, a.err = a.w.rename(a.ref)
	}
	failed := t.sync()
	crashpoint.At("blob", "commit", "after")
	for _, a := range all {
		if a.err == nil && failed != nil {
			a.err = errors.Join(a.w.f.Sync(), a.in.handle.Sync())
		}
		if a.err == nil {
			a.err = a.w.release()
		}
	}
}

// sync makes durable all that was written into the file system before. An error may be
// about anything in it, and is told once; so from then on each file is asked for its own.
func (t *together) sync() error {
	// Without a journal, ext4 writes the directories behind the last order to its disk
	// that nothing be kept back. Another fsync gives that order once more.
	err := errors.Join(t.whole(t.top), t.top.Sync())
	if err != nil {
		t.apart.Store(true)
	}
	return err
}
