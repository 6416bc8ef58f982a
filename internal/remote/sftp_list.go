package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// List streams a directory. The SFTP library collects a whole directory in
// memory, 600 bytes an entry, and shortens names that hold a slash to their last
// element, so listings have an SFTP channel of their own with just the packets
// that they need (draft-ietf-secsh-filexfer-02).
func (s *sftpSession) List(ctx context.Context, dir string, yield func(Entry) error) error {
	p, err := join(s.base, dir)
	if err != nil {
		return err
	}
	if err := acquire(ctx, s.listing); err != nil {
		return wrap("list", dir, err)
	}
	defer func() { <-s.listing }()
	if s.lister == nil {
		l, err := openLister(ctx, s)
		var refused *ssh.OpenChannelError
		if errors.As(err, &refused) {
			// A server that allows one channel only: the library's it is.
			return s.listByLibrary(ctx, dir, p, yield)
		}
		if err != nil {
			return s.fail("list", dir, err)
		}
		s.lister = l
	}
	l := s.lister
	yieldErr, err := l.list(ctx, p, yield)
	if yieldErr != nil || err != nil && !errors.Is(err, errStatus) {
		// Answers may still be on their way; a new channel has none.
		l.hangUp()
		s.lister = nil
	}
	switch {
	case yieldErr != nil:
		return yieldErr
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return s.fail("list", dir, err)
}

func (s *sftpSession) listByLibrary(ctx context.Context, dir, p string, yield func(Entry) error) error {
	s.conn.begin()
	infos, err := s.client.ReadDirContext(ctx, p)
	s.conn.end()
	for _, info := range infos {
		if err := yield(infoEntry(info, time.Second)); err != nil {
			return err
		}
	}
	return s.fail("list", dir, err)
}

// The packets and flags of SFTP version 3 that a listing needs.
const (
	fxpInit, fxpVersion               = 1, 2
	fxpClose, fxpOpendir, fxpReaddir  = 4, 11, 12
	fxpStatus, fxpHandle, fxpName     = 101, 102, 104
	statusOK, statusEOF               = 0, 1
	statusNoSuchFile, statusForbidden = 2, 3
	attrSize, attrOwner, attrMode     = 1, 2, 4
	attrTimes, attrExtended           = 8, 1 << 31
)

// maxReply bounds one packet; OpenSSH never sends more than 256 KB.
const maxReply = 1 << 20

// errStatus marks errors that the server reported in good order, after which
// the channel is as usable as before.
var errStatus = errors.New("server reports")

// sftpLister is an SFTP channel for listings.
type sftpLister struct {
	s   *sftpSession
	ch  *ssh.Session
	in  io.WriteCloser
	out io.Reader
	// inFlight is how many requests for the next names are sent at once. A
	// server that answers requests in parallel could skip names, so it is more
	// than one only where the server is known to take one after the other.
	inFlight int
	id       uint32
	buf      []byte
}

func openLister(ctx context.Context, s *sftpSession) (*sftpLister, error) {
	return call(ctx, s, s.idle, func() (*sftpLister, error) {
		ch, err := s.ssh.NewSession()
		if err != nil {
			return nil, err
		}
		l := &sftpLister{s: s, ch: ch, inFlight: 1}
		if s.openSSH {
			l.inFlight = 4
		}
		if err := l.start(ctx); err != nil {
			_ = ch.Close()
			return nil, err
		}
		return l, nil
	}, func(l *sftpLister) { l.hangUp() })
}

func (l *sftpLister) start(ctx context.Context) (err error) {
	if l.in, err = l.ch.StdinPipe(); err != nil {
		return err
	}
	if l.out, err = l.ch.StdoutPipe(); err != nil {
		return err
	}
	if err := l.ch.RequestSubsystem("sftp"); err != nil {
		return fmt.Errorf("server refuses sftp: %w", err)
	}
	if err := l.send(fxpInit, binary.BigEndian.AppendUint32(nil, 3)); err != nil {
		return err
	}
	kind, _, err := l.receive(ctx)
	if err == nil && kind != fxpVersion {
		err = fmt.Errorf("server answers with packet type %d instead of its version", kind)
	}
	return err
}

func (l *sftpLister) hangUp() { _ = l.ch.Close() }

// list keeps apart the error of yield and that of the server.
func (l *sftpLister) list(ctx context.Context, dir string, yield func(Entry) error) (yieldErr, err error) {
	if _, err := l.request(fxpOpendir, dir); err != nil {
		return nil, err
	}
	kind, body, err := l.answer(ctx)
	if err != nil {
		return nil, err
	}
	if kind != fxpHandle {
		return nil, statusError(kind, body)
	}
	handle, _, ok := cutString(body)
	if !ok {
		return nil, errMalformed
	}
	// The buffer is used again.
	handle = strings.Clone(handle)
	yieldErr, err = l.readAll(ctx, handle, yield)
	if yieldErr != nil || err != nil && !errors.Is(err, errStatus) {
		return yieldErr, err
	}
	if _, closeErr := l.request(fxpClose, handle); closeErr != nil {
		return nil, closeErr
	}
	if _, _, closeErr := l.answer(ctx); closeErr != nil {
		return nil, closeErr
	}
	return nil, err
}

func (l *sftpLister) readAll(ctx context.Context, handle string, yield func(Entry) error) (yieldErr, err error) {
	waiting, ended := 0, false
	var failed error
	for {
		for !ended && waiting < l.inFlight {
			if _, err := l.request(fxpReaddir, handle); err != nil {
				return nil, err
			}
			waiting++
		}
		if waiting == 0 {
			return nil, failed
		}
		kind, body, err := l.answer(ctx)
		if err != nil {
			return nil, err
		}
		waiting--
		if kind != fxpName {
			ended = true
			if err := statusError(kind, body); !errors.Is(err, io.EOF) && failed == nil {
				failed = err
			}
			continue
		}
		if yieldErr, err := eachName(body, yield); yieldErr != nil || err != nil {
			return yieldErr, err
		}
	}
}

var errMalformed = errors.New("server sent a malformed packet")

// eachName yields the entries of one NAME packet.
func eachName(body []byte, yield func(Entry) error) (yieldErr, err error) {
	if len(body) < 4 {
		return nil, errMalformed
	}
	count := binary.BigEndian.Uint32(body)
	body = body[4:]
	for range count {
		var name, long string
		var ok bool
		if name, body, ok = cutString(body); !ok {
			return nil, errMalformed
		}
		if long, body, ok = cutString(body); !ok {
			return nil, errMalformed
		}
		e := Entry{Name: name, Size: -1, Precision: time.Second, Kind: Other}
		if body, ok = cutAttributes(body, long, &e); !ok {
			return nil, errMalformed
		}
		if name == "." || name == ".." {
			continue
		}
		if !safeName(name) || e.Kind == File && e.Size < 0 {
			e.Kind = Other
		}
		if err := yield(e); err != nil {
			return err, nil
		}
	}
	return nil, nil
}

func cutString(b []byte) (string, []byte, bool) {
	if len(b) < 4 {
		return "", nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return "", nil, false
	}
	return string(b[4 : 4+n]), b[4+n:], true
}

// cutAttributes reads a file's attributes. The kind of a file whose mode the
// server keeps to itself is read from the first letter of its line as ls would
// print it.
func cutAttributes(b []byte, long string, e *Entry) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	flags := binary.BigEndian.Uint32(b)
	b = b[4:]
	fixed := 0
	for _, f := range []struct {
		flag uint32
		size int
	}{{attrSize, 8}, {attrOwner, 8}, {attrMode, 4}, {attrTimes, 8}} {
		if flags&f.flag != 0 {
			fixed += f.size
		}
	}
	if len(b) < fixed {
		return nil, false
	}
	if flags&attrSize != 0 {
		if size := binary.BigEndian.Uint64(b); size <= 1<<62 {
			e.Size = int64(size)
		}
		b = b[8:]
	}
	if flags&attrOwner != 0 {
		b = b[8:]
	}
	if flags&attrMode != 0 {
		e.Kind = kindOfMode(binary.BigEndian.Uint32(b))
		b = b[4:]
	} else {
		e.Kind = kindOfLetter(long)
	}
	if flags&attrTimes != 0 {
		if t := binary.BigEndian.Uint32(b[4:]); t != 0 {
			e.ModTime = time.Unix(int64(t), 0).UTC()
		}
		b = b[8:]
	}
	if flags&attrExtended != 0 {
		return cutExtended(b)
	}
	return b, true
}

