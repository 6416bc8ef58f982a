package ftp

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jlaffaye/ftp"

	"tributary/internal/remote"
)

// ftpReader is a file on its way.
type ftpReader struct {
	ctx     context.Context
	s       *ftpSession
	resp    *ftp.Response
	path    string
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
