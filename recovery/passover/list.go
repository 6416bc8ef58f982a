// Package passover knows at which records of the topics people decided that no
// reader stops any more. A decision is an event of record.passed.over, and holds
// for the bytes of a record, wherever they are: a topic that is copied, restored
// or made anew has other offsets, and what a publisher repeats has others too.
//
// A process reads what was decided before its readers begin, and follows the topic
// while they work: those that have stopped try again, and go on.
package passover

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// Max is how many decisions are kept in mind; pass-over makes no more.
const Max = 10_000

// Decision is one event of record.passed.over.
type Decision struct {
	schemas.RecordPassedOver
	At time.Time    `json:"at"`
	is chain.Digest // of the record
	on chain.Digest // what the next position names
}

// List is what was decided. It is safe for concurrent use.
type List struct {
	Connect kafka.Factory
	Codec   *schemas.Codec // of the decisions themselves
	Prefix  string         // of the topics' names
	Log     *slog.Logger

	reading sync.Mutex
	next    int64 // offset of the first record that was not read
	known   atomic.Pointer[decisions]
}

// decisions are found by digest. Most records need not be hashed to know that
// nothing was decided about them: none of that size was.
type decisions struct {
	sizes map[int64]bool
	all   map[chain.Digest]Decision
}

// Load reads what was decided since it was asked last. On brokers without the
// topic, which older programs left, nothing was.
func (l *List) Load(ctx context.Context) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	reader := kafka.Reader{Connect: l.Connect}
	spans, err := reader.Bounds(ctx, kafka.TopicName(l.Prefix, schemas.RecordPassedOverTopic))
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is passed over: %w", err)
	}
	next := l.copied()
	for i := range spans {
		if l.next <= spans[i].To { // else the topic was made anew
			spans[i].From = max(spans[i].From, l.next)
		}
		l.next = spans[i].To
	}
	err = reader.Read(ctx, spans, func(c kafka.Chunk) error {
		for _, r := range c.Records {
			l.addDecision(&next, r)
		}
		return nil
	})
	if err != nil {
		l.next = 0
		return fmt.Errorf("read what is passed over: %w", err)
	}
	l.known.Store(&next)
	return nil
}

// copied are the decisions that are known, to be added to.
func (l *List) copied() decisions {
	if known := l.known.Load(); known != nil {
		return decisions{maps.Clone(known.sizes), maps.Clone(known.all)}
	}
	return decisions{sizes: map[int64]bool{}, all: map[chain.Digest]Decision{}}
}

// Run follows what is decided, from where Load has come to, until ctx ends. Brokers
// that can't be reached are waited for; a topic that was made anew is read from its
// beginning.
func (l *List) Run(ctx context.Context) error {
	quiet := kafka.NewQuiet(time.Now)
	for ctx.Err() == nil {
		if err := l.follow(ctx, quiet); err != nil {
			return err
		}
		l.reading.Lock()
		l.next = 0
		l.reading.Unlock()
	}
	return nil
}

// follow returns when the topic is another one.
func (l *List) follow(ctx context.Context, quiet *kafka.Quiet) error {
	topic := kafka.TopicName(l.Prefix, schemas.RecordPassedOverTopic)
	l.reading.Lock()
	from := l.next
	l.reading.Unlock()
	client, err := l.Connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}), kgo.FetchMaxBytes(1<<20))
	if err != nil {
		return fmt.Errorf("follow what is passed over: %w", err)
	}
	defer client.Close()
	for {
		fetches := client.PollRecords(ctx, 100)
		if ctx.Err() != nil {
			return nil
		}
		for _, e := range fetches.Errors() {
			if errors.Is(e.Err, kerr.UnknownTopicID) {
				return nil
			}
			if missed, due := quiet.Due("fetch"); due {
				l.Log.Warn("what is passed over can't be read; trying again", "error", e.Err, "not_logged", missed)
			}
		}
		if fetches.NumRecords() > 0 {
			l.add(fetches)
		}
	}
}

func (l *List) add(fetches kgo.Fetches) {
	l.reading.Lock()
	defer l.reading.Unlock()
	next := l.copied()
	fetches.EachRecord(func(r *kgo.Record) {
		if r.Offset >= l.next { // else Load was faster
			l.addDecision(&next, r)
			l.next = r.Offset + 1
		}
	})
	l.known.Store(&next)
}

// addDecision takes a decision. The last one about a record counts. What is none is
// logged: nothing is passed over by it.
func (l *List) addDecision(to *decisions, r *kgo.Record) {
	d, err := l.read(r)
	if _, again := to.all[d.is]; err == nil && !again && len(to.all) >= Max {
		err = fmt.Errorf("%d decisions are known already", Max)
	}
	if err != nil {
		l.Log.Warn("a record of record.passed.over decides nothing", "offset", r.Offset, "error", err)
		return
	}
	to.sizes[d.Size], to.all[d.is] = true, d
}

func (l *List) read(r *kgo.Record) (Decision, error) {
	m, err := l.Codec.Decode(kafka.FromKgo(r))
	if err != nil {
		return Decision{}, err
	}
	body, ok := m.Body.(*schemas.RecordPassedOver)
	if !ok {
		return Decision{}, fmt.Errorf("it is an event of %s", m.Topic)
	}
	d := Decision{RecordPassedOver: *body, At: m.Time}
	if d.is, err = digest(d.SHA256); err != nil {
		return d, fmt.Errorf("sha256: %w", err)
	}
	if d.GoesOn != "" {
		if d.on, err = digest(d.GoesOn); err != nil {
			return d, fmt.Errorf("goes_on: %w", err)
		}
	}
	return d, nil
}

func digest(text string) (d chain.Digest, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("%q is no SHA-256 in hexadecimal", text)
	}
	return chain.Digest(b), nil
}

// find is what was decided about a value.
func (l *List) find(value []byte) (Decision, bool) {
	known := l.known.Load()
	if known == nil || !known.sizes[int64(len(value))] {
		return Decision{}, false
	}
	d, ok := known.all[chain.Of(value)]
	return d, ok
}

// Covers is for schemas.Codec.PassingOver: an error that wraps
// schemas.ErrPassedOver for the value of a record that counts no more.
func (l *List) Covers(value []byte) error {
	d, ok := l.find(value)
	if !ok || d.Missing {
		return nil
	}
	return fmt.Errorf("%w by %s: %s", schemas.ErrPassedOver, d.By, d.Reason)
}

// Chain is what was decided about a record of document.ordered: a chain.Decided.
func (l *List) Chain(of chain.Digest) (chain.Decision, bool) {
	known := l.known.Load()
	if known == nil {
		return chain.Decision{}, false
	}
	d, ok := known.all[of]
	return chain.Decision{Missing: d.Missing, GoesOn: d.on, By: d.By, Reason: d.Reason}, ok
}

// All lists the decisions, in the order in which they were made.
func (l *List) All() []Decision {
	known := l.known.Load()
	if known == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(known.all), func(a, b Decision) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}
