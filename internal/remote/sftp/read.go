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

// leastPiece is what a server is asked for at once, in bytes, however little it gives.
const leastPiece = 1 << 10

// openLarge opens a file of that size, -1 where it isn't known, to be read from an offset on.
func (s *sftpSession) openLarge(ctx context.Context, p, full string, size, offset int64) (io.ReadCloser, error) {
	handle, err := call(ctx, s, s.idle, func() ([]byte, error) { return s.handle(full) }, func(handle []byte) { s.closeHandle(handle, func() {}) })
	if err != nil {
		return nil, s.fail("open", p, err)
	}
	return &sftpReader{ctx: ctx, s: s, handle: handle, path: p, size: size, off: offset, asked: offset}, nil
}

// handle opens a file, and returns its handle as packets have it.
func (s *sftpSession) handle(full string) ([]byte, error) {
	q := &s.frames.own
	told, answers := awaited()
	_, err := q.Write(q.ask(nil, fxpOpen, told, opening(full)...))
	return opened(<-answers, err)
}

// opening are the arguments of a request that opens a file to be read.
func opening(full string) [][]byte {
	return [][]byte{packed(full), binary.BigEndian.AppendUint32(nil, openToRead), make([]byte, 4)}
}

// opened is the handle that an answer brings.
func opened(a reply, err error) ([]byte, error) {
	if err != nil || a.kind != fxpHandle {
		return nil, refusal(a)
	}
	rest, _ := passString(a.body)
	return a.body[:len(a.body)-len(rest)], nil
}

// closeHandle has the server close a file, and calls closed once it has, or never will.
func (s *sftpSession) closeHandle(handle []byte, closed func()) {
	q := &s.frames.own
	s.conn.Begin()
	packet := q.ask(nil, fxpClose, func(reply) bool {
		s.conn.End()
		closed()
		return false
	}, handle)
	_, _ = q.Write(packet) // where it can't be sent, that is told as an answer
}

// sftpReader streams a file. It is for one goroutine, as readers are.
type sftpReader struct {
	ctx    context.Context
	s      *sftpSession
	handle []byte
	path   string
	// size is how long the file was listed as, -1 where it isn't known; off is how far
	// it was read, and asked how far it was asked for.
	size, off, asked int64
	// pieces are those that are asked for, in the order of the file. The first begins
	// at off.
	pieces []*piece
	// rest is what came and Read has not handed out yet.
	rest bytes.Reader
	// broken is the error that ended reading.
	broken error
	once   sync.Once
}

// piece is a part of a file that is asked for.
type piece struct {
	off  int64
	want int64
	came chan reply
	// gave is how much the server gave of it when it gave less than that.
	gave int64
}

// ask asks for the next pieces, as many as may be on their way, in one packet.
func (r *sftpReader) ask(most int) {
	q := &r.s.frames.own
	var packets []byte
	for len(r.pieces) < most && (len(r.pieces) == 0 || !r.beyond()) {
		p := &piece{off: r.asked, want: r.s.piece.Load()}
		if rest := r.size - r.asked; rest > 0 {
			p.want = min(p.want, rest)
		}
		r.asked += p.want
		r.pieces = append(r.pieces, p)
		packets = r.request(packets, p)
	}
	if len(packets) > 0 {
		_, _ = q.Write(packets) // where they can't be sent, that is told as answers
	}
}

// beyond tells whether more was asked for than the file was listed with. One piece of that
// tells whether it is longer; only then are others asked for.
func (r *sftpReader) beyond() bool { return r.size >= 0 && r.asked > r.size }

func (r *sftpReader) request(packets []byte, p *piece) []byte {
	p.came = make(chan reply, 1)
	span := binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(p.off)) //nolint:gosec // an offset is never negative
	span = binary.BigEndian.AppendUint32(span, uint32(p.want))                //nolint:gosec // less than a packet
	return r.s.frames.own.ask(packets, fxpRead, func(a reply) bool {
		data := a.kind == fxpData
		if !data {
			a.body = bytes.Clone(a.body)
		}
		p.came <- a
		return data
	}, r.handle, span)
}

