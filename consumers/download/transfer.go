package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tributary/internal/blob"
	"tributary/internal/deadline"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

// transfer streams a file into a blob. rerr is the source's error, err our own.
func (r *run) transfer(file context.Context, f schemas.RequestFile, size int64, w *begun, room *blob.Reservation) (rerr, err error) {
	ctx, cancel := context.WithCancelCause(file)
	defer cancel(nil)
	body, rerr := r.openFrom(ctx, cancel, f.Path, size, w)
	if rerr != nil {
		return rerr, nil
	}
	sink := &progressWriter{ctx: ctx, w: w, run: r, left: int64(r.d.cfg.MaxFileSize), tooMany: errTooLarge, room: room, tail: w.tail, progress: r.progressOf(f, w.from)}
	defer sink.progress.end()
	if size >= 0 && size < sink.left {
		sink.left, sink.tooMany = size, errLonger
	}
	sink.left -= w.from
	stop := watchRate(&r.came, r.throttled.elapsed, int64(r.d.cfg.MinRate), r.d.cfg.RateGrace.D(), func(brought int64) {
		cancel(fmt.Errorf("%w: %d bytes came over this connection in %v, fewer than download.min_rate asks for", errTooSlow, brought, r.d.cfg.RateGrace.D()))
	})
	defer stop()
	_, cerr := io.Copy(sink, body)
	if cerr == nil && w.whose == nil {
		w.after = remote.After(ctx, body)
	}
	cerr = errors.Join(cerr, body.Close())
	// The store ends with the file's context, which may tell of its end before
	// those that were made of it do.
	if errors.Is(sink.err, errFromScratch) {
		return sink.err, nil
	}
	if err := because(file, because(ctx, sink.err)); err != nil && err == sink.err { //nolint:errorlint // because returns that very error, or the cause
		return nil, stage.Transient(err)
	}
	return because(file, because(ctx, cerr)), nil
}

// open waits no longer for a file to be opened than download.idle_timeout.
// The context bounds the reading too; cancel is its.
func (r *run) open(ctx context.Context, cancel context.CancelCauseFunc, do func(context.Context) (io.ReadCloser, error)) (io.ReadCloser, error) {
	opening, stop := deadline.Watch(ctx, r.d.cfg.IdleTimeout.D(), func() { cancel(errNoAnswer) })
	body, err := do(opening)
	if !stop() && err == nil {
		err = body.Close() // it came too late to be read
		err = errors.Join(errNoAnswer, err)
	}
	if err != nil {
		return nil, because(ctx, err)
	}
	return body, nil
}

// stat describes a file, within download.idle_timeout.
func (r *run) stat(ctx context.Context, path string) (remote.Entry, error) {
	ctx, cancel := deadline.After(ctx, r.d.cfg.IdleTimeout.D(), errNoAnswer)
	defer cancel()
	e, err := r.session.Stat(ctx, path)
	return e, because(ctx, err)
}

// read reads the beginning of a small file, within download.idle_timeout.
func (r *run) read(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := deadline.After(ctx, r.d.cfg.IdleTimeout.D(), errNoAnswer)
	defer cancel()
	body, err := r.session.Open(ctx, path, maxChecksum)
	if err != nil {
		return nil, because(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(body, maxChecksum))
	return text, because(ctx, errors.Join(err, body.Close()))
}

// because is err, or why its context ended, if it was ended by us.
func because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || !errors.Is(cause, errNoAnswer) && !errors.Is(cause, errTooSlow) && !errors.Is(cause, errGivenBack) {
		return err
	}
	return cause
}

// failure is the result of what the server did, or of what we ended.
func failure(ctx context.Context, phase schemas.Phase, err error) (res result, lost bool) {
	if res, ended := cut(ctx); ended {
		return res, true
	}
	if errors.Is(err, errTooSlow) {
		return failed(phase, tooSlow, err.Error()), true
	}
	res = failed(phase, remote.Exception(err), err.Error())
	res.after = remote.RetryAfter(err)
	return res, remote.SessionLost(err)
}

// cut is the result of a file whose context was ended by us, if it was.
func cut(ctx context.Context) (res result, ended bool) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errGivenBack):
		return result{kind: schemas.NotTried, exception: schemas.NotTried, message: cause.Error()}, true
	case errors.Is(cause, errTooSlow):
		return failed(schemas.Download, tooSlow, cause.Error()), true
	}
	return result{}, false
}

// withoutRoom is the result of a file that has no room: a failure if it has none
// by itself; else others have it, and it is tried again, which costs no attempt.
func withoutRoom(err error) result {
	if errors.Is(err, blob.ErrOutsized) {
		return failed(schemas.Download, schemas.NoRoom, err.Error())
	}
	return result{kind: schemas.NotTried, exception: schemas.NoRoom, message: err.Error()}
}

// progressWriter tells the watchdog of every write, and remembers an error of
// the store so that it is not taken for one of the source.
type progressWriter struct {
	ctx     context.Context // of the transfer
	w       io.Writer
	run     *run
	left    int64 // bytes that may still come
	tooMany error // when more do
	room    *blob.Reservation
	tail    []byte // what comes first, once more
	err     error

	progress *progress
}

func (p *progressWriter) Write(b []byte) (int, error) {
	again := len(b)
	if b, p.err = p.repeated(b); p.err != nil {
		return 0, p.err
	}
	again -= len(b)
	n, err := p.write(b)
	p.run.came.Add(int64(again + n))
	p.progress.came(again, n)
	if err == nil {
		p.err = p.run.throttle(p.ctx, again+n)
		err = p.err
	}
	return again + n, err
}

// throttle waits as long as more bytes came than may have. That is no slowness of the
// server's.
func (r *run) throttle(ctx context.Context, n int) error {
	defer r.throttled.begin()()
	return r.gate.Took(ctx, int64(n), func(time.Duration) { r.in.Progress() })
}

// write writes what is new.
func (p *progressWriter) write(b []byte) (int, error) {
	if p.left -= int64(len(b)); p.left < 0 {
		p.err = p.tooMany
		return 0, p.err
	}
	if p.err = p.run.d.deps.Space.Low(); p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(b)
	if err == nil {
		err = p.room.Wrote(n)
	}
	p.err = err
	p.run.in.Progress()
	return n, err
}
