package stage

import "time"

// dispatch starts work on what is ready, up to the limit. The caller holds
// the mutex.
func (r *Runner) dispatch() {
	limit, careful := r.limit, r.careful()
	if careful {
		limit = 1
	}
	for i := 0; i < len(r.ready) && r.running < limit && !r.stopping; {
		l := r.ready[i]
		queue := r.lanes[l]
		if len(queue) > 0 && l.p.careful && queue[0] != l.p.window[0] {
			i++ // an older record of its partition comes first
			continue
		}
		r.ready = append(r.ready[:i], r.ready[i+1:]...)
		if len(queue) == 0 {
			continue // its partition was given up
		}
		it := queue[0]
		r.bind(it)
		it.slot = true
		r.running++
		r.metrics.InFlight.WithLabelValues(r.cfg.Name).Inc()
		r.launch(l, it)
	}
}

// Parallelism is how many records are worked on at once.
func (r *Runner) Parallelism() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit
}

// SetParallelism changes how many records are worked on at once, 1 at least. What is
// under way beyond the new number is worked on to its end.
func (r *Runner) SetParallelism(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = max(n, 1)
	r.dispatch()
}

// careful says whether records must run one at a time in this process.
func (r *Runner) careful() bool {
	for _, p := range r.partitions {
		if p.careful && len(p.window) > 0 {
			return true
		}
	}
	return false
}

// launch begins an attempt at a record. The caller holds the mutex.
func (r *Runner) launch(l lane, it *item) {
	it.ended = make(chan struct{})
	r.open++
	go r.run(l, it)
}

// run makes one attempt at a record and decides what comes next.
func (r *Runner) run(l lane, it *item) {
	verdict, pause := resultDropped, time.Duration(0)
	switch {
	case r.repeats(it):
		verdict = resultDone
	case r.begin(it):
		verdict, pause = r.try(l, it)
		defer it.leave()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case it.detached:
		r.afterDetached(l, it, verdict, pause)
	case verdict == resultDone || verdict == resultQuarantined:
		r.advance(l, it)
		it.unbind()
		it.cancel()
	case verdict == resultRetried:
		time.AfterFunc(pause, func() { r.again(l) })
	}
	close(it.ended)
	r.open--
	r.free(it)
	r.metrics.Records.WithLabelValues(r.cfg.Name, verdict).Inc()
	r.dispatch()
	r.signalIdle()
}

// worked lets others work while a record waits for its acknowledgements,
// unless it must be alone until all is over.
func (r *Runner) worked(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.careful() {
		r.free(it)
		r.dispatch()
	}
}

// free gives a record's place among those worked on to another.
func (r *Runner) free(it *item) {
	if it.slot {
		it.slot = false
		r.running--
		r.metrics.InFlight.WithLabelValues(r.cfg.Name).Dec()
	}
}

// advance finishes a record and lets the next of its lane follow. It also
// serves partitions just revoked, whose last commit is still to come. The
// caller holds the mutex.
func (r *Runner) advance(l lane, it *item) {
	careful := it.p.careful
	it.p.finish(it)
	select {
	case r.finished <- struct{}{}:
	default:
	}
	if careful {
		// If the next record kills the process, this one must not be blamed.
		r.mu.Unlock()
		r.commitMark(it.p)
		r.mu.Lock()
	}
	r.metrics.LastProgress.WithLabelValues(r.cfg.Name).Set(float64(r.cfg.Now().UnixMilli()) / 1000)
	if r.partitions[it.p.id] != it.p {
		return
	}
	if rest := r.lanes[l][1:]; len(rest) > 0 {
		r.lanes[l] = rest
		r.ready = append(r.ready, l)
	} else {
		delete(r.lanes, l)
	}
	r.regulate(it.p)
}

// again makes a lane ready whose first record has waited long enough.
func (r *Runner) again(l lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.partitions[l.p.id] == l.p {
		r.ready = append(r.ready, l)
		r.dispatch()
	}
}

// signalIdle tells drain that nothing runs any more.
func (r *Runner) signalIdle() {
	if r.stopping && r.open == 0 {
		select {
		case <-r.idle:
		default:
			close(r.idle)
		}
	}
}
