package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Bounds of a reading.
const (
	readBytes   = 2 << 20         // of one fetch, as it is sent: it takes many times as much memory as records
	readRecords = 2000            // given at once
	quiet       = time.Second     // after which it is asked whether there are records at all
	silence     = 2 * time.Minute // for which a broker may give nothing of what it should have
)

// Span is a stretch of a partition: its offsets from From up to, but without, To.
type Span struct {
	Topic     string // full name
	Partition int32
	From, To  int64
}

// Chunk is what was read of a span at once: all records from its first offset up
// to, but without, its To. The next chunk of the span goes on there.
type Chunk struct {
	Span
	// Records are in the order of their offsets. They are fewer than offsets where
	// transactions have left their markers, and where records were deleted.
	Records []*kgo.Record
	// Deleted is the first offset that has neither a record nor a marker; -1 if
	// there is none such.
	Deleted int64
}

// Errors of a reading.
var (
	// ErrDeleted says that the log does not begin before a span any more: the
	// broker has deleted records.
	ErrDeleted = errors.New("log_deleted")
	// ErrSilent says that the broker gave nothing of what it should have.
	ErrSilent = errors.New("broker_silent")
)

// Reader reads logs up to an end that is known beforehand, whatever stands
// there: a record, a transaction's marker, or nothing, since what was there has
// been compacted away. It never waits for a record that will not come.
type Reader struct {
	Connect Factory
	// SkipDeleted goes on at the beginning of what is left where the broker has
	// deleted records while they were read. Otherwise that is ErrDeleted.
	SkipDeleted bool
	// Silence is how long a broker may give nothing of what it should have; 0
	// means 2 min.
	Silence time.Duration
}

// Bounds asks the brokers where the partitions of topics begin and end now,
// ordered by topic and partition. A partition without records is a span whose
// From is its To.
func (r *Reader) Bounds(ctx context.Context, topics ...string) ([]Span, error) {
	client, err := r.Connect()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return Bounds(ctx, kadm.NewClient(client), topics...)
}

// Bounds is Reader.Bounds by an admin client that is there already.
func Bounds(ctx context.Context, admin *kadm.Client, topics ...string) ([]Span, error) {
	if len(topics) == 0 {
		return nil, nil // none would be taken for all
	}
	ctx = kadm.WithAuthorizedOps(ctx) // the way around what the client remembers of a topic that is gone
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err = errors.Join(err, starts.Error()); err != nil {
		return nil, fmt.Errorf("ask the broker where topics start (are they made? see topics plan): %w", err)
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err = errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf("ask the broker where topics end: %w", err)
	}
	var out []Span
	ends.Each(func(end kadm.ListedOffset) {
		s := Span{Topic: end.Topic, Partition: end.Partition, To: end.Offset}
		if start, ok := starts.Lookup(end.Topic, end.Partition); ok {
			s.From = min(start.Offset, s.To)
		}
		out = append(out, s)
	})
	slices.SortFunc(out, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out, nil
}

// Since moves the beginnings of spans to the first record written at or after a
// time. A partition without such a record becomes an empty span.
func Since(ctx context.Context, admin *kadm.Client, spans []Span, since time.Time) error {
	var topics []string
	for _, s := range spans {
		if !slices.Contains(topics, s.Topic) {
			topics = append(topics, s.Topic)
		}
	}
	if len(topics) == 0 {
		return nil
	}
	first, err := admin.ListOffsetsAfterMilli(kadm.WithAuthorizedOps(ctx), since.UnixMilli(), topics...)
	if err = errors.Join(err, first.Error()); err != nil {
		return fmt.Errorf("ask the broker what was written since %s: %w", since.UTC().Format(time.RFC3339), err)
	}
	for i := range spans {
		if o, ok := first.Lookup(spans[i].Topic, spans[i].Partition); ok {
			spans[i].From = min(max(spans[i].From, o.Offset), spans[i].To)
		}
	}
	return nil
}

// Read gives what spans hold to take, in the order of each partition, until all
// are read or take fails. Of a partition there may be only one span. Every span
// that is not empty ends with a chunk that ends where it does.
func (r *Reader) Read(ctx context.Context, spans []Span, take func(Chunk) error) error {
	run := reading{reader: r, open: map[place]*Span{}, take: take}
	at := map[string]map[int32]kgo.Offset{}
	for _, s := range spans {
		if s.From >= s.To {
			continue
		}
		if at[s.Topic] == nil {
			at[s.Topic] = map[int32]kgo.Offset{}
		}
		at[s.Topic][s.Partition] = kgo.NewOffset().At(s.From)
		run.open[place{s.Topic, s.Partition}] = &s
	}
	if len(at) == 0 {
		return nil
	}
	reset := kgo.NoResetOffset() // what was deleted is to be seen
	if r.SkipDeleted {
		reset = kgo.NewOffset().AtStart()
	}
	client, err := r.Connect(
		kgo.ConsumePartitions(at),
		kgo.ConsumeResetOffset(reset),
		kgo.KeepControlRecords(), // the last of a span may be one
		kgo.FetchMaxBytes(readBytes), kgo.FetchMaxPartitionBytes(readBytes), kgo.MaxConcurrentFetches(1),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	run.client = client
	return run.all(ctx)
}
