package blob

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrLow is matched by errors that mean that what room is left is kept for
// those who work on what is here already.
var ErrLow = errors.New("low disk")

// Usage is how full a file system is, in bytes.
type Usage struct {
	Free  int64 // what an ordinary user may still write
	Total int64
}

// Path is the directory of the store.
func (d *Dir) Path() string { return d.path }

// Usage asks the file system of the store.
func (d *Dir) Usage() (Usage, error) { return UsageOf(d.path) }

const (
	// usageFor is how long one look at the file system counts.
	usageFor = time.Second
	// resumeShare is how much more than the floor must be free before a store
	// that was low is open again, as a share of the floor: else every file that
	// is begun and given up would open and close it.
	resumeShare = 0.25
)

// Space says whether there is room for more blobs. Below its floor it is low,
// and stays so until a quarter more than the floor is free. It is safe for
// concurrent use; nil always has room.
type Space struct {
	usage func() (Usage, error)
	floor int64
	share float64
	where string
	log   *slog.Logger
	now   func() time.Time

	// ServerShare is how much of the room the blobs of one server may take that are
	// being written, from 0 to 1; 0 is 1. It is not changed once the Space is used.
	ServerShare float64

	mu       sync.Mutex
	at       time.Time // of the last look
	last     Usage
	low      bool
	reserved int64          // bytes that are to come, or came since the last look
	written  int64          // those that came since the last look
	underWay []*Reservation // oldest first
}

// NewSpace watches a file system, named by where for people. Its floor is
// minFree bytes or the given share of the file system, whichever is less; 0
// of either switches it off. Its changes are logged.
func NewSpace(usage func() (Usage, error), minFree int64, share float64, where string, log *slog.Logger) *Space {
	return &Space{usage: usage, floor: minFree, share: share, where: where, log: log, now: time.Now}
}

// State is what a Space knows.
type State struct {
	Usage
	Floor int64 // bytes that are to stay free; 0: none
	Low   bool
}

// State looks at the file system, no more than once a second.
func (s *Space) State() State {
	if s == nil {
		return State{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return State{Usage: s.last, Floor: s.atLeast(), Low: s.low}
}

// Low is nil, or an error that matches ErrLow and says for people how little
// is left. A file system that cannot be asked is not low.
func (s *Space) Low() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.isLow()
}

// isLow is Low as of the last look. The caller holds the mutex.
func (s *Space) isLow() error {
	if !s.low {
		return nil
	}
	return fmt.Errorf("%w: %s are free on the file system of %s; nothing is fetched until %s are: free some, or move the store (blobs.min_free)",
		ErrLow, amount(s.last.Free), s.where, amount(resumesAt(s.atLeast(), s.last.Total)))
}

// Doubt is Low for who has just begun to look, and cannot know whether a store
// that is not below its floor has been and waits for more to be free: it says
// so.
func (s *Space) Doubt() string {
	if low := s.Low(); low != nil {
		return low.Error()
	}
	state := s.State()
	resumes := resumesAt(state.Floor, state.Total)
	if state.Floor == 0 || state.Free >= resumes {
		return ""
	}
	return fmt.Sprintf("%s are free on the file system of %s, below where fetching resumes (%s) if it was lower before: free some, or move the store (blobs.min_free)",
		amount(state.Free), s.where, amount(resumes))
}

func (s *Space) atLeast() int64 {
	return min(s.floor, int64(s.share*float64(s.last.Total)))
}

// resumesAt is how much must be free again, which there must be on any disk.
func resumesAt(floor, total int64) int64 {
	return floor + min(int64(resumeShare*float64(floor)), max(0, total-floor)/2)
}

// refresh asks the file system, if that was not done just now. The caller holds
// the mutex.
func (s *Space) refresh() {
	now := s.now()
	if s.floor <= 0 || s.share <= 0 || !s.at.IsZero() && now.Sub(s.at) < usageFor && !now.Before(s.at) {
		return
	}
	usage, err := s.usage()
	s.at = now
	// What came since is part of what the file system says now.
	s.reserved, s.written = s.reserved-s.written, 0
	if err != nil {
		s.log.Debug("free space is not known", "error", err)
		s.last, s.low = Usage{}, false
		return
	}
	s.last = usage
	floor := s.atLeast()
	switch {
	case !s.low && usage.Free < floor:
		s.low = true
		s.log.Warn("low disk: acquisition is dormant, and resumes by itself when there is room", "store", s.where,
			"free", usage.Free, "min_free", floor, "resumes_at", resumesAt(floor, usage.Total))
	case s.low && usage.Free >= resumesAt(floor, usage.Total):
		s.low = false
		s.log.Info("there is room again: acquisition resumes", "store", s.where, "free", usage.Free)
	}
}

// amount is a number of bytes for people.
func amount(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
