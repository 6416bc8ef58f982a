//go:build !wasip1

package sftp

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"
)

func (s *sftpSession) openLarge(ctx context.Context, p, full string, offset int64) (io.ReadCloser, error) {
	f, err := call(ctx, s, s.idle, func() (*sftp.File, error) { return s.client.Open(full) },
		func(f *sftp.File) { _ = f.Close() })
	if err != nil {
		return nil, s.fail("open", p, err)
	}
	return &sftpReader{ctx: ctx, s: s, f: f, path: p, off: offset}, nil
}

// sftpReader streams a file. It is for one goroutine, as readers are.
type sftpReader struct {
	ctx  context.Context
	s    *sftpSession
	f    *sftp.File
	path string
	// off is how far the server's file has been read.
	off int64
	// broken is the error that ended reading; an abandoned call may still hold
	// the file, so nothing is tried again.
	broken error
	once   sync.Once
}

// Read reads sequentially, one request at a time.
func (r *sftpReader) Read(b []byte) (int, error) {
	if r.broken != nil {
		return 0, r.broken
	}
	if len(b) == 0 {
		return 0, nil
	}
	// The call may outlive this Read, so it gets a buffer of its own.
	buf := make([]byte, min(int64(len(b)), r.s.packet))
	off := r.off
	n, err := call(r.ctx, r.s, r.s.idle, func() (int, error) {
		n, err := r.f.ReadAt(buf, off)
		if n > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	}, nil)
	r.off += int64(n)
	copy(b, buf[:n])
	if errors.Is(err, io.EOF) {
		return n, io.EOF
	}
	if err != nil {
		r.broken = r.s.fail("read", r.path, err)
		return n, r.broken
	}
	return n, nil
}

// errShortReads says that a server answered a read in the middle of a file with
// less than was asked for, which pipelined reading takes for the end.
var errShortReads = errors.New("short read in the middle of a file")

// WriteTo streams the rest of the file with many requests in flight.
func (r *sftpReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	if r.broken != nil {
		return total, r.broken
	}
	if !r.s.shortReads.Load() {
		n, err := r.pipelined(w)
		total += n
		r.off += n
		if err != nil && !errors.Is(err, errShortReads) {
			return total, err
		}
	}
	// What follows is one read that says EOF, unless the server gives less than
	// it is asked for: then the rest comes here, slowly and whole.
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, r.s.packet))
	return total + n, err
}

// pipelined runs the library's WriteTo, watching its progress.
func (r *sftpReader) pipelined(w io.Writer) (int64, error) {
	g := &guardedWriter{w: w, chunk: int(r.s.packet)}
	g.last.Store(time.Now().UnixNano())
	off := r.off
	r.s.conn.Begin()
	done := make(chan error, 1)
	go func() {
		defer r.s.conn.End()
		if _, err := r.f.Seek(off, io.SeekStart); err != nil {
			done <- err
			return
		}
		_, err := r.f.WriteTo(g)
		done <- err
	}()
	timer := time.NewTimer(r.s.idle)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return r.ended(g, err)
		case <-r.ctx.Done():
			g.abandon()
			r.broken = r.s.fail("read", r.path, r.ctx.Err())
			return g.written(), r.broken
		case <-timer.C:
			since := time.Duration(time.Now().UnixNano() - g.last.Load())
			if since < r.s.idle {
				timer.Reset(r.s.idle - since)
				continue
			}
			g.abandon()
			r.broken = r.s.fail("read", r.path, stalled())
			return g.written(), r.broken
		}
	}
}

func (r *sftpReader) ended(g *guardedWriter, err error) (int64, error) {
	n, short, werr := g.state()
	switch {
	case werr != nil:
		// The destination's trouble, not the server's.
		return n, werr
	case short:
		r.s.shortReads.Store(true)
		return n, errShortReads
	case err != nil:
		r.broken = r.s.fail("read", r.path, err)
		return n, r.broken
	}
	return n, nil
}

// Close closes the server's handle. After a broken read it doesn't wait.
func (r *sftpReader) Close() error {
	r.once.Do(func() {
		if r.broken == nil {
			// The bytes are here, whatever close says.
			_, _ = call(r.ctx, r.s, r.s.idle, func() (struct{}, error) { return struct{}{}, r.f.Close() }, nil)
		} else {
			f := r.f
			go func() { _ = f.Close() }()
			r.broken = errors.New("reader is closed")
		}
		<-r.s.slots
	})
	return nil
}

// guardedWriter stands between the library's WriteTo and the destination. It
// can be cut off, so that an abandoned WriteTo never writes again, and it
// notices the holes that short replies would leave.
type guardedWriter struct {
	chunk int
	last  atomic.Int64

	mu    sync.Mutex
	w     io.Writer
	n     int64
	err   error
	ended bool
	short bool
}

var errAbandoned = errors.New("reading was given up")

// Write passes b on, unless the one before was short: then b lies further back
// in the file than it pretends.
func (g *guardedWriter) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.w == nil {
		return 0, errAbandoned
	}
	if g.ended {
		g.short = true
		return 0, errShortReads
	}
	g.ended = len(b) < g.chunk
	n, err := g.w.Write(b)
	g.n += int64(n)
	g.err = err
	g.last.Store(time.Now().UnixNano())
	return n, err
}

// abandon returns only when no Write is under way; none follows.
func (g *guardedWriter) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.w = nil
}

func (g *guardedWriter) written() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

func (g *guardedWriter) state() (n int64, short bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n, g.short, g.err
}
