package passover

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// Errors of a judgement.
var (
	// ErrNoRecord says that there is no record at an offset.
	ErrNoRecord = errors.New("there is no such record")
	// ErrNotStopped says that nobody stops at a record.
	ErrNotStopped = errors.New("no reader stops at it")
)

// Wish is what a person asks for.
type Wish struct {
	Topic     string // without prefix and version
	Partition int32
	Offset    int64
	Missing   bool   // document.ordered: the record counts, and what should come before it is lost
	GoesOn    string // document.ordered: what the next position names; empty: as control's chain tells
	By        string
	Reason    string
}

// Judgement is what a record is, and what passing it over means.
type Judgement struct {
	schemas.RecordPassedOver
	Stops   string `json:"stops"`   // why readers stop at it; empty: they don't
	What    string `json:"what"`    // what it says, as far as it can be read
	Genuine string `json:"genuine"` // document.ordered: yes, no or unknown: whether control's chain leads through it
	Applied bool   `json:"applied"` // document.ordered: the live warehouse holds it, and keeps it until it is rebuilt
}

// Judge looks at records of which a person asks to pass them over.
type Judge struct {
	List *List // what was decided so far
	// Given tells what control gave last and has not published yet: control.LastGiven.
	Given func(context.Context) (digest string, unpublished []schemas.Record, err error)
	// Applied tells whether the live warehouse applied a record: warehouse.Applied.
	Applied func(ctx context.Context, position int64, digest []byte) (bool, error)
}

// Record judges one. An error that wraps ErrNotStopped comes with the judgement: a
// person may insist.
func (j *Judge) Record(ctx context.Context, w Wish) (*Judgement, error) {
	r, err := j.read(ctx, w)
	if err != nil {
		return nil, err
	}
	out := &Judgement{RecordPassedOver: schemas.RecordPassedOver{Topic: w.Topic, Partition: w.Partition, Offset: w.Offset, Size: int64(len(r.Value)), By: w.By, Reason: w.Reason}}
	switch {
	case w.Topic == schemas.DocumentOrderedTopic:
		err = j.ordered(ctx, w, r, out)
	case w.Missing || w.GoesOn != "":
		err = errors.New("only records of document.ordered follow one another: nothing can be missing before another one, and nothing goes on with it")
	default:
		j.other(r, out)
	}
	if err != nil {
		return nil, err
	}
	switch d, decided := j.List.find(r.Value); {
	case decided && d.Missing == out.Missing && d.GoesOn == out.GoesOn:
		return out, fmt.Errorf("%w any more: %s decided so at %s: %s", ErrNotStopped, d.By, d.At.Format("2006-01-02 15:04:05"), d.Reason)
	case out.Stops == "":
		return out, fmt.Errorf("%w as far as %s tells: %s", ErrNotStopped, w.Topic, out.What)
	case !decided && len(j.List.All()) >= Max:
		return out, fmt.Errorf("%d decisions are known already, and no more are kept in mind", Max)
	}
	return out, nil
}

// read reads the record.
func (j *Judge) read(ctx context.Context, w Wish) (found *kgo.Record, err error) {
	topic := kafka.TopicName(j.List.Prefix, w.Topic)
	reader := kafka.Reader{Connect: j.List.Connect}
	spans, err := reader.Bounds(ctx, topic)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(spans, func(s kafka.Span) bool { return s.Partition == w.Partition })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s has no partition %d", ErrNoRecord, topic, w.Partition)
	}
	if s := spans[i]; w.Offset < s.From || w.Offset >= s.To {
		return nil, fmt.Errorf("%w: partition %d of %s holds the offsets from %d up to, but without, %d", ErrNoRecord, w.Partition, topic, s.From, s.To)
	}
	err = reader.Read(ctx, []kafka.Span{{Topic: topic, Partition: w.Partition, From: w.Offset, To: w.Offset + 1}}, func(c kafka.Chunk) error {
		if len(c.Records) > 0 {
			found = c.Records[0]
		}
		return nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%w: offset %d of partition %d of %s is the mark of a transaction, or was deleted", ErrNoRecord, w.Offset, w.Partition, topic)
	}
	return found, err
}

// other judges a record of a topic whose records don't depend on one another.
func (j *Judge) other(r *kgo.Record, out *Judgement) {
	out.SHA256 = sum(r.Value).String()
	m, err := j.List.Codec.Decode(kafka.FromKgo(r))
	out.Lost = lost(out.Topic)
	switch {
	case errors.Is(err, schemas.ErrUnknownSchema):
		out.What = "it is in a schema that this program does not know"
		out.Stops = err.Error() + ", if a newer program wrote it: then nothing needs to be lost"
	case err != nil:
		out.What = "every reader goes on behind it, since it is no event: " + err.Error()
	default:
		out.What = fmt.Sprintf("every reader of this program understands it: an event of %s about %s", m.Topic, m.Subject)
	}
}

// lost says what is lost when a record of a topic counts for nothing.
func lost(topic string) string {
	switch topic {
	case schemas.FileDiscoveredTopic:
		return "one look at a file, or one announcement: the next poll shows the file again, another system has to announce it again"
	case schemas.DownloadRequestedTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic, schemas.DocumentExtractedTopic, schemas.DocumentValidatedTopic:
		return "one step of a file, which control requests again when nothing comes of it"
	case schemas.StatusChangedTopic:
		return "one event of the log: tracker and history show what it told as unreadable, and control restore does not know it"
	}
	return ""
}
