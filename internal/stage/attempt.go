package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
)

// Results of an attempt, as the metric names them.
const (
	resultDone        = "done"
	resultRetried     = "retried"
	resultQuarantined = "quarantined"
	resultDropped     = "dropped"
)

var errStalled = errors.New("no progress for too long")

// try makes one attempt, and sets the record aside if it was one too many. It
// returns the result, and the pause before the next attempt if there is one.
func (r *Runner) try(l lane, it *item) (result string, pause time.Duration) {
	h := &it.history
	if err := r.crashed(it); err != nil {
		h.attempts = it.p.found.Alone
		return r.bury(it, ClassCrashed, err)
	}
	h.attempts++
	if it.bad != nil {
		return r.bury(it, ClassUndecodable, it.bad)
	}
	start := time.Now()
	err := r.attempt(l, it)
	r.metrics.Seconds.WithLabelValues(r.cfg.Name).Observe(time.Since(start).Seconds())
	switch {
	case err == nil:
		r.writing.Over()
		return resultDone, 0
	case it.ctx.Err() != nil:
		return resultDropped, 0
	case kafka.Denied(err):
		r.writing.Is(err)
	}
	r.metrics.Errors.WithLabelValues(r.cfg.Name, kindOf(err)).Inc()
	class := h.note(err, r.cfg)
	if class != "" {
		return r.bury(it, class, err)
	}
	pause = r.cfg.pauses().Jittered(h.attempts)
	r.warn("work failed; trying again", err, "topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset,
		"attempt", h.attempts, "pause", pause)
	return resultRetried, pause
}

// note records a failure and returns the class of poison that it makes of the
// record, or none.
func (h *history) note(err error, cfg Config) string {
	h.last = cfg.Now()
	if h.first.IsZero() {
		h.first = h.last
	}
	if words := err.Error(); words == h.words {
		h.repeated++
	} else {
		h.words, h.repeated = words, 1
	}
	var p *panicked
	switch {
	case refusedForGood(err):
		return ClassRefused
	case errors.As(err, &p) || errors.Is(err, errStalled):
		h.strikes++
		if h.strikes < cfg.MaxStrikes {
			return ""
		}
		if p != nil {
			return ClassPanic
		}
		return ClassStalled
	case isTransient(err):
		h.repeated = 0
	case h.repeated >= cfg.MaxFailures:
		return ClassFailed
	}
	return ""
}

// attempt runs the work once, under the watchdog, and waits until all that it
// produced is acknowledged.
func (r *Runner) attempt(l lane, it *item) error {
	ctx, cancel := context.WithCancelCause(it.ctx)
	defer cancel(nil)
	dog := watch(r.cfg.Stall, func() { cancel(errStalled) })
	defer dog.stop()
	out := r.newOutput(it, dog)
	defer out.close()
	in := Input{Message: it.msg, Record: it.rec, Progress: dog.progress, Emit: out.emit, EmitAcknowledged: out.emitAcknowledged, Tell: out.tell,
		Detach: func() (<-chan struct{}, bool) { return r.detach(l, it, out) }}

	result := make(chan error, 1)
	go func() { result <- protect(func() error { return r.stage.Work(ctx, in) }) }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = r.await(result, it)
	}
	if err != nil && errors.Is(context.Cause(ctx), errStalled) && it.ctx.Err() == nil {
		return fmt.Errorf("%w (%v)", errStalled, r.cfg.Stall)
	}
	if err != nil {
		return err
	}
	dog.stop()
	r.worked(it)
	crashpoint.At(r.cfg.Name, "worked")
	err = out.wait(it.ctx)
	crashpoint.At(r.cfg.Name, "settled")
	return err
}

// await gives cancelled work some time to end, then leaves it behind.
func (r *Runner) await(result <-chan error, it *item) error {
	timer := time.NewTimer(r.endTimeout())
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
	}
	abandoned := r.metrics.Abandoned.WithLabelValues(r.cfg.Name)
	abandoned.Inc()
	r.abandoned.Add(1)
	go func() {
		<-result //nolint:errcheck // whatever it says comes too late
		abandoned.Dec()
		r.abandoned.Add(-1)
	}()
	r.log.Error("work does not end when told to; leaving it behind",
		"topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset)
	return errStalled
}

// panicked is what a panic is turned into.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// protect turns a panic of f into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

// kindOf is the kind of an attempt's error.
func kindOf(err error) string {
	var p *panicked
	switch {
	case errors.As(err, &p):
		return member.KindPanic
	case errors.Is(err, errStalled):
		return member.KindStalled
	case isTransient(err):
		return member.KindTransient
	}
	return member.KindFailed
}