// next waits for the first piece, and returns what came of it, in the file's order. It is
// the caller's until the frame is given back.
func (r *sftpReader) next() (data []byte, from reply, err error) {
	p := r.pieces[0]
	a, err := r.await(p)
	if err == nil && a.kind != fxpData {
		err = refusal(a)
	}
	if err != nil {
		return nil, a, err
	}
	rest, _ := passString(a.body)
	data = a.body[4 : len(a.body)-len(rest)]
	n := int64(len(data))
	if n == 0 || n > p.want {
		return nil, a, remote.Broken("protocol_error", "it was asked for %d bytes of a file, and answers with %d", p.want, n)
	}
	if p.gave > 0 {
		// It wasn't the end of the file. So much it gives, and is asked for, at once.
		r.s.piece.Store(max(leastPiece, min(r.s.piece.Load(), p.gave)))
	}
	r.off += n
	if n == p.want {
		r.pieces = r.pieces[1:]
		return data, a, nil
	}
	// The end of the file, or less than there is: the rest of the piece tells.
	p.off, p.want, p.gave = p.off+n, p.want-n, n
	_, _ = r.s.frames.own.Write(r.request(nil, p))
	return data, a, nil
}

// await waits for an answer.
func (r *sftpReader) await(p *piece) (reply, error) {
	select {
	case a := <-p.came:
		return a, nil
	default:
	}
	r.s.conn.Begin()
	defer r.s.conn.End()
	timer := time.NewTimer(r.s.idle)
	defer timer.Stop()
	select {
	case a := <-p.came:
		return a, nil
	case <-r.ctx.Done():
		return reply{}, r.ctx.Err()
	case <-timer.C:
		return reply{}, stalled()
	case <-r.s.lost:
		// An answer that came before the end counts.
		select {
		case a := <-p.came:
			return a, nil
		default:
			return reply{}, sftp.ErrSSHFxConnectionLost
		}
	}
}

// end is what is made of an error that ends reading.
func (r *sftpReader) end(err error) error {
	if errors.Is(err, io.EOF) {
		r.broken = io.EOF
	} else {
		r.broken = r.s.fail("read", r.path, err)
	}
	return r.broken
}

// Read reads sequentially, one request at a time.
func (r *sftpReader) Read(b []byte) (int, error) {
	if r.broken != nil || len(b) == 0 {
		return 0, r.broken
	}
	if r.rest.Len() == 0 {
		r.ask(1)
		data, from, err := r.next()
		if err != nil {
			return 0, r.end(err)
		}
		r.rest.Reset(bytes.Clone(data))
		r.s.frames.give(from)
	}
	return r.rest.Read(b)
}

// WriteTo streams the rest of the file with many requests on their way.
func (r *sftpReader) WriteTo(w io.Writer) (total int64, err error) {
	if total, err = r.rest.WriteTo(w); err != nil {
		return total, err
	}
	for r.broken == nil {
		r.ask(requestsPerFile)
		data, from, err := r.next()
		if err != nil {
			_ = r.end(err)
			break
		}
		n, err := w.Write(data)
		r.s.frames.give(from)
		total += int64(n)
		if err != nil {
			return total, err // the destination's trouble, not the server's
		}
	}
	if errors.Is(r.broken, io.EOF) {
		return total, nil
	}
	return total, r.broken
}

// Close closes the server's handle, and waits until it has, so that no more of them are
// open than files. After a broken read it doesn't wait.
func (r *sftpReader) Close() error {
	r.once.Do(func() {
		whole := r.broken == nil || errors.Is(r.broken, io.EOF)
		r.broken = errReaderClosed
		closed := make(chan struct{})
		r.s.closeHandle(r.handle, func() { close(closed) })
		if whole {
			select {
			case <-closed:
			case <-r.ctx.Done():
			}
		}
		<-r.s.slots
	})
	return nil
}

var errReaderClosed = errors.New("reader is closed")
