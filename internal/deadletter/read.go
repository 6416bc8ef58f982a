package deadletter

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
	"tributary/topics"
)

// Reader reads dead letters from their topics.
type Reader struct {
	Connect kafka.Factory
	Codec   *schemas.Codec
	Prefix  string // of topics and groups

	patience time.Duration // for records that do not come; 0: 10 s
}

// atOnce bounds what a reader fetches at once, in bytes as they are sent:
// records that are compressed well are more when they are held.
const atOnce = 2 << 20

// Stages are those that give records up to a topic, in the order in which data
// flows through them.
func Stages() []string {
	var out []string
	for _, t := range topics.DeadLetters() {
		out = append(out, t.DeadLetter)
	}
	return out
}

// chosen are the topics of dead letters that a filter is about.
func (r *Reader) chosen(f *Filter) ([]topics.Topic, error) {
	var out []topics.Topic
	for _, t := range topics.DeadLetters() {
		original := kafka.TopicName(r.Prefix, t.Name)
		if f.Stage != "" && f.Stage != t.DeadLetter && f.Stage != kafka.GroupName(r.Prefix, t.DeadLetter) {
			continue
		}
		if f.Topic != "" && !slices.Contains([]string{t.Name, t.Name + ".v1", original, t.FullName(r.Prefix)}, f.Topic) {
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no stage gives up records of the topic %q and the group %q: the stages that do are %s and %s, and the publishers of control.outbox and warehouse.outbox", f.Topic, f.Stage, strings.Join(Stages(), ", "), Insert)
	}
	return out, nil
}

// Scan gives each letter that the filter is about, all but its state judged,
// topic by topic and partition by partition in the order of their offsets. It
// ends at what was the end when it began, and holds no more than one fetch.
// What insert gave up is elsewhere: see Quarantined.
func (r *Reader) Scan(ctx context.Context, f *Filter, each func(*Letter) error) error {
	if _, only := concerns(r.Prefix, f); only || OutboxOf(f.Stage) != "" {
		return nil
	}
	chosen, err := r.chosen(f)
	if err != nil {
		return err
	}
	client, err := r.Connect()
	if err != nil {
		return err
	}
	defer client.Close()
	for _, t := range chosen {
		spans, err := bounds(ctx, kadm.NewClient(client), t.FullName(r.Prefix), f.Since)
		if err != nil {
			return err
		}
		for _, s := range spans {
			err := r.read(ctx, t, s, func(l *Letter) error {
				if !f.Match(l) {
					return nil
				}
				return each(l)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Get returns the letter with the given id.
func (r *Reader) Get(ctx context.Context, id string) (*Letter, error) {
	stage, partition, offset, err := ParseID(id)
	if err != nil {
		return nil, err
	}
	chosen, err := r.chosen(&Filter{Stage: stage})
	if err != nil {
		return nil, fmt.Errorf("dead letter %s: %w", id, err)
	}
	client, err := r.Connect()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	spans, err := bounds(ctx, kadm.NewClient(client), chosen[0].FullName(r.Prefix), time.Time{})
	if err != nil {
		return nil, err
	}
	for _, s := range spans {
		if s.partition != partition || offset < s.from || offset >= s.to {
			continue
		}
		var found *Letter
		s.from, s.to = offset, offset+1
		if err := r.read(ctx, chosen[0], s, func(l *Letter) error { found = l; return nil }); err != nil {
			return nil, err
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("there is no dead letter %s: tributary dlq list shows those that there are", id)
}

// span is a stretch of a partition.
type span struct {
	partition int32
	from, to  int64
}

// bounds asks the broker where a topic's partitions begin and end.
func bounds(ctx context.Context, admin *kadm.Client, topic string, since time.Time) ([]span, error) {
	ctx = kadm.WithAuthorizedOps(ctx) // what the client remembers may be older than the topic
	first, err := admin.ListStartOffsets(ctx, topic)
	if err == nil && !since.IsZero() {
		first, err = admin.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	}
	if err = errors.Join(err, first.Error()); err != nil {
		return nil, fmt.Errorf("ask the broker where %s starts (was it made? see topics plan): %w", topic, err)
	}
	last, err := admin.ListEndOffsets(ctx, topic)
	if err = errors.Join(err, last.Error()); err != nil {
		return nil, fmt.Errorf("ask the broker where %s ends: %w", topic, err)
	}
	var out []span
	last.Each(func(e kadm.ListedOffset) {
		s := span{partition: e.Partition, to: e.Offset}
		if f, ok := first.Lookup(e.Topic, e.Partition); ok {
			s.from = f.Offset
		}
		if s.from < s.to {
			out = append(out, s)
		}
	})
	slices.SortFunc(out, func(a, b span) int { return int(a.partition - b.partition) })
	return out, nil
}

// read gives each letter of a stretch.
func (r *Reader) read(ctx context.Context, t topics.Topic, s span, each func(*Letter) error) error {
	name := t.FullName(r.Prefix)
	client, err := r.Connect(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {s.partition: kgo.NewOffset().At(s.from)}}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(atOnce), kgo.FetchMaxPartitionBytes(atOnce),
		kgo.KeepControlRecords(), // the last of a stretch may be one
	)
	if err != nil {
		return err
	}
	defer client.Close()
	patience := cmp.Or(r.patience, 10*time.Second)
	for {
		polling, stop := context.WithTimeout(ctx, patience)
		fetches := client.PollFetches(polling)
		late := polling.Err() != nil
		stop()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before the end of %s: %w", name, context.Cause(ctx))
		}
		if late && fetches.NumRecords() == 0 {
			return missing(ctx, kadm.NewClient(client), name, s, patience)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read %s/%d: %w", name, s.partition, errs[0].Err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			rec := iter.Next()
			if rec.Offset >= s.to {
				return nil
			}
			if !rec.Attrs.IsControl() {
				if err := each(of(r.Codec, t.DeadLetter, t.Name, rec)); err != nil {
					return err
				}
			}
			if rec.Offset == s.to-1 {
				return nil
			}
		}
	}
}

// missing says why the rest of a stretch does not come: nil if it was deleted
// meanwhile, since then there is nothing to wait for.
func missing(ctx context.Context, admin *kadm.Client, topic string, s span, waited time.Duration) error {
	now, err := bounds(ctx, admin, topic, time.Time{})
	if err != nil {
		return err
	}
	for _, has := range now {
		if has.partition == s.partition && has.from < s.to {
			return fmt.Errorf("no record of %s/%d has come for %s, though the broker says that it has those from %d to %d: look at the broker, and try again",
				topic, s.partition, waited, has.from, has.to-1)
		}
	}
	return nil
}
