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
	reader := kafka.Reader{Connect: newClient, SkipDeleted: true}
	ends, err := reader.Bounds(ctx, names...)
	if err != nil {
		return err
	}
	spans := slices.Clone(ends)
	if !o.From.IsZero() {
		if err := since(ctx, newClient, spans, o.From); err != nil {
			return err
		}
	}
	t := &tail{o: o, codec: codec, reader: reader, emit: emit}
	err = t.read(ctx, spans)
	if err == nil && o.Follow {
		err = t.follow(ctx, newClient, ends)
	}
	if ctx.Err() == nil {
		return err
	}
	if o.Follow {
		return nil // it has no other end
	}
	return fmt.Errorf("stopped before the end: %w", context.Cause(ctx))
}

func since(ctx context.Context, newClient kafka.Factory, spans []kafka.Span, from time.Time) error {
	client, err := newClient()
	if err != nil {
		return err
	}
	defer client.Close()
	return kafka.Since(ctx, kadm.NewClient(client), spans, from)
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

// tail is one reading of topics.
type tail struct {
	o      TailOptions
	codec  *schemas.Codec
	reader kafka.Reader
	emit   func(Event) error
	newest []Event // with Last, until every end is reached
	seen   map[place]int
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// read shows what spans hold, or the newest of it.
func (t *tail) read(ctx context.Context, spans []kafka.Span) error {
	if t.o.Last == 0 {
		return t.reader.Read(ctx, spans, t.chunk)
	}
	// With a key most records are not shown, so all are looked at. Else those before
	// the ends are enough, as far as offsets there hold records.
	for back := int64(t.o.Last); ; back *= 16 {
		near := slices.Clone(spans)
		for i, s := range near {
			if t.o.Key == "" {
				near[i].From = max(s.From, s.To-back)
			}
		}
		t.newest, t.seen = nil, map[place]int{}
		if err := t.reader.Read(ctx, near, t.chunk); err != nil {
			return err
		}
		if !slices.ContainsFunc(spans, func(s kafka.Span) bool {
			return t.o.Key == "" && s.To-back > s.From && t.seen[place{s.Topic, s.Partition}] < t.o.Last
		}) {
			t.keepNewest()
			return t.flush()
		}
	}
}

// follow shows what comes behind ends, until ctx ends.
func (t *tail) follow(ctx context.Context, newClient kafka.Factory, ends []kafka.Span) error {
	at := map[string]map[int32]kgo.Offset{}
	for _, s := range ends {
		if at[s.Topic] == nil {
			at[s.Topic] = map[int32]kgo.Offset{}
		}
		at[s.Topic][s.Partition] = kgo.NewOffset().At(s.To)
	}
	client, err := newClient(kgo.ConsumePartitions(at), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		fetches.EachError(func(topic string, partition int32, e error) {
			err = errors.Join(err, fmt.Errorf("read %s/%d: %w", topic, partition, e))
		})
		if err != nil {
			return err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			if r := iter.Next(); t.wanted(r) {
				if err := t.emit(Decode(t.codec, r)); err != nil {
					return err
				}
			}
		}
	}
}

func (t *tail) wanted(r *kgo.Record) bool { return t.o.Key == "" || string(r.Key) == t.o.Key }

// chunk shows records of the log as it was when the reading began.
func (t *tail) chunk(c kafka.Chunk) error {
	if t.seen != nil {
		t.seen[place{c.Topic, c.Partition}] += len(c.Records)
	}
	for _, r := range c.Records {
		if !t.wanted(r) {
			continue
		}
		e := Decode(t.codec, r)
		if t.o.Last == 0 {
			if err := t.emit(e); err != nil {
				return err
			}
			continue
		}
		t.newest = append(t.newest, e)
		if len(t.newest) >= 2*max(t.o.Last, 1000) {
			t.keepNewest()
		}
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
	for _, e := range t.newest {
		if err := t.emit(e); err != nil {
			return err
		}
	}
	t.newest = nil
	return nil
}
