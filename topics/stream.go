package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// streamBytes bounds one fetch of a stream, as it is sent.
const streamBytes = 1 << 20

// maxPlace bounds a place as text, in bytes.
const maxPlace = 16 << 10

// ErrPlace says that a place is none of the log, or that it can't be read.
var ErrPlace = errors.New("this is no place in the log: begin without one")

// Place is where a reader of a topic stands: the next offset of each partition. A
// partition that is not in it is read from its beginning, since it has come later.
type Place map[int32]int64

// String writes a place, as in 0:12,1:7.
func (p Place) String() string {
	parts := make([]string, 0, len(p))
	for _, partition := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%d:%d", partition, p[partition]))
	}
	return strings.Join(parts, ",")
}

// ParsePlace reads what String has written; nil for the empty text. What can't be read
// is an ErrPlace.
func ParsePlace(text string) (Place, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxPlace {
		return nil, ErrPlace
	}
	p := Place{}
	for part := range strings.SplitSeq(text, ",") {
		before, after, _ := strings.Cut(part, ":")
		partition, err := strconv.ParseInt(before, 10, 32)
		offset, bad := strconv.ParseInt(after, 10, 64)
		if _, twice := p[int32(partition)]; err != nil || bad != nil || twice || partition < 0 || offset < 0 {
			return nil, ErrPlace
		}
		p[int32(partition)] = offset
	}
	return p, nil
}

// StreamOptions say what Stream gives.
type StreamOptions struct {
	Prefix string
	Topic  string // without prefix and version
	From   Place  // nil: from now on
}

// Stream gives each event of a topic from a place on, in the order of each partition,
// with the place behind it, until ctx ends or emit fails. Before the first event, or
// while there is none, it gives nil once, with the place where it begins. A place that
// is none of this log is an ErrPlace.
func Stream(ctx context.Context, newClient kafka.Factory, codec *schemas.Codec, o StreamOptions, emit func(*Event, Place) error) error {
	topic := kafka.TopicName(o.Prefix, o.Topic)
	reader := kafka.Reader{Connect: newClient}
	spans, err := reader.Bounds(ctx, topic)
	if err != nil {
		return err
	}
	place, err := o.begin(spans)
	if err != nil {
		return err
	}
	at := map[int32]kgo.Offset{}
	for partition, offset := range place {
		at[partition] = kgo.NewOffset().At(offset)
	}
	client, err := newClient(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(streamBytes), kgo.FetchMaxPartitionBytes(streamBytes), kgo.MaxConcurrentFetches(1))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := emit(nil, place); err != nil {
		return err
	}
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			e := Decode(codec, r)
			place[r.Partition] = r.Offset + 1
			if err := emit(&e, place); err != nil {
				return err
			}
		}
	}
}

// begin is the place where a stream of the partitions begins.
func (o StreamOptions) begin(spans []kafka.Span) (Place, error) {
	place, named := Place{}, 0
	for _, s := range spans {
		offset, has := o.From[s.Partition]
		switch {
		case o.From == nil:
			offset = s.To
		case has:
			named++
		default:
			offset = s.From
		}
		if offset > s.To {
			return nil, fmt.Errorf("partition %d has nothing at %d: %w", s.Partition, offset, ErrPlace)
		}
		place[s.Partition] = max(offset, s.From)
	}
	if named < len(o.From) {
		return nil, fmt.Errorf("it names partitions that there aren't: %w", ErrPlace)
	}
	return place, nil
}
