package tracker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/stage"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
)

// What makes a log useless for building a tracker from it.
var (
	// ErrTopicAnew says that the topic was deleted and made anew: what the
	// tracker shows came from a log that is gone.
	ErrTopicAnew = errors.New("topic_anew")
	// ErrLogCut says that records of the log are gone, from its beginning or
	// from the middle.
	ErrLogCut = errors.New("log_cut")
)

// silence is how long a broker may give nothing of what it should have.
const silence = 2 * time.Minute

// statusLog is the topic status.changed as a broker holds it.
type statusLog struct {
	connect kafka.Factory
	name    string // with prefix and version
	id      pg.TopicID
}

// logBounds are the first offset and that after the last, by partition.
type logBounds struct{ start, end map[int32]int64 }

// look asks the broker for the log's identity and bounds.
func (l *statusLog) look(ctx context.Context) (logBounds, error) {
	b := logBounds{map[int32]int64{}, map[int32]int64{}}
	client, err := l.connect()
	if err != nil {
		return b, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	// What the client remembers may be a topic that is gone. Asking for
	// authorized operations is the way around its memory.
	topics, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), l.name)
	if err == nil {
		err = topics.Error()
	}
	if err != nil {
		return b, fmt.Errorf("look at the log %s: %w", l.name, err)
	}
	l.id = pg.TopicID(topics[l.name].ID)
	for _, side := range []struct {
		list func(context.Context, ...string) (kadm.ListedOffsets, error)
		into map[int32]int64
	}{{admin.ListStartOffsets, b.start}, {admin.ListEndOffsets, b.end}} {
		listed, err := side.list(ctx, l.name)
		if err == nil {
			err = listed.Error()
		}
		if err != nil {
			return b, fmt.Errorf("look at the log %s: %w", l.name, err)
		}
		listed.Each(func(o kadm.ListedOffset) { side.into[o.Partition] = o.Offset })
	}
	return b, nil
}

// whole returns ErrLogCut if the log does not begin with its first record.
func (l *statusLog) whole(b logBounds) error {
	for _, p := range slices.Sorted(maps.Keys(b.start)) {
		if n := b.start[p]; n > 0 {
			return fmt.Errorf("%w: partition %d of %s begins at offset %d: what was before is gone, and with it what the rows said of it. "+
				"Restore the topic from a backup; its retention must be unlimited (see tributary topics plan)", ErrLogCut, p, l.name, n)
		}
	}
	return nil
}

// span is a part of the log: from up to but without to, by partition.
type span struct{ from, to map[int32]int64 }

func (s span) records() (n int64) {
	for p, to := range s.to {
		n += max(0, to-s.from[p])
	}
	return n
}

// read gives the records of a part of the log to each, in pieces of about size
// records, or 16 MB of them, as they come. Each piece has a range per partition.
func (l *statusLog) read(ctx context.Context, s span, size int, each func([]stage.Range) error) error {
	next := map[int32]int64{} // of partitions that are not finished
	at := map[int32]kgo.Offset{}
	for p, to := range s.to {
		if from := s.from[p]; from < to {
			next[p], at[p] = from, kgo.NewOffset().At(from)
		}
	}
	if len(next) == 0 {
		return nil
	}
	client, err := l.connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.name: at}),
		kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return err
	}
	defer client.Close()
	piece, n, bytes := map[int32]*stage.Range{}, 0, 0
	for len(next) > 0 {
		poll, cancel := context.WithTimeout(ctx, silence)
		fetches := client.PollRecords(poll, min(size-n, pollRecords))
		cancel()
		if err := ctx.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			return l.stuck(fetches, next)
		}
		for _, r := range fetches.Records() {
			if _, wanted := next[r.Partition]; !wanted {
				continue
			}
			if r.Offset > next[r.Partition] {
				return fmt.Errorf("%w: records %d to %d of partition %d of %s are gone", ErrLogCut, next[r.Partition], r.Offset-1, r.Partition, l.name)
			}
			into := piece[r.Partition]
			if into == nil {
				into = &stage.Range{Topic: schemas.StatusChangedTopic, Partition: r.Partition, From: r.Offset}
				piece[r.Partition] = into
			}
			if !r.Attrs.IsControl() {
				into.Records = append(into.Records, r)
				n++
				bytes += len(r.Value)
			}
			into.To, next[r.Partition] = r.Offset+1, r.Offset+1
			if into.To == s.to[r.Partition] {
				delete(next, r.Partition)
				client.PauseFetchPartitions(map[string][]int32{l.name: {r.Partition}})
			}
		}
		if n < size && bytes < pieceBytes && len(next) > 0 {
			continue
		}
		if err := each(ranges(piece)); err != nil {
			return err
		}
		piece, n, bytes = map[int32]*stage.Range{}, 0, 0
	}
	return nil
}

// Bounds of what is taken over at once, and of a piece: events with many
// errors are large.
const (
	pollRecords = 2000
	pieceBytes  = 16 << 20
)

func ranges(piece map[int32]*stage.Range) []stage.Range {
	var out []stage.Range
	for _, p := range slices.Sorted(maps.Keys(piece)) {
		out = append(out, *piece[p])
	}
	return out
}

// stuck says why no records came.
func (l *statusLog) stuck(fetches kgo.Fetches, next map[int32]int64) error {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, kerr.OffsetOutOfRange) {
			return fmt.Errorf("%w: record %d of partition %d of %s is gone", ErrLogCut, next[e.Partition], e.Partition, l.name)
		}
		if !errors.Is(e.Err, context.DeadlineExceeded) {
			return fmt.Errorf("read partition %d of %s: %w", e.Partition, l.name, e.Err)
		}
	}
	return fmt.Errorf("the broker gave nothing of %s for %s, though there is more: look whether it is well, and try again", l.name, silence)
}
