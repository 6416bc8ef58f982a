package deadletter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

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
		return nil, absentf("no stage gives up records of the topic %q and the group %q: the stages that do are %s and %s, and the publishers of control.outbox and warehouse.outbox", f.Topic, f.Stage, strings.Join(Stages(), ", "), Insert)
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
		if s.Partition != partition || offset < s.From || offset >= s.To {
			continue
		}
		var found *Letter
		s.From, s.To = offset, offset+1
		if err := r.read(ctx, chosen[0], s, func(l *Letter) error { found = l; return nil }); err != nil {
			return nil, err
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, noLetter(id)
}

// bounds asks the broker where a topic's partitions begin, or what was written to
// them since a time, and where they end.
func bounds(ctx context.Context, admin *kadm.Client, topic string, since time.Time) ([]kafka.Span, error) {
	spans, err := kafka.Bounds(ctx, admin, topic)
	if err == nil && !since.IsZero() {
		err = kafka.Since(ctx, admin, spans, since)
	}
	return spans, err
}

// read gives each letter of a stretch. What is deleted meanwhile is no letter.
func (r *Reader) read(ctx context.Context, t topics.Topic, s kafka.Span, each func(*Letter) error) error {
	log := kafka.Reader{Connect: r.Connect, SkipDeleted: true, Silence: cmp.Or(r.patience, 10*time.Second)}
	return log.Read(ctx, []kafka.Span{s}, func(c kafka.Chunk) error {
		for _, rec := range c.Records {
			if err := each(of(r.Codec, t.DeadLetter, t.Name, rec)); err != nil {
				return err
			}
		}
		return nil
	})
}
