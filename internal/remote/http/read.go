package http

import (
	"context"
	"errors"
	"io"
	"net"

	"tributary/internal/remote"
)

// Reader is a file on its way.
type Reader struct {
	ctx  context.Context
	s    *Session
	body io.Reader
	path string
	// named is how the server names the bytes.
	named string
	// whose is the version that the bytes are of; nil: that is not known.
	whose *remote.Entry
	heads remote.Heads
	done  func()
	end   error
}

// Version is how the server names the bytes.
func (r *Reader) Version() string { return r.named }

// Named says how the server names the bytes, where that is not by their head alone.
func (r *Reader) Named(version string) { r.named = version }

// Promise says that the bytes are of one version, whatever takes its place meanwhile.
func (r *Reader) Promise(e remote.Entry) { r.whose = &e }

// Whose is the version that the bytes are of.
func (r *Reader) Whose() *remote.Entry { return r.whose }

// Read ends with EOF only where the server has sent as much as it said.
func (r *Reader) Read(b []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
		err = r.s.Fail("read", r.path, err)
	}
	r.end = err
	return n, err
}

// Fail ends the reading with an error, which it returns as that of reading the file.
func (r *Reader) Fail(err error) error {
	r.end = r.s.Fail("read", r.path, err)
	return r.end
}

// WriteTo copies with the session's buffer.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	return r.Copy(w, r)
}

// Copy copies what the reader brings, by way of from, with a buffer that saves system
// calls, the same for all files of the session.
func (r *Reader) Copy(w io.Writer, from io.Reader) (int64, error) {
	if r.done == nil {
		return 0, r.end // who has the slot has the buffer
	}
	if r.s.buffer == nil {
		r.s.buffer = make([]byte, remote.CopyBuffer)
	}
	return io.CopyBuffer(w, struct{ io.Reader }{from}, r.s.buffer)
}

// Close ends the transfer. One that is broken off costs the connection, and the
// next question makes another.
func (r *Reader) Close() error {
	if r.done == nil {
		return nil
	}
	r.done()
	r.done = nil
	if r.end == nil || errors.Is(r.end, io.EOF) {
		r.end = &remote.Error{Op: "read", Path: r.path, Class: remote.Unclassified, Err: net.ErrClosed}
	}
	return nil
}
