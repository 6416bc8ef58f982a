package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// maxLast bounds TailOptions.Last, whose events are held in memory.
const maxLast = 100_000

// TailOptions say what Tail shows.
type TailOptions struct {
	Prefix string
	// Topics are names, full or without prefix and version; none: the eight
	// topics of events.
	Topics []string
	// Key shows only events whose key it is.
	Key string
	// Last shows the newest events only, so many of all topics together,
	// before it goes on. 0: From decides.
	Last int
	// From shows events written at or after this time; zero: from the start.
	From time.Time
	// Follow goes on when the end is reached, until ctx ends.
	Follow bool
}

// Tail reads topics and gives each decoded event to emit, in the order of each
// partition. Without Follow it ends at what was the end when it began.
func Tail(ctx context.Context, newClient kafka.Factory, codec *schemas.Codec, o TailOptions, emit func(Event) error) error {
	if o.Last < 0 || o.Last > maxLast {
		return fmt.Errorf("the number of events must be from 0 to %d", maxLast)
	}
	names, err := o.names()
	if err != nil {
		return err
	}
	starts, ends, err := bounds(ctx, newClient, names, o)
	if err != nil {
		return err
	}
	offsets := map[string]map[int32]kgo.Offset{}
	left := 0 // partitions whose end is not reached yet
	for _, s := range starts {
		if offsets[s.topic] == nil {
			offsets[s.topic] = map[int32]kgo.Offset{}
		}
		offsets[s.topic][s.partition] = kgo.NewOffset().At(s.offset)
		if s.offset < ends[s.at] {
			left++
		}
	}
	if left == 0 && !o.Follow {
		return nil
	}
	client, err := newClient(kgo.ConsumePartitions(offsets), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	t := &tail{o: o, codec: codec, ends: ends, left: left, emit: emit}
	return t.run(ctx, client)
}

// names are the full names of the wanted topics.
func (o TailOptions) names() ([]string, error) {
	var known, out []string
	full := map[string]string{}
	for _, t := range All() {
		name := t.FullName(o.Prefix)
		full[name] = name
		if t.DeadLetter == "" {
			full[t.Name], full[t.Name+".v1"] = name, name
			known = append(known, t.Name)
		}
	}
	if len(o.Topics) == 0 {
		for _, t := range Catalogue() {
			out = append(out, t.FullName(o.Prefix))
		}
	}
	for _, want := range o.Topics {
		name, ok := full[want]
		if !ok {
			return nil, fmt.Errorf("there is no topic %q: known are %s, and the full names that topics list shows", want, strings.Join(known, ", "))
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// at is a place in a topic's partition.
type at struct {
	topic     string
	partition int32
}

type start struct {
	at
	offset int64
}

// bounds asks the broker where to begin and where the end is now.
func bounds(ctx context.Context, newClient kafka.Factory, names []string, o TailOptions) ([]start, map[at]int64, error) {
	client, err := newClient()
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx = fresh(ctx)
	first, err := admin.ListStartOffsets(ctx, names...)
	if err == nil && !o.From.IsZero() {
		first, err = admin.ListOffsetsAfterMilli(ctx, o.From.UnixMilli(), names...)
	}
	if err = errors.Join(err, first.Error()); err != nil {
		return nil, nil, fmt.Errorf("ask the broker where topics start (are they made? see topics plan): %w", err)
	}
	last, err := admin.ListEndOffsets(ctx, names...)
	if err = errors.Join(err, last.Error()); err != nil {
		return nil, nil, fmt.Errorf("ask the broker where topics end: %w", err)
	}
	var starts []start
	ends := map[at]int64{}
	last.Each(func(e kadm.ListedOffset) {
		p := at{e.Topic, e.Partition}
		ends[p] = e.Offset
		begin := int64(0)
		if f, ok := first.Lookup(e.Topic, e.Partition); ok {
			begin = f.Offset
		}
		if o.Last > 0 {
			// With a key most records are not shown, so all are looked at.
			if o.Key == "" {
				begin = max(begin, e.Offset-int64(o.Last))
			}
		}
		starts = append(starts, start{p, begin})
	})
	return starts, ends, nil
}

// tail is one reading of topics.
type tail struct {
	o      TailOptions
	codec  *schemas.Codec
	ends   map[at]int64
	left   int
	emit   func(Event) error
	newest []Event // with Last, until every end is reached
}

func (t *tail) run(ctx context.Context, client *kgo.Client) error {
	caught := t.left == 0
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return t.stopped(ctx)
		}
		var err error
		fetches.EachError(func(topic string, partition int32, e error) {
			err = errors.Join(err, fmt.Errorf("read %s/%d: %w", topic, partition, e))
		})
		if err != nil {
			return err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			if err := t.record(iter.Next(), caught); err != nil {
				return err
			}
		}
		if !caught && t.left == 0 {
			caught = true
			if err := t.flush(); err != nil {
				return err
			}
			if !t.o.Follow {
				return nil
			}
		}
	}
}

// stopped is how a reading ends that was told to: one that follows has no
// other end.
func (t *tail) stopped(ctx context.Context) error {
	if t.o.Follow {
		return nil
	}
	return fmt.Errorf("stopped before the end: %w", context.Cause(ctx))
}

func (t *tail) record(r *kgo.Record, caught bool) error {
	end := t.ends[at{r.Topic, r.Partition}]
	if r.Offset == end-1 {
		t.left--
	}
	if r.Offset >= end && !t.o.Follow || t.o.Key != "" && string(r.Key) != t.o.Key {
		return nil
	}
	e := Decode(t.codec, r)
	if t.o.Last == 0 || caught {
		return t.emit(e)
	}
	t.newest = append(t.newest, e)
	if len(t.newest) >= 2*max(t.o.Last, 1000) {
		t.keepNewest()
	}
	return nil
}

// keepNewest orders what was read by time and drops all but the last.
func (t *tail) keepNewest() {
	slices.SortStableFunc(t.newest, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	if drop := len(t.newest) - t.o.Last; drop > 0 {
		t.newest = slices.Clone(t.newest[drop:])
	}
}

func (t *tail) flush() error {
	t.keepNewest()
	for _, e := range t.newest {
		if err := t.emit(e); err != nil {
			return err
		}
	}
	t.newest = nil
	return nil
}
