package chain

import (
	"errors"
	"fmt"
	"sort"
)

// Bounds of what a Log names; the rest is counted.
const maxNamed = 20

// entries of a block of a Log.
const blockSize = 1 << 12

type entry struct {
	digest Digest
	offset int64
}

// segment is positions without a gap, from one on. Another one begins behind
// positions that are lost.
type segment struct {
	from   int64
	blocks [][]entry
}

// Log judges a whole order, read from its first record on: nothing stops it, and
// it tells everything that is wrong. It keeps 40 bytes of each position.
type Log struct {
	Decided Decided // what was decided about records; nil: nothing was

	head     Head
	segments []segment
	broken   []error
	more     int64
	other    int64
}

// Outcome is what becomes of a record.
type Outcome int

// What may become of a record.
const (
	LeavesOut Outcome = iota // positions before it are missing: it is not taken
	Ignored                  // it repeats one that was taken, or is passed over
	Hollow                   // it takes its position, and its content doesn't count
	Taken
)

// Head is how far the log was read.
func (l *Log) Head() Head { return l.head }

// Unproven is how many records repeat a position with another content before the
// chain begins: the first one counts, and nothing tells which is genuine.
func (l *Log) Unproven() int64 { return l.other }

// Take judges a record. It is false for one that leaves positions out: then it is
// not taken.
func (l *Log) Take(r Link) bool { return l.Judge(r) != LeavesOut }

// Judge judges a record, and says what becomes of it. One that can't be read, and
// was decided about, has the position 0.
func (l *Log) Judge(r Link) Outcome {
	if d, ok := l.head.About(r, l.Decided); ok {
		switch {
		case !l.head.PassOver(r, d):
			return Ignored
		case d.Missing:
			return l.keep(r, Taken)
		}
		return l.keep(r, Hollow)
	}
	if r.Position <= l.head.Last.Position {
		first, known := l.At(r.Position)
		same, err := l.head.Repeat(first, known, r)
		if err != nil {
			l.add(err)
		} else if !same {
			l.other++
		}
		return Ignored
	}
	if !l.head.Next(r) {
		return LeavesOut
	}
	if err := l.head.Follow(r); err != nil {
		l.add(err)
		l.head.move(r) // what is behind is judged by what is there
		if l.head.Begin == 0 {
			l.head.Begin = r.Position
		}
	}
	return l.keep(r, Taken)
}

// keep notes what has taken its position.
func (l *Log) keep(r Link, as Outcome) Outcome {
	if n := len(l.segments); n == 0 || l.segments[n-1].end() != r.Position {
		l.segments = append(l.segments, segment{from: r.Position})
	}
	l.segments[len(l.segments)-1].append(entry{r.Digest, r.Offset})
	return as
}

// end is the position behind the segment's last.
func (s *segment) end() int64 {
	n := len(s.blocks)
	if n == 0 {
		return s.from
	}
	return s.from + int64(n-1)*blockSize + int64(len(s.blocks[n-1]))
}

func (s *segment) append(e entry) {
	if n := len(s.blocks); n == 0 || len(s.blocks[n-1]) == blockSize {
		s.blocks = append(s.blocks, make([]entry, 0, blockSize))
	}
	last := &s.blocks[len(s.blocks)-1]
	*last = append(*last, e)
}

// Applied compares what a warehouse has noted when it applied a position with the
// whole log. begin is the position with which the chain begins in the warehouse,
// or 0. A position that the log doesn't hold is no contradiction, and neither is
// one that was applied with a record of which it was decided later that it never
// was: whatever is made from the log goes without that.
func (l *Log) Applied(first Link, begin int64) {
	r, known := l.At(first.Position)
	switch proven := func(begin int64) bool { return begin > 0 && begin <= first.Position }; {
	case !known || r.Digest == first.Digest || l.Decided.Foreign(first.Digest):
	case proven(begin) || proven(l.head.Begin):
		l.add(&BrokenError{Name: TakenTwice, First: first, Known: true, Found: r})
	default:
		l.other++
	}
}

// At is the record that has taken a position; false if there is none, since it
// was not read, or is lost.
func (l *Log) At(position int64) (Link, bool) {
	n := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].from > position }) - 1
	if n < 0 || position >= l.segments[n].end() {
		return Link{Position: position}, false
	}
	i := position - l.segments[n].from
	e := l.segments[n].blocks[i/blockSize][i%blockSize]
	return Link{Position: position, Offset: e.offset, Digest: e.digest}, true
}

func (l *Log) add(err error) {
	if len(l.broken) == maxNamed {
		l.more++
		return
	}
	l.broken = append(l.broken, err)
}

// Err names what is wrong, or is nil. A *BrokenError is found in it.
func (l *Log) Err() error {
	if len(l.broken) == 0 {
		return nil
	}
	all := l.broken
	if l.more > 0 {
		all = append(all[:len(all):len(all)], fmt.Errorf("and %d more", l.more))
	}
	return fmt.Errorf("document.ordered: %w", errors.Join(all...))
}
