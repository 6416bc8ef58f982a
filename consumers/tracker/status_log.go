package tracker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
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

// statusLog is the topic status.changed as a broker holds it.
type statusLog struct {
	connect kafka.Factory
	name    string // with prefix and version
	id      pg.TopicID
}

// logBounds are the first offset and that after the last, by partition.
type logBounds struct{ start, end map[int32]int64 }

// bounds asks the broker for the log's identity and bounds.
func (l *statusLog) bounds(ctx context.Context) (logBounds, error) {
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
	spans, err := kafka.Bounds(ctx, admin, l.name)
	if err != nil {
		return b, fmt.Errorf("look at the log: %w", err)
	}
	for _, s := range spans {
		b.start[s.Partition], b.end[s.Partition] = s.From, s.To
	}
	return b, nil
}

// requireComplete returns ErrLogCut if the log does not begin with its first record.
func (l *statusLog) requireComplete(b logBounds) error {
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
func (l *statusLog) read(ctx context.Context, s span, size int, each func([]sink.Range) error) error {
	var spans []kafka.Span
	for p, to := range s.to {
		spans = append(spans, kafka.Span{Topic: l.name, Partition: p, From: s.from[p], To: to})
	}
	piece, n, bytes := map[int32]*sink.Range{}, 0, 0
	flush := func() error {
		if len(piece) == 0 {
			return nil
		}
		err := each(ranges(piece))
		piece, n, bytes = map[int32]*sink.Range{}, 0, 0
		return err
	}
	reader := kafka.Reader{Connect: l.connect}
	err := reader.Read(ctx, spans, func(c kafka.Chunk) error {
		if c.Deleted >= 0 {
			return fmt.Errorf("%w: record %d of partition %d of %s is gone, and perhaps more behind it", ErrLogCut, c.Deleted, c.Partition, l.name)
		}
		into := piece[c.Partition]
		if into == nil {
			into = &sink.Range{Topic: schemas.StatusChangedTopic, Partition: c.Partition, From: c.From}
			piece[c.Partition] = into
		}
		into.To = c.To
		into.Records = append(into.Records, c.Records...)
		n += len(c.Records)
		for _, r := range c.Records {
			bytes += len(r.Value)
		}
		if n < size && bytes < pieceBytes {
			return nil
		}
		return flush()
	})
	if errors.Is(err, kafka.ErrDeleted) {
		return fmt.Errorf("%w: %w", ErrLogCut, err)
	}
	if err != nil {
		return err
	}
	return flush()
}

// pieceBytes bounds a piece: events with many errors are large.
const pieceBytes = 16 << 20

func ranges(piece map[int32]*sink.Range) []sink.Range {
	var out []sink.Range
	for _, p := range slices.Sorted(maps.Keys(piece)) {
		out = append(out, *piece[p])
	}
	return out
}
