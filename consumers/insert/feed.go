package insert

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// ErrGap says that positions are missing in document.ordered: the order must
// not be applied beyond them.
var ErrGap = errors.New("positions are missing")

// errUnreadable says that a record of document.ordered can't be read.
var errUnreadable = errors.New("the record can't be read")

// item is a position on its way to the warehouse.
type item struct {
	ev      *schemas.DocumentOrdered
	id      string // of its event
	subj    string
	trace   string
	offset  int64
	digest  chain.Digest  // of its record
	begin   int64         // with which position the chain has begun by then; 0: it has not
	lost    int64         // how many positions directly before it are lost
	hollow  bool          // it is a document whose content was decided to be lost
	ready   chan struct{} // closed when it is prepared, or failed to be
	err     error
	done    *prepared // its rows, for a small document to be loaded
	free    func()    // gives back the room that it takes ahead
	release sync.Once
}

// load says whether the position is a document that is to be loaded.
func (it *item) load() bool {
	return it.ev.What == schemas.PositionDocument && it.ev.Result == schemas.Valid
}

func (it *item) large() bool { return it.load() && !it.hollow && it.ev.Size > smallDocument }

func (it *item) subject() string {
	if it.ev.FileName == "" {
		return it.ev.Domain
	}
	return it.ev.Action + "/" + it.ev.FileName
}

// feed brings positions in order. items is closed when err is set.
type feed struct {
	items  chan *item
	err    error
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// stop ends reading and waits for it.
func (f *feed) stop() {
	f.cancel()
	for it := range f.items {
		<-it.ready
		it.giveBack()
	}
	f.wg.Wait()
}

// giveBack gives back what the item holds.
func (it *item) giveBack() {
	it.release.Do(func() {
		it.done = nil
		if it.free != nil {
			it.free()
		}
	})
}

func release(group []*item) {
	for _, it := range group {
		it.giveBack()
	}
}

// read begins to read the order from where the warehouse has come to.
func (in *Inserter) read(ctx context.Context, at progress) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{items: make(chan *item, aheadPositions), cancel: cancel}
	f.wg.Go(func() {
		err := in.poll(ctx, at, f)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		f.err = err
		close(f.items)
	})
	return f
}

// poll reads the topic and hands on the next position, and only that: lower
// ones have been applied; for a higher one the topic is read from its beginning
// before the gap is named, or positions are taken for lost, since offsets are
// only a hint.
func (in *Inserter) poll(ctx context.Context, at progress, f *feed) error {
	// The last record that was applied is read again: if it isn't there, the
	// topic is another one, restored or made anew, and the offset means nothing.
	offset, again := max(at.offset-1, 0), false
	order := newJudge(in, at)
	for {
		order.begin()
		err := in.consume(ctx, offset, func(r *kgo.Record) error {
			it, err := in.decode(r)
			l := it.link()
			if order.meets(l) {
				return nil
			}
			d, decided := order.head.About(l, in.deps.Decided)
			if err != nil && !decided {
				return err
			}
			if r.Offset == at.offset-1 && it.ev.Position < at.position-1 && !decided {
				in.deps.Log.Warn("document.ordered holds a lower position than was applied from this offset: was the topic, or the control database, replaced by an older one? What it orders is ignored up to the warehouse's position",
					"offset", r.Offset, "position", it.ev.Position, "applied", at.position-1)
			}
			next := order.head.Last.Position + 1
			switch {
			case decided && !order.head.Takes(l, d):
				return order.ignore(ctx, l, d)
			case !decided && l.Position < next:
				return order.repeat(ctx, l, next)
			case !decided && !order.head.Next(l), l.Position > next && !again && offset > 0:
				return fmt.Errorf("document.ordered: %w: position %d comes at offset %d where %d is next; %s", ErrGap, l.Position, r.Offset, next, chain.WayOn(r.Offset))
			case decided:
				order.passOver(it, d)
			default:
				if err := order.follow(ctx, it); err != nil {
					return err
				}
			}
			offset, again = r.Offset+1, false
			return in.dispatch(ctx, f, it)
		})
		if errors.Is(err, ErrGap) && !again && offset > 0 {
			in.deps.Log.Warn("positions are missing; reading document.ordered from its beginning", "error", err)
			offset, again = 0, true
			continue
		}
		return err
	}
}

// consume reads the topic's one partition from an offset on.
func (in *Inserter) consume(ctx context.Context, offset int64, take func(*kgo.Record) error) error {
	topic := kafka.TopicName(in.deps.Prefix, schemas.DocumentOrderedTopic)
	client, err := in.deps.Connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}))
	if err != nil {
		return err
	}
	defer client.Close()
	quiet := kafka.NewQuiet(time.Now)
	asked := offset
	for {
		fetches := client.PollRecords(ctx, aheadPositions)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var anew error
		fetches.EachError(func(_ string, _ int32, err error) {
			if errors.Is(err, kerr.UnknownTopicID) {
				anew = fmt.Errorf("document.ordered was deleted while it was read, and perhaps made anew: %w", err)
				return
			}
			if _, due := quiet.Due("fetch"); due {
				in.deps.Log.Warn("document.ordered cannot be read; trying again", "error", kafka.Lacking(err, "Read", topic, ""))
			}
		})
		if anew != nil {
			return anew // what is there by now is read from where positions say
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			if r.Offset < asked {
				in.deps.Log.Warn("document.ordered ends before the offset that was applied last: was it deleted and made anew? It is read from its beginning, and what it orders is ignored up to the warehouse's position",
					"asked", asked, "offset", r.Offset)
			}
			asked = 0
			if err := take(r); err != nil {
				return err
			}
		}
	}
}

func newItem(m schemas.Message, ev *schemas.DocumentOrdered, offset int64) *item {
	return &item{ev: ev, id: m.ID, subj: m.Subject, trace: m.Traceparent, offset: offset, ready: make(chan struct{})}
}

// dispatch lets a small document be read ahead, and hands the item on. Room is
// taken in the order of positions, and given back as they are applied, so the
// next position always gets some.
func (in *Inserter) dispatch(ctx context.Context, f *feed, it *item) error {
	if !it.load() || it.large() || it.hollow {
		close(it.ready)
	} else {
		weight := min(max(it.ev.Size, 1<<10), aheadBytes)
		if err := in.ahead.Acquire(ctx, weight); err != nil {
			return context.Cause(ctx)
		}
		it.free = func() { in.ahead.Release(weight) }
		f.wg.Go(func() {
			defer close(it.ready)
			if it.err = in.workers.Acquire(ctx, 1); it.err != nil {
				return
			}
			defer in.workers.Release(1)
			it.done, it.err = in.prepare(ctx, it)
		})
	}
	select {
	case f.items <- it:
		return nil
	case <-ctx.Done():
		<-it.ready
		it.giveBack()
		return context.Cause(ctx)
	}
}
