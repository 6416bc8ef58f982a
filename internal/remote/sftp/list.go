//go:build !wasip1

package sftp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
)

// List streams a directory. The SFTP library collects a whole directory in
// memory, 300 bytes an entry, and shortens names that hold a slash to their last
// element, so listings have an SFTP channel of their own with just the packets
// that they need (draft-ietf-secsh-filexfer-02).
func (s *sftpSession) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	p, err := remote.Join(s.base, dir)
	if err != nil {
		return err
	}
	if err := remote.Acquire(ctx, s.listing); err != nil {
		return wrap("list", dir, err)
	}
	defer func() { <-s.listing }()
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return s.fail("list", dir, err)
	}
	defer answered()
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

// listByLibrary lists where the library has the only channel. It keeps all
// entries until the last has come, so their packets are counted on their way to
// it.
func (s *sftpSession) listByLibrary(ctx context.Context, dir, p string, yield func(remote.Entry) error) error {
	s.conn.Begin()
	s.frames.held.Store(0)
	infos, err := s.client.ReadDirContext(ctx, p)
	s.conn.End()
	for _, info := range infos {
		if err := yield(remote.FileEntry(info, time.Second)); err != nil {
			return err
		}
	}
	return s.fail("list", dir, err)
}

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
	if l.in, l.out, err = startSubsystem(l.ch); err != nil {
		return err
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
func (l *sftpLister) list(ctx context.Context, dir string, yield func(remote.Entry) error) (yieldErr, err error) {
	if err := l.request(fxpOpendir, dir); err != nil {
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
	if closeErr := l.request(fxpClose, handle); closeErr != nil {
		return nil, closeErr
	}
	if _, _, closeErr := l.answer(ctx); closeErr != nil {
		return nil, closeErr
	}
	return nil, err
}

func (l *sftpLister) readAll(ctx context.Context, handle string, yield func(remote.Entry) error) (yieldErr, err error) {
	waiting, ended := 0, false
	size := remote.NewMeter(l.s.limits.Listing)
	var failed error
	for {
		for !ended && waiting < l.inFlight {
			if err := l.request(fxpReaddir, handle); err != nil {
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
		if err := size.Add(len(body)); err != nil {
			return nil, err
		}
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

// request sends a packet with one string.
func (l *sftpLister) request(kind byte, arg string) error {
	l.id++
	b := binary.BigEndian.AppendUint32(nil, l.id)
	b = binary.BigEndian.AppendUint32(b, uint32(len(arg)))
	return l.send(kind, append(b, arg...))
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
	p, err := call(ctx, l.s, l.s.idle, func() ([]byte, error) { return readFrame(l.out, l.buf) }, nil)
	if err != nil {
		return 0, nil, err
	}
	l.buf = p
	return p[4], p[5:], nil
}
