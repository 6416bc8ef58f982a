package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// state is where an event of a batch stands.
type state int

const (
	waiting      state = iota // it stays in the outbox
	acknowledged              // the broker has it, or its replacement
	setAside                  // it can't be published, nor anything in its place
)

// event is one of a batch.
type event struct {
	record schemas.Record // as it was written
	kgo    *kgo.Record    // as it is sent
	state  state
	letter *outbox.Letter // set: what was refused for good
	cause  error          // of the letter
}

// batch is what was read of the outbox, and what becomes of it.
type batch struct {
	rows   []outbox.Row
	events [][]*event // of each row
	held   map[string]error
}

// all are the events of a batch, in order.
func (b *batch) all() []*event {
	var out []*event
	for _, events := range b.events {
		out = append(out, events...)
	}
	return out
}

// gather makes a batch of rows. An event that no topic would take is never sent:
// its replacement is, in its place; or it is refused at once.
func (p *Publisher) gather(rows []outbox.Row) *batch {
	b := &batch{rows: rows, events: make([][]*event, len(rows)), held: map[string]error{}}
	for i, row := range rows {
		b.events[i] = make([]*event, len(row.Records))
		for j, r := range row.Records {
			e := &event{record: r}
			b.events[i][j] = e
			if err := r.Fits(); err != nil {
				p.replace(e, outbox.LetterTooLarge, err)
				if e.state == setAside && r.Topic == schemas.DocumentOrderedTopic {
					b.stop(e, err)
				}
				continue
			}
			e.kgo = kafka.ToKgo(p.deps.Prefix, r)
		}
	}
	return b
}

// replace has an event told in fewer words, under the same id; one of which
// nothing fits is refused.
func (p *Publisher) replace(e *event, class string, cause error) {
	e.cause, e.state, e.kgo = cause, setAside, nil
	became := outbox.BecameFailed
	if shorter, err := p.replacement(e.record); err == nil {
		e.kgo, e.state = kafka.ToKgo(p.deps.Prefix, shorter), waiting
		if e.record.Topic != schemas.DocumentOrderedTopic {
			became = outbox.BecameShorter
		}
	}
	l := outbox.LetterOf(e.record, class, became, cause)
	e.letter = &l
}

// replacement is what may be published instead of an event. The next position
// names the digest of one that is chained, so nothing can take its place.
func (p *Publisher) replacement(r schemas.Record) (schemas.Record, error) {
	codec, err := p.codec()
	if err != nil {
		return schemas.Record{}, err
	}
	if r.Topic == schemas.DocumentOrderedTopic {
		_, body, err := codec.DecodeBody(r.Value)
		if err != nil {
			return schemas.Record{}, err
		}
		if o, ok := body.(*schemas.DocumentOrdered); ok && o.Previous != "" {
			return schemas.Record{}, errors.New("the positions behind it name its digest")
		}
	}
	return codec.Replacement(r)
}

// Bounds of what is handed to the client at a time, below those of its buffer.
const (
	atOnceEvents = 8000
	atOnceBytes  = 32 << 20
)

// send publishes a batch: everything at once, and where the broker refuses
// something for good, in ever smaller parts until that is found. A topic that
// takes nothing just now is held: its events wait, and others go on. An error is
// only that of ctx.
func (p *Publisher) send(ctx context.Context, b *batch) error {
	var part []*event
	size := 0
	for _, e := range b.all() {
		if e.kgo == nil {
			continue
		}
		if n := e.record.Size(); len(part) == atOnceEvents || len(part) > 0 && size+n > atOnceBytes {
			if err := p.sendPart(ctx, b, part); err != nil {
				return err
			}
			part, size = nil, 0
		}
		part, size = append(part, e), size+e.record.Size()
	}
	return p.sendPart(ctx, b, part)
}

