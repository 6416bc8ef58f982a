package stage

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// partition is what a member has in hand of one partition, from its
// assignment to its end. Its fields are guarded by the runner's mutex.
type partition struct {
	topic  string
	id     int32
	ctx    context.Context // ends when the partition is given up
	cancel context.CancelFunc

	window []*item // from the oldest unfinished record on
	next   int64   // the offset to commit: all below are finished; -1 until a record came
	epoch  int32   // leader epoch of the last finished record
	stored int64   // the offset last committed; -1: none yet
	begin  int64   // where the group stood when the partition was assigned; -1: nowhere yet
	end    int64   // of the log, as last heard; -1: not yet

	topicID    string // of the topic when the partition was assigned; empty: not known
	of         string // the id of the topic that the group's offset belongs to, if it is known
	found      mark   // what the last owner left beside the offset
	mark       mark   // what belongs beside next
	storedMark mark   // what was committed beside stored
	hesitated  *once
	raised     *once
	careful    bool  // records run alone, in order
	until      int64 // careful below this offset

	gone    bool          // its last commit was tried: nothing may be committed any more
	paused  bool          // the window is full
	blocked bool          // a record cannot be read by this binary: nothing is taken until it is passed over
	held    []*kgo.Record // that record and what was polled behind it, no more than two windows
}

// item is one record in hand.
type item struct {
	p   *partition
	rec *kgo.Record
	msg schemas.Message
	bad error // why the record is no event

	taken time.Time // when it came into hand

	ctx      context.Context    // of its work and of what that emits: the partition's, until it is detached
	cancel   context.CancelFunc // ends ctx
	unbind   func() bool        // lets ctx go on when the partition's ends; false: that has ended
	leave    func()             // tells Isolation that it is over; idempotent
	detached bool               // its work goes on without the partition

	first   bool // the first since the partition was assigned
	done    bool
	slot    bool          // it counts among the records worked on
	ended   chan struct{} // of the running attempt: closed when it has ended
	history history
}

// history is what has gone wrong with a record so far.
type history struct {
	attempts int
	first    time.Time
	last     time.Time
	words    string // of the last failure
	repeated int    // failures in these words, one after the other
	strikes  int    // panics and stalls
}

// finish marks an item as done and moves the partition's offset past all that
// is finished. Progress clears the mark, but for how long to be careful.
func (p *partition) finish(it *item) {
	it.done = true
	n := 0
	for n < len(p.window) && p.window[n].done {
		p.next, p.epoch = p.window[n].rec.Offset+1, p.window[n].rec.LeaderEpoch
		p.window[n] = nil
		n++
	}
	p.window = p.window[n:]
	if n == 0 {
		return
	}
	p.careful = p.careful && p.next < p.until
	p.mark = mark{}
	if p.careful {
		p.mark.Until = p.until
	}
}

// lane is the queue of one key of one partition; its first item is the one
// being worked on, waiting for its turn, or waiting to be tried again.
type lane struct {
	p   *partition
	key string
}

// once lets the first caller do something; the others wait until it is done,
// or their time is over.
type once struct {
	begun atomic.Bool
	done  chan struct{}
}

func newOnce() *once { return &once{done: make(chan struct{})} }

func (o *once) do(ctx context.Context, f func()) {
	if o.begun.CompareAndSwap(false, true) {
		defer close(o.done)
		f()
		return
	}
	select {
	case <-o.done:
	case <-ctx.Done():
	}
}
