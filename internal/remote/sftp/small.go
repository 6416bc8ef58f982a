//go:build !wasip1

package sftp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pkg/sftp"

	"tributary/internal/remote"
)

// small is a file of which all has come.
type small struct {
	data []byte
	// from is the answer of whose memory data is a part.
	from reply
	// after is what the server says of it behind the last byte; nil: nothing.
	after *remote.Entry
	// closed is closed when the server has closed it.
	closed chan struct{}
}

// errNotWhole says that one read doesn't tell where the file ends.
var errNotWhole = errors.New("the file is longer than was listed, or comes in parts")

// openSmall reads a file that is shorter than a packet with two questions: it is opened,
// and then read, described and closed by requests that are sent together. One byte more
// is asked for than was listed, so a file that has grown shows itself.
func (s *sftpSession) openSmall(ctx context.Context, p, full string, size int64) (io.ReadCloser, error) {
	limit := s.idle + time.Duration(size/slowest)*time.Second
	got, err := call(ctx, s, limit, func() (small, error) { return s.readSmall(full, size) }, nil)
	if errors.Is(err, errNotWhole) {
		return s.openLarge(ctx, p, full, -1, 0)
	}
	if err != nil {
		return nil, s.fail("open", p, err)
	}
	return &smallReader{Reader: bytes.NewReader(got.data), s: s, of: got}, nil
}

func (s *sftpSession) readSmall(full string, size int64) (small, error) {
	q := &s.frames.own
	handle, err := s.handle(full)
	if err != nil {
		return small{}, err
	}
	got := small{closed: make(chan struct{})}
	s.conn.Begin() // the answer to closing isn't worth waiting for while there is data to work on
	closed := func(reply) bool {
		s.conn.End()
		close(got.closed)
		return false
	}
	bytesOf := make(chan reply, 1)
	read := func(a reply) bool {
		bytesOf <- a
		return true
	}
	described, attributes := awaited()
	span := binary.BigEndian.AppendUint32(make([]byte, 8, 12), uint32(size+1)) //nolint:gosec // less than a packet
	packets := q.ask(q.ask(nil, fxpRead, read, handle, span), fxpFstat, described, handle)
	if s.openSSH { // which takes one request after the other
		packets = q.ask(packets, fxpClose, closed, handle)
	}
	_, err = q.Write(packets)
	data, about := <-bytesOf, <-attributes
	if !s.openSSH {
		_, closeErr := q.Write(q.ask(nil, fxpClose, closed, handle))
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		return small{}, sftp.ErrSSHFxConnectionLost
	}
	if err := got.take(data, about, size); err != nil {
		<-got.closed
		return small{}, err
	}
	return got, nil
}

// awaited returns who is told an answer, and from where it comes then.
func awaited() (told func(reply) bool, answers <-chan reply) {
	came := make(chan reply, 1)
	return func(a reply) bool {
		a.body = bytes.Clone(a.body)
		came <- a
		return false
	}, came
}

// refusal is the error of an answer that doesn't bring what was asked for. A lost
// connection's own error says more, where it is known.
func refusal(a reply) error {
	if a.kind == 0 {
		return sftp.ErrSSHFxConnectionLost
	}
	return statusError(a.kind, a.body)
}

// take takes a file of that size from the answers to reading and to describing it. Where
// the server does not describe it, as some don't, a read that brings as much as was
// listed, and was to bring more, has met the end.
func (f *small) take(data, about reply, size int64) error {
	switch {
	case data.kind == fxpData:
		rest, _ := passString(data.body)
		f.from, f.data = data, data.body[4:len(data.body)-len(rest)]
	case !errors.Is(refusal(data), io.EOF):
		return refusal(data)
	}
	e := remote.Entry{Size: -1, Precision: time.Second}
	if about.kind == fxpAttrs {
		if _, ok := cutAttributes(about.body, "", &e); !ok {
			return errMalformed
		}
	}
	if n := int64(len(f.data)); n != size || e.Size >= 0 && e.Size != n {
		return errNotWhole
	}
	if e.Size == size && !e.ModTime.IsZero() {
		f.after = &e
	}
	return nil
}

// smallReader holds a whole file.
type smallReader struct {
	*bytes.Reader
	s    *sftpSession
	of   small
	once sync.Once
}

// After is what the server said of the file behind its last byte.
func (r *smallReader) After(context.Context) *remote.Entry { return r.of.after }

// Close waits for the server's handle to be closed, so that no more of them
// are open than files.
func (r *smallReader) Close() error {
	r.once.Do(func() {
		<-r.of.closed
		r.Reader = bytes.NewReader(nil)
		if r.of.from.frame != nil {
			r.s.frames.give(r.of.from)
		}
		<-r.s.slots
	})
	return nil
}
