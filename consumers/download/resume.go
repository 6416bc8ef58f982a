package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"tributary/internal/blob"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

// errFromScratch says that what was fetched before is not the beginning of the
// file, or that the server doesn't go on behind it.
var errFromScratch = errors.New("the file has to be fetched from its beginning")

// begun is a blob on its way: a new one, or one that goes on where the transfer
// before was cut.
type begun struct {
	blob.Writer
	from    int64 // bytes that are there already
	tail    []byte
	version string // of the bytes, as the server names it
	idle    int    // attempts in a row that brought nothing
	heads   remote.Heads
	whose   *remote.Entry // what the bytes are of; nil: that is not known
	after   *remote.Entry // the file when all had come; nil: that is not known
}

// arrived is how many bytes came in this attempt.
func (b *begun) arrived() int64 { return b.Ref().Size - b.from }

// kept is under which key the beginning of a file is kept.
func (r *run) kept(f schemas.RequestFile) string { return r.job.Source + "\x00" + f.Path }

// begin begins the blob of a file that was listed as before.
func (r *run) begin(ctx context.Context, f schemas.RequestFile, before remote.Entry, scratch bool) (*begun, error) {
	if !scratch {
		b, err := r.takeUp(ctx, f, before)
		if b != nil || err != nil {
			return b, err
		}
	}
	w, err := r.d.deps.Blobs.Create(ctx)
	if err != nil {
		return nil, stage.Transient(err)
	}
	return &begun{Writer: w}, nil
}

// takeUp is what came of the file before; nil if nothing did, or if it need not be
// the file's beginning any more.
func (r *run) takeUp(ctx context.Context, f schemas.RequestFile, before remote.Entry) (*begun, error) {
	if _, ok := r.session.(remote.Resumer); !ok || before.Size < blob.LeastPartial {
		return nil, nil
	}
	w, p, err := r.d.deps.Partials.Resume(ctx, r.kept(f), r.in.Progress)
	if ctx.Err() == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.d.deps.Log.Warn("what came of a file before can't be read; it is fetched from its beginning", "source", r.job.Source, "file", f.Path, "error", err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // it is fetched from its beginning
	}
	b := &begun{Writer: w, from: p.Bytes, tail: p.Tail, version: p.Version, idle: p.Idle}
	why := r.unproven(ctx, f, before, p)
	if why == "" {
		return b, nil
	}
	r.d.deps.Log.Info("a file is fetched from its beginning", "source", r.job.Source, "file", f.Path, "kept", p.Bytes, "why", why)
	if err := w.Abort(); err != nil {
		return nil, stage.Transient(err)
	}
	return nil, nil
}

// unproven says why what is kept need not be the file's beginning; empty: nothing
// speaks against it. Where the server names versions it is asked for that one;
// where it doesn't, it must show the file as it did before, to the second.
func (r *run) unproven(ctx context.Context, f schemas.RequestFile, before remote.Entry, p blob.Partial) string {
	switch {
	case p.Size != before.Size || !sameSecond(p.ModTime, before.ModTime):
		return "another version of it is listed now"
	case p.Bytes > before.Size:
		return "more of it is kept than the file has"
	case p.Version != "":
		return ""
	case p.ModTime.IsZero():
		return "the server shows no time of it"
	}
	now, err := r.stat(ctx, f.Path)
	if err != nil {
		return err.Error()
	}
	if now.Size != before.Size || !sameSecond(now.ModTime, before.ModTime) {
		return "the server shows it otherwise than when it was listed"
	}
	return ""
}

func sameSecond(a, b time.Time) bool {
	return a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// maxIdle is how many attempts in a row may bring nothing before the file is fetched
// from its beginning, in case that it is the resuming which doesn't work. It is fixed:
// attempts are few.
const maxIdle = 3

// keep keeps what came of a file, whose transfer the cause has cut, for the next
// attempt, if that may go on behind it.
func (r *run) keep(f schemas.RequestFile, before remote.Entry, b *begun, cause error) {
	if b.idle++; b.arrived() > 0 {
		b.idle = 0
	}
	_, able := r.session.(remote.Resumer)
	gone := remote.ClassOf(cause) == remote.NotExist || remote.ClassOf(cause) == remote.Permission
	if !able || gone || before.Size < b.Ref().Size || b.idle >= maxIdle || b.version == "" && before.ModTime.IsZero() {
		return
	}
	about := blob.Partial{Size: before.Size, ModTime: before.ModTime, Version: b.version, Idle: b.idle}
	if err := r.d.deps.Partials.Keep(r.kept(f), b.Writer, about); err != nil {
		r.d.deps.Log.Warn("what came of a file can't be kept; it is fetched from its beginning", "source", r.job.Source, "file", f.Path, "error", err)
	}
}

// reserve keeps room for what is still to come of a file. What is kept of others
// makes way: then a file that would have no room by itself may have it next time.
func (r *run) reserve(size int64, b *begun) (*blob.Reservation, error) {
	if size >= 0 {
		size -= b.from
	}
	room, err := r.d.deps.Space.Reserve(r.job.Server, size)
	if !errors.Is(err, blob.ErrNoRoom) {
		return room, err
	}
	dropped, derr := r.d.deps.Partials.Drop()
	if derr != nil {
		return nil, derr
	}
	if dropped {
		return nil, fmt.Errorf("%w, for which what came of other files is thrown away: %w", blob.ErrNoRoom, err)
	}
	return nil, err
}

// openFrom opens a file where its blob goes on: a little before the end of what is
// there, which is compared.
func (r *run) openFrom(ctx context.Context, cancel context.CancelCauseFunc, path string, size int64, b *begun) (io.ReadCloser, error) {
	body, err := r.open(ctx, cancel, func(ctx context.Context) (io.ReadCloser, error) {
		if b.from == 0 {
			return r.session.Open(ctx, path, size)
		}
		s, ok := r.session.(remote.Resumer)
		if !ok {
			return nil, errFromScratch
		}
		return s.OpenAt(ctx, path, b.from-int64(len(b.tail)), b.version)
	})
	if b.heads = remote.HeadsOfError(err); err == nil {
		b.heads, b.whose = remote.HeadsOf(body), remote.Whose(body)
	}
	switch {
	case errors.Is(err, remote.ErrNotResumed):
		return nil, fmt.Errorf("%w: %w", errFromScratch, err)
	case err == nil && b.from == 0:
		b.version = remote.Version(body)
	}
	return body, err
}

// repeated takes the bytes that the server sends once more from b, and returns the
// rest, which is new.
func (p *progressWriter) repeated(b []byte) ([]byte, error) {
	n := min(len(b), len(p.tail))
	if !bytes.Equal(b[:n], p.tail[:n]) {
		return nil, fmt.Errorf("%w: its bytes are others than before", errFromScratch)
	}
	p.tail = p.tail[n:]
	return b[n:], nil
}

// transfer tells people how an attempt's bytes came.
func (r result) transfer() schemas.Transfer {
	return schemas.Transfer{From: r.from, Received: r.arrived, Request: r.heads.Request, Response: r.heads.Response}
}
