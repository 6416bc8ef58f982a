package stage

import (
	"context"
	"time"
)

// bind gives a record the context of its work, which ends with that of its
// partition until the record is detached. It spans the attempts. The caller
// holds the mutex.
func (r *Runner) bind(it *item) {
	if it.ctx != nil {
		return
	}
	if r.cfg.Detached == 0 {
		it.ctx, it.cancel, it.unbind = it.p.ctx, func() {}, func() bool { return false }
		return
	}
	it.ctx, it.cancel = context.WithCancel(r.work)
	it.unbind = context.AfterFunc(it.p.ctx, it.cancel)
}

// detach is Input.Detach for the attempt with the given output. Of detached work
// a key has one at a time; an attempt that was left behind detaches nothing.
func (r *Runner) detach(l lane, it *item, out *output) (stopping <-chan struct{}, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case out.isClosed():
		return nil, false
	case it.detached:
		return r.giveBack, true
	case r.stopping || r.careful() || len(r.detached) >= r.cfg.Detached || r.detached[l.key] != nil || !it.unbind():
		return nil, false
	}
	it.detached = true
	r.detached[l.key] = it
	r.metrics.Detached.WithLabelValues(r.cfg.Name).Inc()
	it.leave() // else who must run alone would wait for it
	r.advance(l, it)
	r.free(it)
	r.dispatch()
	return r.giveBack, true
}

// repeats tells whether a record asks for what detached work does already.
func (r *Runner) repeats(it *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.detached[string(it.rec.Key)]
	if other == nil || other == it {
		return false
	}
	r.log.Debug("a repeat of what is being worked on is dropped", "topic", it.p.topic, "partition", it.p.id, "offset", it.rec.Offset)
	return true
}

// afterDetached decides what follows an attempt at a detached record: it is
// tried again as any other, but not by a process that stops. The caller holds
// the mutex.
func (r *Runner) afterDetached(l lane, it *item, verdict string, pause time.Duration) {
	if verdict == resultRetried && !r.stopping {
		time.AfterFunc(pause, func() { r.againDetached(l, it) })
		return
	}
	r.endDetached(l, it)
}

// againDetached tries a detached record again that has waited long enough.
func (r *Runner) againDetached(l lane, it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		r.endDetached(l, it)
		return
	}
	r.launch(l, it)
}

// endDetached forgets detached work. The caller holds the mutex.
func (r *Runner) endDetached(l lane, it *item) {
	delete(r.detached, l.key)
	r.metrics.Detached.WithLabelValues(r.cfg.Name).Dec()
	it.cancel()
}
