package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
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
			o.r.metrics.errors.WithLabelValues(o.r.cfg.Name, kindRejected).Inc()
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

// produce hands a record to the client. The record's life is that of the
// partition, not of the attempt: what was emitted is sent, whatever becomes
// of the work. acks, if not nil, is told.
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
	o.r.client.Produce(o.it.p.ctx, rec, func(rec *kgo.Record, err error) {
		o.acknowledged(rec, err)
		if acks != nil {
			acks <- err
		}
	})
	return nil
}

func (o *output) acknowledged(rec *kgo.Record, err error) {
	if err == nil {
		crashpoint.At(o.r.cfg.Name, "acknowledged", "after")
		o.r.metrics.outputs.WithLabelValues(o.r.cfg.Name, rec.Topic).Inc()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.err == nil {
		o.err, o.failed = fmt.Errorf("produce to %s: %w", rec.Topic, err), rec.Topic
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
	err, topic := o.err, o.failed
	o.mu.Unlock()
	if err != nil && topic != "" {
		kafka.Anew(o.r.client, err, topic)
	}
	return err
}

// close refuses what work left behind might still emit.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
