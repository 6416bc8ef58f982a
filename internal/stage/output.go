package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
)

// output is what one attempt at a record produces.
type output struct {
	r   *Runner
	it  *item
	dog *watchdog

	mu      sync.Mutex
	pending int
	err     error         // the first failure to produce
	failed  string        // the topic that it was for
	purges  int           // of that topic before
	closed  bool          // the attempt has ended
	settled chan struct{} // closed when nothing is pending; nil: nobody waits
}

func (r *Runner) newOutput(it *item, dog *watchdog) *output {
	return &output{r: r, it: it, dog: dog}
}

// emit is Input.Emit.
func (o *output) emit(ctx context.Context, msgs ...schemas.Message) error {
	return o.send(ctx, nil, msgs)
}

// emitAcknowledged is Input.EmitAcknowledged.
func (o *output) emitAcknowledged(ctx context.Context, msgs ...schemas.Message) error {
	defer o.dog.hold()()
	acks := make(chan error, len(msgs))
	if err := o.send(ctx, acks, msgs); err != nil {
		return err
	}
	for range msgs {
		select {
		case err := <-acks:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// send produces messages. acks, if not nil, has room for what becomes of each.
func (o *output) send(ctx context.Context, acks chan<- error, msgs []schemas.Message) error {
	defer o.dog.hold()()
	for _, m := range msgs {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := o.r.encode(o.it, m)
		if err != nil {
			return err
		}
		if err := o.produce(rec, acks); err != nil {
			return err
		}
		if rejects(m) {
			o.r.metrics.Errors.WithLabelValues(o.r.cfg.Name, member.KindRejected).Inc()
		}
	}
	return nil
}

// encode completes a message with what its input knows, and addresses it.
func (r *Runner) encode(it *item, m schemas.Message) (*kgo.Record, error) {
	if m.Stage == "" {
		m.Stage = r.cfg.Name
	}
	if m.Time.IsZero() {
		m.Time = r.cfg.Now()
	}
	if m.Traceparent == "" {
		m.Traceparent = it.msg.Traceparent
	}
	rec, err := r.codec.Encode(m)
	if err != nil {
		return nil, err
	}
	return kafka.ToKgo(r.cfg.Prefix, rec), nil
}

// produce hands a record to the client. The record's life is that of the item,
// which is its partition's, not of the attempt: what was emitted is sent,
// whatever becomes of the work. acks, if not nil, is told.
func (o *output) produce(rec *kgo.Record, acks chan<- error) error {
	o.mu.Lock()
	if o.err == nil && o.closed {
		o.err = errors.New("emit after the attempt has ended")
	}
	if o.err != nil {
		defer o.mu.Unlock()
		return o.err
	}
	o.pending++
	o.mu.Unlock()
	crashpoint.At(o.r.cfg.Name, "acknowledged", "before")
	purges := o.r.anew.Purges(rec.Topic)
	finish := func(rec *kgo.Record, err error) {
		if err != nil {
			err = unproduced(rec.Topic, err)
		}
		o.acknowledged(rec, purges, err)
		if acks != nil {
			acks <- err
		}
	}
	o.r.client.Produce(o.it.ctx, rec, func(rec *kgo.Record, err error) {
		if kafka.Refused(err) { // it, or one that it shared a batch with
			go func() { finish(rec, o.r.lone.produce(o.it.ctx, rec)) }()
			return
		}
		finish(rec, err)
	})
	return nil
}

// unproduced is the error of a record that a topic did not take. Those that end
// by themselves, or when somebody gives a right, are no fault of the record that
// was worked on, and come in the same words for all: nothing may be set aside for
// them.
func unproduced(topic string, err error) error {
	wrapped := fmt.Errorf("produce to %s: %w", topic, kafka.Lacking(err, "Write", topic, ""))
	if kafka.Refused(err) {
		return wrapped // also where the library would try again
	}
	if kerr.IsRetriable(err) || kafka.Denied(err) || errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries) || errors.Is(err, context.DeadlineExceeded) {
		return Transient(wrapped)
	}
	return wrapped
}

func (o *output) acknowledged(rec *kgo.Record, purges int, err error) {
	if err == nil {
		crashpoint.At(o.r.cfg.Name, "acknowledged", "after")
		o.r.metrics.Outputs.WithLabelValues(o.r.cfg.Name, rec.Topic).Inc()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.err == nil {
		o.err, o.failed, o.purges = err, rec.Topic, purges
	}
	o.pending--
	if o.pending == 0 && o.settled != nil {
		close(o.settled)
		o.settled = nil
	}
}

// wait returns when all is acknowledged, or one was refused.
func (o *output) wait(ctx context.Context) error {
	o.mu.Lock()
	if o.pending > 0 {
		settled := make(chan struct{})
		o.settled = settled
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-settled:
		}
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	return o.err
}

// isClosed tells whether the attempt has ended.
func (o *output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// close ends the attempt: what work left behind might still emit is refused,
// and the next attempt can write to a topic that was made anew, also if it was
// the work that met the error first.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	topic, purges, err := o.failed, o.purges, o.err
	o.mu.Unlock()
	if topic != "" {
		o.r.anew.Failed(topic, purges, err)
	}
}

// rejects tells whether a message is an outcome that says no.
func rejects(m schemas.Message) bool {
	s, ok := m.Body.(*schemas.StatusChanged)
	return ok && s.Status == string(schemas.Failed)
}
