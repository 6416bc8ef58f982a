package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

// A broker refuses batches, and the client fails with one all that it holds for
// the same partition: outputs of records that have nothing to do with it. So what
// was refused for good is sent once more, alone, and only what is refused then
// makes its record poison.

// lone sends records one at a time, each in a batch of its own.
type lone struct {
	connect kafka.Factory
	turn    chan struct{} // holds one; a channel, since who waits may give up
	client  *kgo.Client   // made when it is first needed; guarded by turn

	life   context.Context // of the client, and of all that it sends
	hangUp context.CancelFunc
}

func newLone(connect kafka.Factory) *lone {
	l := &lone{connect: connect, turn: make(chan struct{}, 1)}
	l.life, l.hangUp = context.WithCancel(context.Background())
	return l
}

// corruptTries is how often a record is sent that arrives damaged.
const corruptTries = 3

// produce returns once the record is acknowledged or refused, or ctx ends.
func (l *lone) produce(ctx context.Context, rec *kgo.Record) (err error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := l.life.Err(); err != nil {
		return err
	}
	if l.client == nil {
		if l.client, err = l.connect(kgo.WithContext(l.life)); err != nil {
			return err
		}
	}
	for range corruptTries {
		again := &kgo.Record{Topic: rec.Topic, Key: rec.Key, Value: rec.Value, Headers: rec.Headers}
		if err = l.client.ProduceSync(ctx, again).FirstErr(); !errors.Is(err, kerr.CorruptMessage) {
			break
		}
	}
	if errors.Is(err, kerr.UnknownTopicID) {
		l.client.PurgeTopicsFromProducing(rec.Topic) // it was made anew; nothing else is under way
	}
	return err
}

// close ends what is under way.
func (l *lone) close() {
	l.hangUp()
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.client != nil {
		member.CloseClient(l.client)
	}
}

// refusedForGood tells whether an error is that of an output that no topic takes,
// whoever tries.
func refusedForGood(err error) bool {
	var large *schemas.TooLargeError
	return errors.As(err, &large) || kafka.Refused(err)
}

// produceCut produces records of which some are refused for good, one after the
// other: those are cut, and left out, loudly, if that does not help. Nothing that
// is refused for good is tried for ever.
func (r *Runner) produceCut(it *item, records []*kgo.Record) error {
	for _, rec := range records {
		err := r.lone.produce(it.ctx, rec)
		if refusedForGood(err) {
			err = r.lone.produce(it.ctx, r.cut(it, rec))
		}
		if refusedForGood(err) {
			r.log.Error("a dead letter, or the end that others wait for, is refused for good and left out: the record is still in its topic",
				"topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset, "to", rec.Topic, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("produce to %s: %w", rec.Topic, err)
		}
	}
	return nil
}

// cutLetter is how much of a record's value is kept in a letter that was refused
// with all of it, in bytes.
const cutLetter = 16 << 10

// cut makes a record as small as it can be: an event with all its texts cut, a
// dead letter with the beginning of what it keeps.
func (r *Runner) cut(it *item, rec *kgo.Record) *kgo.Record {
	if rec.Topic == kafka.DLQName(r.cfg.Prefix, r.cfg.Topic, r.cfg.Letters) {
		return shortLetter(rec, it.rec, cutLetter)
	}
	m, err := r.codec.Decode(kafka.FromKgo(rec))
	if err != nil {
		return rec
	}
	if short, err := r.encodeShort(it, m); err == nil {
		return short
	}
	return rec
}

// encodeShort is encode of a message with all its texts cut, names too.
func (r *Runner) encodeShort(it *item, m schemas.Message) (*kgo.Record, error) {
	m, err := r.codec.Shorter(m)
	if err != nil {
		return nil, err
	}
	return r.encode(it, m)
}
