package blob

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNoRoom is matched by errors that mean that there is no room for a blob,
// while others may still come.
var ErrNoRoom = errors.New("no room")

// ErrOutsized is matched, beside ErrNoRoom, by errors that mean that a blob
// would have no room even if nothing else was being written.
var ErrOutsized = errors.New("outsized")

// noRoom says for people why there is no room.
type noRoom struct {
	text     string
	outsized bool
}

func (e *noRoom) Error() string { return ErrNoRoom.Error() + ": " + e.text }

func (e *noRoom) Is(target error) bool {
	return target == ErrNoRoom || e.outsized && target == ErrOutsized
}

// A blob's reservation grows with what has come of it: what a server only says
// that it will send keeps no room from others. It is grown by as much as has
// come, within these bounds.
const (
	leastStep = 1 << 20
	mostStep  = 16 << 20
)

// Reservation is the room kept for one blob that is being written. Nil is one of
// nothing.
type Reservation struct {
	s       *Space
	server  string
	size    int64 // as the server says
	came    int64
	left    int64 // bytes kept that are still to come
	revoked bool  // an older one needs its room
}

// Reserve keeps room for a blob of a server, so that several that are written at
// once do not run into the floor together; other processes' blobs are not known.
// size is what the server says, -1 if it doesn't; room is kept step by step, as
// the bytes come. The error is Low's; or it matches ErrNoRoom, and ErrOutsized if
// the blob would not fit alone, into all the room or into its server's share. A
// file system that cannot be asked has room.
func (s *Space) Reserve(server string, size int64) (*Reservation, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // a nil Reservation is one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	if s.low {
		return nil, s.isLow()
	}
	r := &Reservation{s: s, server: server, size: size}
	if size < 0 {
		r.size = math.MaxInt64
	} else if err := s.outsized(size); err != nil {
		return nil, err
	}
	s.underWay = append(s.underWay, r)
	if err := r.grow(); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// Wrote tells that n bytes more are on the disk, and keeps room for the next
// step. An error matches ErrNoRoom: the blob is to be given up, since there is no
// room for it beside older ones. What exceeds the size that was said is not
// counted, but seen at the next look.
func (r *Reservation) Wrote(n int) error {
	if r == nil {
		return nil
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.came += int64(n)
	came := min(int64(n), r.left)
	r.left -= came
	r.s.written += came
	if r.revoked {
		return r.s.refuse("older transfers need the room")
	}
	if r.left > 0 || r.came >= r.size {
		return nil
	}
	return r.grow()
}

// Release gives up what was not written. What was written is a blob by now, or
// deleted.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.release()
}

func (r *Reservation) release() {
	r.giveUp()
	r.s.underWay = slices.DeleteFunc(r.s.underWay, func(o *Reservation) bool { return o == r })
}

func (r *Reservation) giveUp() {
	r.s.reserved -= r.left
	r.left = 0
}

// grow keeps room for the next step. Where there is none the youngest is revoked,
// first of all of the same server if its share is what lacks. So the oldest always
// goes on, and of several that do not fit together one is finished. The caller
// holds the mutex.
func (r *Reservation) grow() error {
	s := r.s
	s.refresh()
	step := min(max(r.came, leastStep), mostStep, r.size-r.came)
	for s.atLeast() > 0 {
		shared := s.held(r.server)+step > s.shareOf(s.freeIfIdle())
		if !shared && step <= s.last.Free-s.atLeast()-s.reserved+s.freeing() {
			break
		}
		youngest := s.youngest(r.server, shared)
		if youngest == r {
			return s.refuse(fmt.Sprintf("another %s would leave too little", amount(step)))
		}
		youngest.revoked = true
		youngest.giveUp()
	}
	r.left += step
	s.reserved += step
	return nil
}

// youngest is the reservation begun last that is not revoked, of one server or of
// all.
func (s *Space) youngest(server string, ofServer bool) *Reservation {
	for _, r := range slices.Backward(s.underWay) {
		if !r.revoked && (!ofServer || r.server == server) {
			return r
		}
	}
	return nil
}

// held is the room that one server's blobs have which are being written.
func (s *Space) held(server string) (n int64) {
	for _, r := range s.underWay {
		if r.server == server && !r.revoked {
			n += r.came + r.left
		}
	}
	return n
}

// freeing is what will be free once the revoked are gone.
func (s *Space) freeing() (n int64) {
	for _, r := range s.underWay {
		if r.revoked {
			n += r.came
		}
	}
	return n
}

// freeIfIdle is the room that there would be if nothing was being written.
func (s *Space) freeIfIdle() int64 {
	n := s.last.Free - s.atLeast() - s.written
	for _, r := range s.underWay {
		n += r.came
	}
	return n
}

func (s *Space) shareOf(room int64) int64 {
	if s.ServerShare <= 0 {
		return room
	}
	return int64(s.ServerShare * float64(room))
}

// outsized says that a blob has no room even alone.
func (s *Space) outsized(size int64) error {
	room := s.freeIfIdle()
	switch floor := s.atLeast(); {
	case floor <= 0:
		return nil
	case size > room:
		return &noRoom{fmt.Sprintf("a file of %s by itself would leave less than %s on the file system of %s, of which %s are free: free some, or move the store (blobs.min_free)",
			amount(size), amount(floor), s.where, amount(s.last.Free)), true}
	case size > s.shareOf(room):
		return &noRoom{fmt.Sprintf("a file of %s is more than one server's share of the %s that may be used on the file system of %s: free some, move the store, or raise blobs.server_share",
			amount(size), amount(room), s.where), true}
	}
	return nil
}

// refuse says that a blob has no room beside others.
func (s *Space) refuse(why string) error {
	return &noRoom{fmt.Sprintf("%s are free on the file system of %s, of which transfers under way will take %s, and %s: the file is tried again once they have ended (blobs.min_free, blobs.server_share)",
		amount(s.last.Free), s.where, amount(s.reserved), why), false}
}
