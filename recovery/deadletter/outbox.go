package deadletter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// Outboxed is what a letter is that the publisher has set aside: an event of an
// outbox that the broker refuses for good, or a row of it that nobody can read.
type Outboxed struct {
	Schema string // of the outbox
	outbox.Letter
}

// outboxSuffix ends the stage of letters of an outbox, as in control.outbox.
const outboxSuffix = ".outbox"

// OutboxOf is the schema whose outbox a stage's letters are of; empty if the stage
// is another.
func OutboxOf(stage string) string {
	schema, ok := strings.CutSuffix(stage, outboxSuffix)
	if !ok {
		return ""
	}
	return schema
}

// Outbox gives each letter of a schema's outbox, the oldest first.
func Outbox(ctx context.Context, q pg.Querier, schema string, f *Filter, each func(*Letter) error) error {
	if f.Stage != "" && f.Stage != schema+outboxSuffix {
		return nil
	}
	all, err := outbox.Letters(ctx, q, schema)
	if err != nil {
		return err
	}
	for _, o := range all {
		l := ofOutbox(schema, o)
		if f.Topic != "" && !slices.Contains([]string{o.Topic, o.Topic + ".v1"}, f.Topic) || !f.Match(l) {
			continue
		}
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

func ofOutbox(schema string, o outbox.Letter) *Letter {
	stage := schema + outboxSuffix
	return &Letter{ID: ID(stage, 0, o.ID), Stage: stage, Topic: o.Topic, Time: o.Last, Class: o.Class, Error: o.Cause, Attempts: o.Refused,
		First: o.First, Last: o.Last, OriginOffset: o.ID, OriginTime: o.First, Named: o.Subject,
		Key: schemas.ID("dead_letter", stage, o.Topic, o.Event), Outboxed: &Outboxed{schema, o}}
}

// GetOutbox returns the letter of an outbox with the given number, with what is
// kept of its bytes.
func GetOutbox(ctx context.Context, q pg.Querier, prefix string, codec *schemas.Codec, schema string, id int64) (*Letter, error) {
	all, err := outbox.Letters(ctx, q, schema)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(o outbox.Letter) bool { return o.ID == id })
	if i < 0 {
		return nil, noLetter(ID(schema+outboxSuffix, 0, id))
	}
	packed, err := outbox.LetterBytes(ctx, q, schema, id)
	if err != nil {
		return nil, err
	}
	l := ofOutbox(schema, all[i])
	records, err := schemas.UnpackRecords(packed)
	if err == nil && len(records) != 1 {
		err = errors.New("it is no one event")
	}
	if err != nil {
		l.Problem, l.Record = err.Error(), &kgo.Record{Value: packed}
		return l, nil //nolint:nilerr // the letter says so
	}
	l.Record = kafka.ToKgo(prefix, records[0])
	l.Record.Timestamp = l.First
	if m, err := codec.Decode(records[0]); err != nil {
		l.Problem = err.Error()
	} else {
		l.about(m.Body)
	}
	return l, nil
}
