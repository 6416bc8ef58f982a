package plan

import (
	"slices"
	"sort"
	"time"

	"tributary/internal/backoff"
	"tributary/schemas"
	"tributary/sql/control"
)

// settings are the numbers that decisions depend on.
type settings struct {
	perHosting int
	backoff    backoff.Exponential // between attempts at one hosting
	retry      time.Duration
}

// world is what is known of some files while decisions about them are made.
// Deciding changes it and adds events to out; nothing else happens.
type world struct {
	settings
	codec    *schemas.Codec
	now      time.Time
	files    map[string]*fileWorld
	attempts map[control.AttemptKey]*control.Attempt
	jobs     map[string]int // outcomes accepted, per job
	good     map[string]int // fetches that succeeded, per source
	bad      map[string]int // and that failed
	healings []control.Healing
	out      []schemas.Message
}

// fileWorld is one file with all that belongs to it.
type fileWorld struct {
	*control.File
	hostings     []control.Hosting
	acquisitions []*control.Acquisition
	shadows      []*control.Acquisition // those of shadow runs, which nothing live looks at
	healings     []*control.Acquisition // those that fetch a damaged blob's bytes again, which bring no version
	looks        []*control.Look        // announced or waiting
}

// order lists the files' ids so that a batch is stored the same way each time.
func (w *world) order() []string {
	ids := make([]string, 0, len(w.files))
	for id := range w.files {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// active is the acquisition under way, if any.
func (f *fileWorld) active() *control.Acquisition {
	for _, a := range f.acquisitions {
		if a.State != control.Queued && a.State != control.Ended {
			return a
		}
	}
	return nil
}

// newest is the last acquisition of the live run; nil if there is none. A replay
// neither replaces a look nor the trying again of one.
func (f *fileWorld) newest() *control.Acquisition {
	for _, a := range slices.Backward(f.acquisitions) {
		if a.Run == schemas.LiveRun {
			return a
		}
	}
	return nil
}

// byID is the acquisition of that id, a shadow's too; nil if there is none.
func (f *fileWorld) byID(id int64) *control.Acquisition {
	for _, all := range [][]*control.Acquisition{f.acquisitions, f.shadows, f.healings} {
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
func (f *fileWorld) add(a *control.Acquisition) {
	switch {
	case schemas.IsShadow(a.Run):
		f.shadows = append(f.shadows, a)
	case a.Heals != "":
		f.healings = append(f.healings, a)
	default:
		f.acquisitions = append(f.acquisitions, a)
	}
}

// wanted are the acquisitions that may be requested now: the one under way, and
// those that heal, which wait for nothing.
func (f *fileWorld) wanted(now time.Time) (out []*control.Acquisition) {
	for _, a := range append([]*control.Acquisition{f.active()}, f.healings...) {
		if a != nil && a.State == control.Wanted && !a.NotBefore.After(now) {
			out = append(out, a)
		}
	}
	return out
}

// own reports whether a hosting is one of the producing centre's own sources.
func (f *fileWorld) own(h control.Hosting) bool { return h.SourceCentre == f.Centre }

// ownHosting returns a present hosting at one of the centre's own sources.
func (f *fileWorld) ownHosting() (control.Hosting, bool) {
	for _, h := range f.hostings {
		if f.own(h) && h.Present && h.Available() {
			return h, true
		}
	}
	return control.Hosting{}, false
}

// candidates are the hostings from which an acquisition may still fetch, best
// first: the producing centre's own, then by reputation, ties broken by id.
// What has not settled is not fetched.
func (f *fileWorld) candidates(a *control.Acquisition) []control.Hosting {
	var out []control.Hosting
	for _, h := range f.hostings {
		if h.Present && h.Settled && h.Available() && !a.Tried[h.Source].GivenUp {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(x, y control.Hosting) int {
		if f.own(x) != f.own(y) {
			if f.own(x) {
				return -1
			}
			return 1
		}
		// Share of fetches that failed, compared without dividing; a source
		// that nobody has tried counts as good.
		if d := x.Failures*(y.Fetched+y.Failures+1) - y.Failures*(x.Fetched+x.Failures+1); d != 0 {
			return sign(d)
		}
		if x.Source < y.Source {
			return -1
		}
		return 1
	})
	return out
}

// postponed reports whether the file can be had from nowhere now, but may be
// later: its source is not available, or it changes just now.
func (f *fileWorld) postponed() bool {
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

func sign(n int64) int {
	if n < 0 {
		return -1
	}
	return 1
}
