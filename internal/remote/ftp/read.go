package ftp

import (
	"context"
	"errors"
	"io"
	"net"
	"path"

	"github.com/jlaffaye/ftp"

	"tributary/internal/remote"
)

// ftpReader is a file on its way.
type ftpReader struct {
	ctx     context.Context
	s       *ftpSession
	resp    *ftp.Response
	path    string
	full    string // path from the server's root on
	size    int64  // of the file, as far as it has come
	release func()
	end     error
}

// Read ends with EOF only after the server has said that the transfer is
// complete: the end of a data connection alone may be the end of the server.
func (r *ftpReader) Read(b []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.resp.Read(b)
	r.size += int64(n)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = r.finish()
		if err == nil {
			r.end = io.EOF
			return n, r.end
		}
	}
	r.end = r.s.fail(r.ctx, "read", r.path, err)
	return n, r.end
}

// After asks for the time alone where Stat would take more than one question: how long
// the file is the server has shown by saying that all of it was sent.
func (r *ftpReader) After(ctx context.Context) *remote.Entry {
	if r.release == nil || !errors.Is(r.end, io.EOF) || !r.s.asksForTime() {
		return nil
	}
	answered, err := r.s.cfg.Asking(ctx)
	if err != nil {
		return nil
	}
	defer answered()
	e := remote.Entry{Name: path.Base(r.full), Size: r.size, Kind: remote.File}
	if err := r.s.modified(r.full, &e); err != nil || e.ModTime.IsZero() {
		return nil
	}
	return &e
}

// finish closes the data connection and reads the reply that ends the transfer,
// once.
func (r *ftpReader) finish() (err error) {
	defer r.s.guard(&err)
	return r.resp.Close()
}

// WriteTo copies with a buffer that saves system calls, the same for all files of the
// session, whose slot the reader has until Close.
func (r *ftpReader) WriteTo(w io.Writer) (int64, error) {
	if r.release == nil {
		return 0, r.end // who has the slot has the buffer
	}
	if r.s.buffer == nil {
		r.s.buffer = make([]byte, remote.CopyBuffer)
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, r.s.buffer)
}

// Close ends the transfer. One that is broken off costs the session when the
// server doesn't answer in time.
func (r *ftpReader) Close() error {
	if r.release == nil {
		return nil
	}
	r.s.control.left = r.end == nil
	if err := r.finish(); err != nil && !replied(err) {
		r.s.lose(err)
	}
	r.release()
	r.release = nil
	if r.end == nil || errors.Is(r.end, io.EOF) {
		r.end = &remote.Error{Op: "read", Path: r.path, Class: remote.Unclassified, Err: net.ErrClosed}
	}
	return nil
}
