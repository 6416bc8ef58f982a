package plan

import (
	"slices"
	"sort"
	"time"

	"tributary/internal/backoff"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// settings are the numbers that decisions depend on.
type settings struct {
	perHosting int
	backoff    backoff.Exponential // between attempts at one hosting
	retry      time.Duration       // before a file that failed for good is tried again, doubling
	retries    int                 // how often it is; 0: without end

	longestRest time.Duration // for which a server is left alone that asks for it; 0: a day
}

// World is what is known of some files while decisions about them are made, in
// one transaction: Load reads it under the files' locks, deciding changes it and
// adds events to out, and Store writes what has changed, with these events.
// Planners decide so about what polls and stages have found. What people order
// (recovery/replay, recovery/deadletter) is decided so too: Fetch begins an
// attempt that fetches a file, Reuse one of bytes that were brought before.
type World struct {
	settings
	outbox   outbox.Outbox
	now      time.Time
	files    map[string]*File
	attempts map[control.AttemptKey]*control.Attempt
	jobs     map[string]int               // outcomes accepted, per job
	met      map[string]*control.Outcomes // what fetches brought, per source
	healings []control.Healing
	origins  *origins                 // nil: bytes that are known under another name are loaded too
	rests    map[string]time.Duration // for how long servers have asked to be left alone
	left     map[string]time.Time     // servers that are left alone, until when
	out      []schemas.Message
}

// File is one file with all that belongs to it.
type File struct {
	*control.File
	Acquisitions []*control.Acquisition // those that bring versions to what is live, the oldest first
	hostings     []control.Hosting
	shadows      []*control.Acquisition // those of shadow runs, which nothing live looks at
	healings     []*control.Acquisition // those that fetch a damaged blob's bytes again, which bring no version
	looks        []*control.Look        // announced or waiting
}

// File is the file of that id; nil if control does not know it.
func (w *World) File(id string) *File { return w.files[id] }

// Attempt is the given attempt at a file; nil if control does not know it.
func (w *World) Attempt(run, file string, n int32) *control.Attempt {
	return w.attempts[control.AttemptKey{Run: run, File: file, Attempt: n}]
}

// Tell adds events that Store will write.
func (w *World) Tell(events ...schemas.Message) { w.out = append(w.out, events...) }

// brings is what fetches from a source have brought, to be added to.
func (w *World) brings(source string) *control.Outcomes {
	if w.met[source] == nil {
		w.met[source] = &control.Outcomes{}
	}
	return w.met[source]
}

// order lists the files' ids so that a batch is stored the same way each time.
func (w *World) order() []string {
	ids := make([]string, 0, len(w.files))
	for id := range w.files {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// active is the acquisition under way, if any.
func (f *File) active() *control.Acquisition {
	for _, a := range f.Acquisitions {
		if a.State != control.Queued && a.State != control.Ended {
			return a
		}
	}
	return nil
}

// newest is the last acquisition of the live run; nil if there is none. A replay
// neither replaces a look nor the trying again of one.
func (f *File) newest() *control.Acquisition {
	for _, a := range slices.Backward(f.Acquisitions) {
		if a.Run == schemas.LiveRun {
			return a
		}
	}
	return nil
}

// Acquisition is the one of that id, a shadow's too; nil if there is none.
func (f *File) Acquisition(id int64) *control.Acquisition {
	for _, all := range [][]*control.Acquisition{f.Acquisitions, f.shadows, f.healings} {
		for _, a := range all {
			if a.ID == id {
				return a
			}
		}
	}
	return nil
}

// add takes an acquisition up, a shadow's and one that heals apart from the
// others.
func (f *File) add(a *control.Acquisition) {
	switch {
	case schemas.IsShadow(a.Run):
		f.shadows = append(f.shadows, a)
	case a.Heals != "":
		f.healings = append(f.healings, a)
	default:
		f.Acquisitions = append(f.Acquisitions, a)
	}
}

// wanted are the acquisitions that may be requested now: the one under way, and
// those that heal, which wait for nothing.
func (f *File) wanted(now time.Time) (out []*control.Acquisition) {
	for _, a := range append([]*control.Acquisition{f.active()}, f.healings...) {
		if a != nil && a.State == control.Wanted && !a.NotBefore.After(now) {
			out = append(out, a)
		}
	}
	return out
}

// own reports whether a hosting is one of the producing centre's own sources.
func (f *File) own(h control.Hosting) bool { return h.SourceCentre == f.Centre }

// ownHosting returns a present hosting at one of the centre's own sources.
func (f *File) ownHosting() (control.Hosting, bool) {
	for _, h := range f.hostings {
		if f.own(h) && h.Present && h.Available() {
			return h, true
		}
	}
	return control.Hosting{}, false
}

// Postponed reports whether the file can be had from nowhere now, but may be
// later: its source is not available, or it changes just now.
func (f *File) Postponed() bool {
	later := false
	for _, h := range f.hostings {
		if !h.Present || h.State == "removed" {
			continue
		}
		if h.Settled && h.Available() {
			return false
		}
		later = true
	}
	return later
}