// sendPart sends events, but for those of topics that are held, and finds what is
// refused for good.
func (p *Publisher) sendPart(ctx context.Context, b *batch, part []*event) error {
	part = slices.DeleteFunc(slices.Clone(part), func(e *event) bool { return e.state == acknowledged || p.holds(b, e) != nil })
	if len(part) == 0 {
		return nil
	}
	errs, err := p.produce(ctx, part)
	if err != nil {
		return err
	}
	guilty := map[string][]*event{} // by topic, in order
	for i, e := range part {
		switch {
		case errs[i] == nil:
			e.state = acknowledged
		case kafka.Refused(errs[i]):
			guilty[e.record.Topic] = append(guilty[e.record.Topic], e)
		default:
			b.held[e.record.Topic] = errs[i]
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(guilty)) {
		if err := p.isolate(ctx, b, guilty[topic]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Publisher) produce(ctx context.Context, part []*event) ([]error, error) {
	records := make([]*kgo.Record, len(part))
	for i, e := range part {
		records[i] = &kgo.Record{Topic: e.kgo.Topic, Key: e.kgo.Key, Value: e.kgo.Value, Headers: e.kgo.Headers} // the client marks what it was given
	}
	return p.sender.send(ctx, records)
}

// holds is why an event's topic takes nothing just now.
func (p *Publisher) holds(b *batch, e *event) error {
	if err := b.held[e.record.Topic]; err != nil {
		return err
	}
	return p.held[e.record.Topic]
}

// isolate sends events of one topic, of which the broker has refused a batch, by
// halves, one half after the other so that their order stays. What it refuses
// alone is replaced, or set aside.
func (p *Publisher) isolate(ctx context.Context, b *batch, part []*event) error {
	if len(part) == 1 {
		return p.sendSingly(ctx, b, part[0])
	}
	for _, half := range [][]*event{part[:len(part)/2], part[len(part)/2:]} {
		if err := p.sendPart(ctx, b, half); err != nil {
			return err
		}
	}
	return nil
}

// corruptTries is how often a record is sent alone that arrives damaged: a
// network that spoils it once does not do it again.
const corruptTries = 3

// sendSingly sends one event by itself, and what may be told instead. On the one topic
// whose order nobody may guess nothing is set aside: it is held.
func (p *Publisher) sendSingly(ctx context.Context, b *batch, e *event) error {
	for {
		refusal, err := p.trySingly(ctx, e)
		if err != nil {
			return err
		}
		switch {
		case refusal == nil:
			e.state = acknowledged
			return nil
		case !kafka.Refused(refusal):
			b.held[e.record.Topic] = refusal
			return nil
		case e.letter == nil:
			p.replace(e, outbox.LetterRefused, refusal)
			if e.kgo != nil {
				continue
			}
		}
		// Nothing that could be told instead is taken either.
		if e.record.Topic == schemas.DocumentOrderedTopic {
			b.stop(e, refusal)
			return nil
		}
		e.state, e.letter.Became = setAside, outbox.BecameFailed
		return nil
	}
}

// stop holds the topic of a position that can neither be published nor replaced.
func (b *batch) stop(e *event, cause error) {
	e.letter, e.state = nil, waiting
	b.held[e.record.Topic] = fmt.Errorf("nothing can be set aside here, and a position can't be replaced: %w", cause)
}

func (p *Publisher) trySingly(ctx context.Context, e *event) (refusal, err error) {
	for range corruptTries {
		var errs []error
		if errs, err = p.produce(ctx, []*event{e}); err != nil {
			return nil, err
		}
		if refusal = errs[0]; !errors.Is(refusal, kerr.CorruptMessage) {
			break
		}
	}
	return refusal, nil
}

// heldError says which topics take nothing just now. What is to go to others was
// published.
type heldError struct{ topics map[string]error }

func (h *heldError) Error() string {
	var all []string
	for _, t := range slices.Sorted(maps.Keys(h.topics)) {
		all = append(all, t+": "+kafka.Lacking(h.topics[t], "Write", t, "").Error())
	}
	return "events stay in the outbox: " + strings.Join(all, "; ")
}

func (h *heldError) Unwrap() []error { return slices.Collect(maps.Values(h.topics)) }
