package download

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"tributary/internal/deadline"
	"tributary/internal/remote"
	"tributary/internal/source"
	"tributary/internal/stage"
	"tributary/internal/throttle"
	"tributary/schemas"
)

// run is one job under way.
type run struct {
	d       *Downloader
	in      stage.Input
	job     *schemas.DownloadRequested
	session remote.Session
	// withoutChecksums says that no checksum is asked for.
	withoutChecksums bool
	gate             *throttle.Gate // nil: it is open

	transfers context.Context // of what the server is asked for: also ends when a process that stops has it given back
	came      atomic.Int64    // bytes of all transfers
	throttled stopwatch       // for how long any of them waited since more came than may

	mu        sync.Mutex
	remaining int
	waiting   []outcome      // to be told, no more than files
	busy      bool           // somebody tells them
	telling   sync.WaitGroup // who tells them
	untold    error          // why some could not be told
}

func (r *run) do(ctx context.Context) error {
	src, err := r.d.source(r.job)
	if err != nil {
		return r.all(ctx, "misconfigured", err.Error())
	}
	cfg, err := source.Remote(src, r.d.cfg.ConnectTimeout, r.d.cfg.IdleTimeout, r.d.deps.Limits)
	if err != nil {
		return r.all(ctx, "misconfigured", err.Error())
	}
	if r.d.deps.Gate != nil {
		r.gate = r.d.deps.Gate(src, r.job.Server)
		cfg.Gate = r.gate
		defer r.gate.Close(context.WithoutCancel(ctx))
	}
	dial, cancel := deadline.After(r.transfers, r.d.dialBudget(), errNoAnswer)
	r.session, err = r.d.deps.Dial(dial, cfg)
	err = because(dial, err)
	cancel()
	if ctx.Err() != nil {
		if err == nil {
			return errors.Join(ctx.Err(), r.session.Close())
		}
		return ctx.Err()
	}
	if err != nil && errors.Is(context.Cause(r.transfers), errGivenBack) {
		return r.tell(ctx, r.rest(r.job.Files, errGivenBack.Error()))
	}
	if err != nil {
		res := failed(schemas.Download, remote.Exception(err), err.Error())
		res.after = remote.RetryAfter(err)
		return r.allEnd(ctx, res)
	}
	defer r.session.Close()
	return r.files(ctx)
}

// storing is how many files, beyond those that are being fetched, may be on their way to
// the disk at once: it takes several to their place about as fast as one.
const storing = 4

// files fetches as many files at once as the session is good for. Others come while those
// that have come are stored.
func (r *run) files(ctx context.Context) error {
	next := make(chan schemas.RequestFile)
	lost := make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost) })
	width := max(1, r.session.Concurrency())
	fetching := make(chan struct{}, width)
	var wg sync.WaitGroup
	errs := make([]error, min(width+storing, len(r.job.Files)))
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil {
				fetching <- struct{}{}
				came := sync.OnceFunc(func() { <-fetching })
				f, more := <-next
				if !more {
					came()
					return
				}
				var sessionLost bool
				sessionLost, errs[i] = r.one(ctx, f, came)
				if sessionLost || errs[i] != nil {
					lose()
				}
				came()
			}
		})
	}
	begun, why := r.feed(next, lost)
	close(next)
	wg.Wait()
	r.telling.Wait()
	if err := errors.Join(errors.Join(errs...), r.untold, ctx.Err()); err != nil {
		return err
	}
	return r.tell(ctx, r.rest(r.job.Files[begun:], why))
}

// feed gives files out, and returns how many were begun and why no more.
func (r *run) feed(next chan<- schemas.RequestFile, lost <-chan struct{}) (begun int, why string) {
	const broken = "the connection was lost before this file was begun"
	open, cancel := context.WithTimeoutCause(r.transfers, r.d.cfg.JobBudget.D(), errJobOver)
	defer cancel()
	for _, f := range r.job.Files {
		select {
		case <-lost:
			return begun, broken
		case <-open.Done():
			return begun, context.Cause(open).Error()
		default:
		}
		select {
		case next <- f:
			begun++
		case <-lost:
			return begun, broken
		case <-open.Done():
			return begun, context.Cause(open).Error()
		}
	}
	return begun, ""
}

// rest are the outcomes of files that were not begun.
func (r *run) rest(files []schemas.RequestFile, why string) (out []outcome) {
	for _, f := range files {
		out = append(out, r.outcome(f, result{kind: schemas.NotTried, exception: schemas.NotTried, message: why}))
	}
	return out
}

// all ends every file of the job with the same failure.
func (r *run) all(ctx context.Context, exception, message string) error {
	return r.allEnd(ctx, failed(schemas.Download, exception, message))
}

func (r *run) allEnd(ctx context.Context, res result) error {
	var all []outcome
	for _, f := range r.job.Files {
		all = append(all, r.outcome(f, res))
	}
	return r.tell(ctx, all)
}

// finish tells a file's outcome beside the next file's transfer. Those that end
// while others are being told are told together.
func (r *run) finish(ctx context.Context, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, o)
	if !r.busy {
		r.busy = true
		r.telling.Go(func() { r.tellWaiting(ctx) })
	}
}

// tellWaiting tells outcomes until none is waiting.
func (r *run) tellWaiting(ctx context.Context) {
	for {
		r.mu.Lock()
		some := r.waiting
		r.waiting = nil
		if len(some) == 0 {
			r.busy = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		if err := r.tell(ctx, some); err != nil {
			r.mu.Lock()
			r.untold = errors.Join(r.untold, err)
			r.mu.Unlock()
		}
	}
}

// tell tells the log, and then control. The session is closed before the job's
// last outcome is produced.
func (r *run) tell(ctx context.Context, some []outcome) error {
	var log []schemas.Message
	for _, o := range some {
		log = append(log, o.log...)
	}
	if len(log) > 0 {
		if err := r.in.EmitAcknowledged(ctx, log...); err != nil {
			return err
		}
	}
	for _, o := range some {
		r.mu.Lock()
		r.remaining--
		last := r.remaining == 0
		r.mu.Unlock()
		if last {
			if r.session != nil {
				if err := r.session.Close(); err != nil {
					r.d.deps.Log.Debug("the connection did not close cleanly", "source", r.job.Source, "error", err)
				}
			}
			o.body.Last = true
		}
		if err := r.in.Emit(ctx, o.finished); err != nil {
			return err
		}
		r.d.metrics.ended(r.job.Source, o.body.Result)
	}
	return nil
}
