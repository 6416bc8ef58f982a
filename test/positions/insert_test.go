package positions

import (
	"errors"
	"slices"

	"tributary/internal/chain"
)

// entry is a position in a warehouse.
type entry struct {
	link   chain.Link
	begin  int64 // with which position the chain had begun by then
	hollow bool  // its content was decided to be lost
}

// stop is why a reader of the log does not go on.
type stop struct {
	at     record
	next   int64              // the position that it wants
	broken *chain.BrokenError // nil for what can't be read, or leaves positions out
}

// live is insert. Entries are what its transactions have stored, with the offset
// of each; the rest is forgotten when it dies.
type live struct {
	w       *world
	entries []entry
	reading *session
}

// session is one reading of the log, from what was applied last on.
type session struct {
	head   chain.Head
	cursor int
	ahead  []entry // taken, and not yet applied
	seen   bool    // what was applied last has been met
	again  bool    // the log is read from its beginning, since a position is missing
	moved  bool    // whether reading has begun anywhere but at the beginning
	stop   *stop
}

// die forgets what was read.
func (l *live) die() { l.reading = nil }

// apply stores the oldest entries that were read ahead: one transaction.
func (l *live) apply(n int) {
	s := l.reading
	l.entries = append(l.entries[:len(l.entries):len(l.entries)], s.ahead[:n]...)
	s.ahead = s.ahead[n:]
}

// all is what was read, applied or not.
func (l *live) all() []entry {
	if l.reading == nil {
		return l.entries
	}
	return slices.Concat(l.entries, l.reading.ahead)
}

// holds says whether a record has taken its position.
func (l *live) holds(d chain.Digest) bool {
	return slices.ContainsFunc(l.all(), func(e entry) bool { return e.link.Digest == d })
}

// read is how many records have been read, and whether reading has stopped there.
func (l *live) read() (int, bool) {
	switch {
	case l.reading != nil:
		return l.reading.cursor, l.reading.stop != nil
	case len(l.entries) > 0:
		return int(l.entries[len(l.entries)-1].link.Offset) + 1, false
	}
	return 0, false
}

// begin begins to read: what was applied last is read again.
func (l *live) begin() {
	s := &session{}
	if n := len(l.entries); n > 0 {
		last := l.entries[n-1]
		s.head = chain.Head{Last: last.link, Known: true, Begin: last.begin}
		s.cursor = int(last.link.Offset)
	}
	s.moved = s.cursor > 0
	l.reading = s
}

// step reads one record, as consumers/insert does.
func (l *live) step() {
	if l.reading == nil {
		l.begin()
	}
	s := l.reading
	if s.stop != nil || s.cursor == len(l.w.log) {
		return
	}
	r := l.w.log[s.cursor]
	next := s.head.Last.Position + 1
	if !s.seen && s.head.Known && r.Digest == s.head.Last.Digest {
		s.head.Forget() // what was passed over before it can't be named any more
		s.seen = true
		s.cursor++
		return
	}
	d, decided := s.head.About(r.Link, l.w.about)
	takes := decided && s.head.Takes(r.Link, d)
	var err error
	switch {
	case !decided && !r.readable:
		s.stop = &stop{at: r, next: next}
		return
	case decided && !takes:
		s.head.PassOver(r.Link, d)
		s.cursor++
		return
	case !decided && r.Position < next:
		err = l.repeat(r)
	case !decided && !s.head.Next(r.Link), r.Position > next && !s.again && s.moved:
		if s.again || !s.moved {
			s.stop = &stop{at: r, next: next}
			return
		}
		s.cursor, s.again, s.seen = 0, true, false
		s.head.Forget()
		return
	case takes:
		s.head.PassOver(r.Link, d)
		s.take(r, !d.Missing)
	default:
		if err = s.head.Follow(r.Link); err == nil {
			s.take(r, false)
		}
	}
	if err != nil {
		s.stop = &stop{at: r, next: next}
		errors.As(err, &s.stop.broken)
		return
	}
	s.cursor++
}

func (s *session) take(r record, hollow bool) {
	s.ahead = append(s.ahead, entry{r.Link, s.head.Begin, hollow})
	s.seen, s.again, s.moved = true, false, true
}

// repeat judges a record of a position that was taken, or is lost.
func (l *live) repeat(r record) error {
	s := l.reading
	all := l.all()
	i, known := slices.BinarySearchFunc(all, r.Position, func(e entry, p int64) int { return int(e.link.Position - p) })
	first := chain.Link{Position: r.Position}
	if known {
		first = all[i].link
	}
	_, err := s.head.Repeat(first, known, r.Link)
	return err
}
