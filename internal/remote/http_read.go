package remote

import (
	"context"
	"errors"
	"io"
	"net"
)

// httpReader is a file on its way.
type httpReader struct {
	ctx  context.Context
	s    *httpSession
	body io.Reader
	path string
	// named is how the server names the bytes.
	named string
	// whose is the version that the bytes are of; nil: that is not known.
	whose *Entry
	heads Heads
	done  func()
	end   error
}

// Version is how the server names the bytes.
func (r *httpReader) Version() string { return r.named }

// Whose is the version that the bytes are of.
func (r *httpReader) Whose() *Entry { return r.whose }

// Read ends with EOF only where the server has sent as much as it said.
func (r *httpReader) Read(b []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
		err = r.s.fail("read", r.path, err)
	}
	r.end = err
	return n, err
}

// WriteTo copies with the session's buffer.
func (r *httpReader) WriteTo(w io.Writer) (int64, error) {
	return r.copy(w, r)
}

// copy copies what the reader brings, by way of from, with a buffer that saves system
// calls, the same for all files of the session.
func (r *httpReader) copy(w io.Writer, from io.Reader) (int64, error) {
	if r.done == nil {
		return 0, r.end // who has the slot has the buffer
	}
	if r.s.buffer == nil {
		r.s.buffer = make([]byte, copyBuffer)
	}
	return io.CopyBuffer(w, struct{ io.Reader }{from}, r.s.buffer)
}

// Close ends the transfer. One that is broken off costs the connection, and the
// next question makes another.
func (r *httpReader) Close() error {
	if r.done == nil {
		return nil
	}
	r.done()
	r.done = nil
	if r.end == nil || errors.Is(r.end, io.EOF) {
		r.end = &Error{Op: "read", Path: r.path, class: Unclassified, Err: net.ErrClosed}
	}
	return nil
}
