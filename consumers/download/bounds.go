package download

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Why a job ends that would not end by itself. It takes no longer than
// 2·connect_timeout + idle_timeout to connect, job_budget to begin its last file,
// and file_budget for that.

// tooSlow is the exception of a file whose transfer was too slow.
const tooSlow = "too_slow"

var (
	errTooSlow  = errors.New("too slow")
	errFileOver = fmt.Errorf("%w: the file took longer than download.file_budget allows", errTooSlow)
	errJobOver  = errors.New("the time of this connection (download.job_budget) was over before this file was begun")
	// errGivenBack ends what a process that stops cannot finish.
	errGivenBack = errors.New("the member that fetched it was stopped")
	// errNoAnswer ends an operation whose answer takes too long, in all.
	errNoAnswer = fmt.Errorf("the server did not answer within download.idle_timeout: %w", context.DeadlineExceeded)
	// errTooLarge ends a transfer that brings more than is allowed, whatever the
	// listing said.
	errTooLarge = errors.New("the file is larger than download.max_file_size")
	// errLonger ends a transfer that brings more than the server said.
	errLonger = errors.New("the file is longer than the server said")
)

// dialBudget is for connecting and logging in, each step of which is bounded too.
func (d *Downloader) dialBudget() time.Duration {
	return 2*d.cfg.ConnectTimeout.D() + d.cfg.IdleTimeout.D()
}

// samples is how often within its window a rate is looked at.
const samples = 10

// watchRate calls slow once, when fewer bytes came within the last window than a
// rate of least bytes a second makes, first when a whole window has passed. So
// what bounds a transfer is an average over a time that slides along with it.
// came counts the bytes of all transfers of a connection: a slow line is not
// slower for being shared. excused is for how long they were held up so far by what is
// not the server's, which the rate leaves out. stop ends the watch.
func watchRate(came *atomic.Int64, excused func() time.Duration, least int64, window time.Duration, slow func(brought int64)) (stop func()) {
	type sample struct {
		came    int64
		excused time.Duration
	}
	var mu sync.Mutex
	stopped := false
	before := []sample{{came.Load(), excused()}} // one for each step, of the last window
	var timer *time.Timer
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		now := sample{came.Load(), excused()}
		if before = append(before, now); len(before) > samples {
			brought, counts := now.came-before[0].came, window-(now.excused-before[0].excused)
			if float64(brought) < float64(least)*counts.Seconds() {
				slow(brought)
				return
			}
			before = before[1:]
		}
		timer.Reset(window / samples)
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(window/samples, look)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// Of detaching a job from its partition.
const (
	// detachAgain is the pause after a job could not be detached.
	detachAgain = time.Second
	// mostDeaths is how many members may have died with a session of a job before
	// it is no longer detached: in its partition deaths are counted, and a record
	// that kills is set aside.
	mostDeaths = 1
)

// detachWhenLong lets the partition of a job that takes long go on without it,
// and gives back what is not done of it when the process stops.
func (r *run) detachWhenLong(ctx context.Context, giveBack context.CancelCauseFunc) {
	if r.in.Detach == nil {
		return
	}
	timer := time.NewTimer(r.d.cfg.DetachAfter.D())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if stopping, ok := r.detach(ctx); ok {
			select {
			case <-ctx.Done():
			case <-stopping:
				giveBack(errGivenBack)
			}
			return
		}
		timer.Reset(detachAgain)
	}
}

func (r *run) detach(ctx context.Context) (stopping <-chan struct{}, ok bool) {
	if r.d.deps.Deaths != nil {
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		deaths, err := r.d.deps.Deaths(ask, r.job.Job)
		cancel()
		if err != nil || deaths > mostDeaths {
			return nil, false
		}
	}
	return r.in.Detach()
}

// waits remembers since when jobs wait for another member, no more than maxEnded.
type waits struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// tooLong tells whether a job has waited for another member for longer than that
// could have kept its session without being alive: then that works on it, and if
// it dies, control requests the job again.
func (w *waits) tooLong(job string, limit time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok := w.since[job]
	switch {
	case limit <= 0:
		return false
	case ok && time.Since(since) > limit:
		delete(w.since, job)
		return true
	case !ok && (w.since == nil || len(w.since) >= maxEnded):
		w.since = map[string]time.Time{}
	}
	if !ok {
		w.since[job] = time.Now()
	}
	return false
}

func (w *waits) forget(job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, job)
}
