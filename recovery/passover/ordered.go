package passover

import (
	"cmp"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// Whether control's chain leads through a record.
const (
	genuine = "yes"
	foreign = "no"
	unknown = "unknown"
)

func sum(value []byte) chain.Digest { return chain.Of(value) }

// order is document.ordered as it is read for a judgement.
type order struct {
	decided chain.Decided
	codec   *schemas.Codec
	at      int64 // the offset of the record
	log     chain.Log
	behind  map[chain.Digest]string // the records behind it, and what they name
}

// ordered judges a record of document.ordered by all that comes before it, and
// tells by what comes after it whether control gave it.
func (j *Judge) ordered(ctx context.Context, w Wish, r *kgo.Record, out *Judgement) error {
	o := order{decided: j.List.Chain, codec: j.List.Codec, at: w.Offset, log: chain.Log{Decided: j.List.Chain}, behind: map[chain.Digest]string{}}
	last, err := j.given(ctx, &o)
	if err != nil {
		return err
	}
	reader := kafka.Reader{Connect: j.List.Connect}
	spans, err := reader.Bounds(ctx, kafka.TopicName(j.List.Prefix, w.Topic))
	if err != nil {
		return err
	}
	err = reader.Read(ctx, spans, func(c kafka.Chunk) error {
		for _, r := range c.Records {
			if err := o.read(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	head, is := o.log.Head(), chain.Of(r.Value)
	link, body, err := o.link(r)
	out.SHA256, out.What = is.String(), describe(body, err)
	if stops := o.stops(link, err); stops != nil {
		out.Stops = stops.Error()
	}
	if body != nil {
		out.Position = body.Position
	}
	out.Genuine = o.genuine(last, is)
	if out.Applied, err = j.Applied(ctx, out.Position, is[:]); err != nil {
		return err
	}
	if w.Missing {
		if body == nil || body.Position <= head.Last.Position {
			return fmt.Errorf("nothing is missing before it: %s, and what comes next is position %d", out.What, head.Last.Position+1)
		}
		out.Missing, out.GoesOn, out.Lost = true, is.String(), positions(head.Last.Position+1, body.Position-1)
		return nil
	}
	return o.goesOn(w, is, body, out)
}

// read reads one record: up to the one that is judged by the chain's rule.
func (o *order) read(r *kgo.Record) error {
	link, body, err := o.link(r)
	switch {
	case r.Offset > o.at:
		if body != nil {
			o.behind[link.Digest] = link.Previous
		}
		return nil
	case r.Offset == o.at:
		return nil
	}
	if err != nil {
		if d, decided := o.decided(link.Digest); !decided || d.Missing {
			return fmt.Errorf("reading stops before it, at offset %d, which can't be read: decide about that first: %w", r.Offset, err)
		}
	}
	taken := o.log.Take(link)
	if err := o.log.Err(); err != nil {
		return fmt.Errorf("reading stops before it, at offset %d: decide about that first: %w", r.Offset, err)
	}
	if !taken {
		return fmt.Errorf("reading stops before it, at offset %d: decide about that first: what comes before it is missing: %s", r.Offset, positions(o.log.Head().Last.Position+1, link.Position-1))
	}
	return nil
}

// link is what the chain sees of a record: one that can't be read has no position.
func (o *order) link(r *kgo.Record) (chain.Link, *schemas.DocumentOrdered, error) {
	topic, body, err := o.codec.DecodeBody(r.Value)
	ev, ok := body.(*schemas.DocumentOrdered)
	if !ok {
		if err == nil {
			err = fmt.Errorf("it is an event of %s", topic)
		}
		return chain.Link{Offset: r.Offset, Digest: chain.Of(r.Value)}, nil, err
	}
	return chain.LinkOf(ev, r.Value, r.Offset), ev, nil
}

// stops is why reading stops at the record; nil if it doesn't.
func (o *order) stops(r chain.Link, unreadable error) error {
	head := o.log.Head()
	switch {
	case unreadable != nil:
		return unreadable
	case head.Next(r):
		return head.Follow(r)
	case r.Position > head.Last.Position:
		return fmt.Errorf("what comes before it is missing: %s", positions(head.Last.Position+1, r.Position-1))
	}
	first, known := o.log.At(r.Position)
	_, err := head.Repeat(first, known, r)
	return err
}

// given asks what control gave last, and notes what it has not published yet. It is
// asked before the topic is read: then that holds all the rest.
func (j *Judge) given(ctx context.Context, o *order) (last string, err error) {
	last, unpublished, err := j.Given(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range unpublished {
		if _, body, err := o.codec.DecodeBody(r.Value); err == nil {
			if ev, ok := body.(*schemas.DocumentOrdered); ok {
				o.behind[chain.Of(r.Value)] = ev.Previous
			}
		}
	}
	return last, nil
}

// genuine tells whether control's chain leads through a record: from the last that
// it gave backwards, through what is behind the record.
func (o *order) genuine(last string, is chain.Digest) string {
	for range len(o.behind) + 1 {
		switch last {
		case is.String():
			return genuine
		case before(o.log.Head()):
			return foreign
		}
		d, err := digest(last)
		if err != nil {
			break
		}
		last = o.behind[d]
	}
	return unknown
}

// before is what a record names that comes next.
func before(head chain.Head) string {
	if head.Known {
		return head.Last.Digest.String()
	}
	return chain.Start
}

// goesOn says with which digest the chain goes on, and what is lost.
func (o *order) goesOn(w Wish, is chain.Digest, body *schemas.DocumentOrdered, out *Judgement) error {
	head, before := o.log.Head(), before(o.log.Head())
	switch out.GoesOn = cmp.Or(w.GoesOn, map[string]string{genuine: is.String(), foreign: before}[out.Genuine]); out.GoesOn {
	case "":
		return fmt.Errorf("control does not tell whether it gave this record: say with what the chain goes on, with --goes-on %s if it did (its position is lost then), or --goes-on %s if it did not", is, before)
	case before:
		out.Lost = "nothing that control gave"
	case is.String():
		out.Lost = "the position that it held, which nobody can read"
		if body != nil && body.Position <= head.Last.Position {
			out.Lost = "its content, as another record was applied as this position: " + out.What
		} else if body != nil {
			out.Lost = "its content: " + out.What
			if body.Position > head.Last.Position+1 {
				out.Lost = positions(head.Last.Position+1, body.Position-1) + ", and " + out.Lost
			}
		}
	default:
		return fmt.Errorf("the chain can go on with the record itself (%s), or as if it never was (%s), but not with %s", is, before, out.GoesOn)
	}
	return nil
}

// describe says what a position orders.
func describe(ev *schemas.DocumentOrdered, err error) string {
	if err != nil {
		return "it can't be read: " + err.Error()
	}
	subject := ev.Domain
	if ev.FileName != "" {
		subject = ev.Action + "/" + ev.FileName
	}
	if ev.Entry != "" {
		subject += " " + ev.Entry
	}
	return fmt.Sprintf("position %d, %s of %s", ev.Position, ev.What, subject)
}

// positions names a range of them.
func positions(from, to int64) string {
	switch {
	case from > to:
		return "nothing but what it names"
	case from == to:
		return fmt.Sprintf("position %d", from)
	}
	return fmt.Sprintf("the positions %d to %d", from, to)
}
