package stage

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/backoff"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

// Bounds of the error's text and of a panic's stack in headers, in bytes: a
// record that a topic accepted must fit into a dead letter with its story.
const (
	maxErrorText = 1024
	maxStack     = 4096
)

// quoted is an error's text as far as it is repeated: others may have written it.
func quoted(err error) string {
	return schemas.Cut(strings.ToValidUTF8(err.Error(), "\uFFFD"), maxErrorText)
}

// bury sets a record aside: its dead letter and the end that others wait for
// are acknowledged before it counts as finished. It is tried until it
// succeeds or the partition is given up.
func (r *Runner) bury(it *item, class string, cause error) (result string, pause time.Duration) {
	h := &it.history
	if h.first.IsZero() {
		h.first = r.cfg.Now()
		h.last = h.first
	}
	poison := &Poison{Class: class, Err: cause, Attempts: h.attempts, First: h.first, Last: h.last}
	args := []any{"topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset,
		"class", class, "attempts", h.attempts, "error", quoted(cause)}
	var p *panicked
	if errors.As(cause, &p) {
		args = append(args, "stack", string(p.stack))
	}
	r.log.Error("poison: setting the record aside as a dead letter", args...)

	for n := 1; ; n++ {
		err := r.produceEnd(it, poison)
		if err == nil {
			r.metrics.Dlq.WithLabelValues(r.cfg.Name, r.cfg.Topic).Inc()
			r.metrics.Errors.WithLabelValues(r.cfg.Name, member.KindPoison).Inc()
			return resultQuarantined, 0
		}
		r.warn("cannot write a dead letter; trying again", err, "topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset)
		_ = backoff.Sleep(it.ctx, r.cfg.pauses().Jittered(n))
		if it.ctx.Err() != nil {
			return resultDropped, 0
		}
	}
}

// produceEnd produces the dead letter and the failed end, and waits for both.
// What others act on goes last: once they have, a repeat of the record may be
// dropped, so letter and log must have it by then.
func (r *Runner) produceEnd(it *item, poison *Poison) error {
	first := []*kgo.Record{r.deadLetter(it, poison)}
	var last []*kgo.Record
	if it.bad == nil {
		records, err := r.failedEnd(it, poison)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if rec.Topic == kafka.TopicName(r.cfg.Prefix, schemas.StatusChangedTopic) {
				first = append(first, rec)
			} else {
				last = append(last, rec)
			}
		}
	}
	for _, records := range [][]*kgo.Record{first, last} {
		err := r.produceAll(it, records)
		if refusedForGood(err) {
			err = r.produceCut(it, records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// produceAll produces records and waits until all are acknowledged.
func (r *Runner) produceAll(it *item, records []*kgo.Record) error {
	out := r.newOutput(it, nil)
	defer out.close()
	for _, rec := range records {
		if err := out.produce(rec, nil); err != nil {
			return err
		}
	}
	return out.wait(it.ctx)
}

// failedEnd asks the stage for the record's failed end. A stage that panics
// on that too has no end for it: the dead letter alone must do.
func (r *Runner) failedEnd(it *item, poison *Poison) (records []*kgo.Record, err error) {
	err = protect(func() error {
		for _, m := range r.stage.Fail(it.msg, poison) {
			rec, err := r.encode(it, m)
			if refusedForGood(err) {
				rec, err = r.encodeShort(it, m)
			}
			if err != nil {
				return err
			}
			records = append(records, rec)
		}
		return nil
	})
	var p *panicked
	if errors.As(err, &p) {
		r.log.Error("no failed end could be made for a dead letter; who waits for it must ask again",
			"topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset, "error", p, "stack", string(p.stack))
		return nil, nil
	}
	return records, err
}

// deadLetter is the record as it came, with the story of its failure added.
func (r *Runner) deadLetter(it *item, poison *Poison) *kgo.Record {
	text := quoted(poison.Err)
	rfc := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	out := &kgo.Record{
		Topic:   kafka.DLQName(r.cfg.Prefix, r.cfg.Topic, r.cfg.Letters),
		Key:     it.rec.Key,
		Value:   it.rec.Value,
		Headers: append([]kgo.RecordHeader(nil), it.rec.Headers...),
	}
	for _, h := range [][2]string{
		{kafka.HeaderTopic, it.rec.Topic},
		{kafka.HeaderPartition, strconv.Itoa(int(it.rec.Partition))},
		{kafka.HeaderOffset, strconv.FormatInt(it.rec.Offset, 10)},
		{kafka.HeaderTimestamp, rfc(it.rec.Timestamp)},
		{kafka.HeaderStage, r.cfg.Name},
		{kafka.HeaderErrorClass, poison.Class},
		{kafka.HeaderError, text},
		{kafka.HeaderAttempts, strconv.Itoa(poison.Attempts)},
		{kafka.HeaderFirstFailure, rfc(poison.First)},
		{kafka.HeaderLastFailure, rfc(poison.Last)},
	} {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
	}
	var p *panicked
	if errors.As(poison.Err, &p) {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: kafka.HeaderStack, Value: p.stack[:min(len(p.stack), maxStack)]})
	}
	if sizeOf(out) > maxLetter {
		return shortLetter(out, it.rec, maxLetter-(256<<10))
	}
	return out
}

// maxLetter is how large a dead letter may be, in bytes: a batch of its topic,
// but for what the format adds.
const maxLetter = kafka.MaxDeadLetterBatch - (64 << 10)

// sizeOf is how much of a batch a record takes, at most.
func sizeOf(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + 12
	}
	return n
}

// shortLetter is a letter that keeps so many bytes of the original's value at
// most, and the beginnings of its key and headers: compressed, a record that was
// larger than a letter may have come in. A header says so, and others where the
// original lies.
func shortLetter(letter, original *kgo.Record, most int) *kgo.Record {
	const maxPart, maxHeaders = 4 << 10, 32
	out := &kgo.Record{Topic: letter.Topic, Key: letter.Key[:min(len(letter.Key), maxPart)], Value: letter.Value[:min(len(letter.Value), most)]}
	for i, h := range letter.Headers {
		if i < len(original.Headers) && i >= maxHeaders {
			continue
		}
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: schemas.Cut(h.Key, maxPart), Value: h.Value[:min(len(h.Value), maxPart)]})
	}
	out.Headers = append(out.Headers, kgo.RecordHeader{Key: kafka.HeaderTruncated, Value: []byte(strconv.Itoa(sizeOf(original)))})
	return out
}