func cutExtended(b []byte) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range uint64(n) * 2 {
		var ok bool
		if _, b, ok = cutString(b); !ok {
			return nil, false
		}
	}
	return b, true
}

func kindOfMode(mode uint32) Kind {
	switch mode & 0o170000 {
	case 0o100000, 0:
		// Some servers send the permissions alone.
		return File
	case 0o040000:
		return Dir
	}
	return Other
}

func kindOfLetter(long string) Kind {
	if long == "" || long[0] == '-' {
		return File
	}
	if long[0] == 'd' {
		return Dir
	}
	return Other
}

// statusError turns a STATUS packet into an error; EOF is io.EOF.
func statusError(kind byte, body []byte) error {
	if kind != fxpStatus || len(body) < 4 {
		return fmt.Errorf("%w: unexpected packet type %d", errMalformed, kind)
	}
	code := binary.BigEndian.Uint32(body)
	message, _, _ := cutString(body[4:])
	switch code {
	case statusEOF:
		return io.EOF
	case statusNoSuchFile:
		return fmt.Errorf("%w: %w", errStatus, os.ErrNotExist)
	case statusForbidden:
		return fmt.Errorf("%w: %w", errStatus, os.ErrPermission)
	case statusOK:
		return fmt.Errorf("%w: success instead of names", errMalformed)
	}
	return fmt.Errorf("%w: status %d %q", errStatus, code, message)
}

