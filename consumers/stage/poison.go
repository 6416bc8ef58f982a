package stage

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
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
	text := err.Error()
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	return text
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
			r.metrics.dlq.WithLabelValues(r.cfg.Name, r.cfg.Topic).Inc()
			r.metrics.errors.WithLabelValues(r.cfg.Name, kindPoison).Inc()
			return resultQuarantined, 0
		}
		r.warn("cannot write a dead letter; trying again", err, "topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset)
		r.sleep(it.ctx, backoff(r.cfg.Backoff, r.cfg.BackoffMax, n))
		if it.ctx.Err() != nil {
			return resultDropped, 0
		}
	}
}

// produceEnd produces the dead letter and the failed end, and waits for both.
// What others act on goes last: once they have, a repeat of the record may be
// dropped, so letter and log must have it by then.
func (r *Runner) produceEnd(it *item, poison *Poison) error {
	out := r.newOutput(it, nil)
	defer out.close()
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
		for _, rec := range records {
			if err := out.produce(rec, nil); err != nil {
				return err
			}
		}
		if err := out.wait(it.ctx); err != nil {
			return err
		}
	}
	return nil
}

// failedEnd asks the stage for the record's failed end. A stage that panics
// on that too has no end for it: the dead letter alone must do.
func (r *Runner) failedEnd(it *item, poison *Poison) (records []*kgo.Record, err error) {
	err = protect(func() error {
		for _, m := range r.stage.Fail(it.msg, poison) {
			rec, err := r.encode(it, m)
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
		Topic:   kafka.DLQName(r.cfg.Prefix, r.cfg.Topic, r.cfg.Name),
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
	return out
}
