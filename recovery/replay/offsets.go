package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// maxOffsets bounds a range, whose files are held in memory.
const maxOffsets = 1_000_000

// filesAtOnce is how many files the tracker is asked for at once.
const filesAtOnce = 1000

// Offsets are records of a partition of a topic that is kept for ever.
type Offsets struct {
	Topic     string // status.changed or document.ordered
	Partition int32
	From, To  int64 // both included
}

// ParseOffsets reads TOPIC/PARTITION:FROM-TO.
func ParseOffsets(s string) (o Offsets, err error) {
	bad := fmt.Errorf("%q names no offsets: write TOPIC/PARTITION:FROM-TO, such as %s/0:100-199, both included", s, schemas.StatusChangedTopic)
	topic, rest, ok := strings.Cut(s, "/")
	partition, span, ok2 := strings.Cut(rest, ":")
	from, to, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return o, bad
	}
	p, err := strconv.ParseInt(partition, 10, 32)
	if err != nil || p < 0 {
		return o, bad
	}
	o.Topic, o.Partition = topic, int32(p)
	var err2 error
	o.From, err = strconv.ParseInt(from, 10, 64)
	o.To, err2 = strconv.ParseInt(to, 10, 64)
	switch {
	case errors.Join(err, err2) != nil || o.From < 0 || o.To < o.From:
		return o, bad
	case topic != schemas.StatusChangedTopic && topic != schemas.DocumentOrderedTopic:
		return o, fmt.Errorf("files are chosen by offsets of %s or %s, not of %q", schemas.StatusChangedTopic, schemas.DocumentOrderedTopic, topic)
	case o.To-o.From >= maxOffsets:
		return o, fmt.Errorf("%d offsets are too many: at most %d at once", o.To-o.From+1, maxOffsets)
	}
	return o, nil
}

// String writes the range as ParseOffsets reads it.
func (o Offsets) String() string {
	return fmt.Sprintf("%s/%d:%d-%d", o.Topic, o.Partition, o.From, o.To)
}

// ChooseOffsets yields the versions of files that the records of a range are
// about. Where an event does not say which version it means, it is the one that
// the tracker shows.
func ChooseOffsets(ctx context.Context, newClient kafka.Factory, codec *schemas.Codec, prefix string, tracker *pgxpool.Pool, o Offsets) iter.Seq2[Version, error] {
	files, archives, err := readOffsets(ctx, newClient, codec, prefix, o)
	if err != nil {
		return failing(err)
	}
	return func(yield func(Version, error) bool) {
		for len(files) > 0 {
			n := min(len(files), filesAtOnce)
			for v, err := range ask(ctx, tracker, "f.id = ANY($1::text[]::uuid[])", files[:n]) {
				if err != nil {
					yield(v, err)
					return
				}
				named := archives[v.File]
				if len(named) == 0 {
					named = []string{v.Archive}
				}
				for _, archive := range named {
					one := v
					if one.Archive != archive { // what the tracker shows is of another
						one.Archive, one.Bytes, one.Documents = archive, 0, 0
					}
					if !yield(one, nil) {
						return
					}
				}
			}
			files = files[n:]
		}
	}
}

// readOffsets gathers the files of a range, in its order, and their versions as far as
// told.
func readOffsets(ctx context.Context, newClient kafka.Factory, codec *schemas.Codec, prefix string, o Offsets) (files []string, archives map[string][]string, err error) {
	topic := kafka.TopicName(prefix, o.Topic)
	reader := kafka.Reader{Connect: newClient}
	if err := within(ctx, reader, topic, o); err != nil {
		return nil, nil, err
	}
	known, archives := map[[2]string]bool{}, map[string][]string{}
	take := func(r *kgo.Record) error {
		m, err := codec.Decode(kafka.FromKgo(r))
		if errors.Is(err, schemas.ErrUnknownSchema) {
			return fmt.Errorf("read %s at offset %d: %w", o, r.Offset, err)
		}
		file, archive := about(m.Body)
		if err != nil || file == "" {
			return nil //nolint:nilerr // it is no event, or not about a file
		}
		if !known[[2]string{file}] {
			known[[2]string{file}] = true
			files = append(files, file)
		}
		if archive != "" && !known[[2]string{file, archive}] {
			known[[2]string{file, archive}] = true
			archives[file] = append(archives[file], archive)
		}
		return nil
	}
	err = reader.Read(ctx, []kafka.Span{{Topic: topic, Partition: o.Partition, From: o.From, To: o.To + 1}}, func(c kafka.Chunk) error {
		for _, r := range c.Records {
			if err := take(r); err != nil {
				return err
			}
		}
		return nil
	})
	return files, archives, err
}

// within refuses a range that the topic does not hold.
func within(ctx context.Context, reader kafka.Reader, topic string, o Offsets) error {
	spans, err := reader.Bounds(ctx, topic)
	if err != nil {
		return err
	}
	for _, s := range spans {
		switch {
		case s.Partition != o.Partition:
		case o.From < s.From || o.To >= s.To:
			return fmt.Errorf("%s/%d holds the offsets from %d to %d, not all of %d to %d", topic, o.Partition, s.From, s.To-1, o.From, o.To)
		default:
			return nil
		}
	}
	return fmt.Errorf("%s has no partition %d", topic, o.Partition)
}

// about is the file that an event is about, and its version if it says so.
func about(body any) (file, archive string) {
	switch b := body.(type) {
	case *schemas.DocumentOrdered:
		if b.What == schemas.PositionDocument || b.What == schemas.PositionVersion || b.What == schemas.PositionUnload {
			return b.File, b.Archive
		}
	case *schemas.StatusChanged:
		switch b.Entity {
		case schemas.EntityFile, schemas.EntityHosting, schemas.EntityDownload, schemas.EntityDocument:
			return b.File, b.Archive
		}
	}
	return "", ""
}