// request sends a packet with one string.
func (l *sftpLister) request(kind byte, arg string) (uint32, error) {
	l.id++
	b := binary.BigEndian.AppendUint32(nil, l.id)
	b = binary.BigEndian.AppendUint32(b, uint32(len(arg)))
	return l.id, l.send(kind, append(b, arg...))
}

func (l *sftpLister) send(kind byte, payload []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)+1))
	_, err := l.in.Write(append(append(b, kind), payload...))
	return err
}

// answer returns the next packet without its id: names come in any order, and
// everything else is asked for alone.
func (l *sftpLister) answer(ctx context.Context) (kind byte, body []byte, err error) {
	kind, body, err = l.receive(ctx)
	if err == nil && len(body) < 4 {
		err = errMalformed
	}
	if err != nil {
		return 0, nil, err
	}
	return kind, body[4:], nil
}

// receive waits for one packet, no longer than the idle time. What it returns
// is valid until the next call; after an error there must be none.
func (l *sftpLister) receive(ctx context.Context) (kind byte, body []byte, err error) {
	p, err := call(ctx, l.s, l.s.idle, l.readPacket, nil)
	return p.kind, p.body, err
}

type packet struct {
	kind byte
	body []byte
}

func (l *sftpLister) readPacket() (packet, error) {
	var head [5]byte
	if _, err := io.ReadFull(l.out, head[:]); err != nil {
		return packet{}, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n < 1 || n > maxReply {
		return packet{}, fmt.Errorf("%w of %d bytes", errMalformed, n)
	}
	if cap(l.buf) < int(n-1) {
		l.buf = make([]byte, n-1)
	}
	l.buf = l.buf[:n-1]
	_, err := io.ReadFull(l.out, l.buf)
	return packet{head[4], l.buf}, err
}
