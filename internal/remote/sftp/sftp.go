//go:build !wasip1

package sftp

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
)

const (
	// sftpConcurrency: the big win over one file after the other is eight in
	// flight; more gained nothing on the measured servers.
	sftpConcurrency = 8
	// requestsPerFile: 64 gained nothing over 16 and cost 115 MB.
	requestsPerFile = 16
	// safePacket is what every SFTP server must take.
	safePacket = 32 << 10
	// largePacket is a fifth faster on large files, with servers that are known
	// to send so much.
	largePacket = 128 << 10
	// slowest is the rate, in bytes per second, below which a small file counts
	// as stalled.
	slowest = 1 << 10
)

// sftpSession is one SSH connection with one SFTP channel.
type sftpSession struct {
	client *sftp.Client
	// frames are the packets that client reads.
	frames *frameReader
	ssh    *ssh.Client
	conn   *remote.IdleConn
	base   string
	idle   time.Duration
	limits remote.Limits
	cfg    remote.Config
	packet int64
	slots  chan struct{}
	// piece is how much of a large file is asked for at once: less than packet where
	// the server was seen to give less.
	piece atomic.Int64
	// openSSH is set when the server says that it is OpenSSH.
	openSSH bool
	// listing is held by whoever lists; lister is the channel for it.
	listing chan struct{}
	lister  *sftpLister

	// lost is closed when the connection has ended.
	lost chan struct{}

	closeOnce sync.Once
	closeErr  error
}

func dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (remote.Session, error) {
	answered, err := c.Asking(ctx)
	if err != nil {
		return nil, wrap("connect", t.Server(), err)
	}
	defer answered()
	sc, conn, err := dialSSH(ctx, c, t, step)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		// Why it ended is told by whatever was under way.
		_ = sc.Wait()
	}()
	openSSH := strings.HasPrefix(string(sc.ServerVersion()), "SSH-2.0-OpenSSH_")
	packet := safePacket
	if openSSH {
		packet = largePacket
	}
	frames, client, err := openClient(sc, packet, lost)
	if err != nil {
		_ = sc.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, wrap("start sftp on", t.Server(), err)
	}
	step("login", "user "+t.User)
	s := &sftpSession{
		client: client, frames: frames, ssh: sc, conn: conn, idle: c.IdleTimeout, limits: c.Limits, cfg: c, packet: int64(packet),
		base: t.Base, slots: make(chan struct{}, sftpConcurrency),
		openSSH: openSSH, listing: make(chan struct{}, 1), lost: lost,
	}
	s.piece.Store(s.packet)
	if home, ok := strings.CutPrefix(t.Base+"/", "/~/"); ok {
		// A path without a leading slash is below the login directory.
		s.base = path.Clean("./" + home)
	}
	return s, nil
}

// openClient starts the library on a channel of its own, whose packets pass
// through our hands. The library waits for ever for a channel that it asked for
// at the very moment in which the connection ended (golang.org/x/crypto/ssh
// enters a channel that nobody ends any more), so openClient waits for the
// connection's end too and leaves that wait behind.
func openClient(sc *ssh.Client, packet int, lost <-chan struct{}) (*frameReader, *sftp.Client, error) {
	type result struct {
		frames *frameReader
		client *sftp.Client
		err    error
	}
	done := make(chan result, 1)
	go func() {
		frames, client, err := startClient(sc, packet)
		done <- result{frames, client, err}
	}()
	select {
	case r := <-done:
		return r.frames, r.client, r.err
	case <-lost:
	}
	// What was said before the end counts, such as why a channel is refused.
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.frames, r.client, r.err
	case <-timer.C:
		return nil, nil, sftp.ErrSSHFxConnectionLost
	}
}

// lastWords is how long it takes at most, on a busy machine too, until what was
// read before a connection's end has come through the library.
const lastWords = time.Second

func startClient(sc *ssh.Client, packet int) (*frameReader, *sftp.Client, error) {
	ch, err := sc.NewSession()
	if err != nil {
		return nil, nil, err
	}
	in, out, err := startSubsystem(ch)
	if err != nil {
		return nil, nil, err
	}
	frames := &frameReader{r: out, own: requests{out: in}}
	client, err := sftp.NewClientPipe(frames, &frames.own,
		sftp.MaxPacketUnchecked(packet), sftp.MaxConcurrentRequestsPerFile(requestsPerFile), sftp.UseFstat(true))
	return frames, client, err
}

// startSubsystem starts SFTP on a channel. What the server says beside it is
// read and dropped.
func startSubsystem(ch *ssh.Session) (in io.WriteCloser, out io.Reader, err error) {
	if in, err = ch.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = ch.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	beside, err := ch.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := ch.RequestSubsystem("sftp"); err != nil {
		return nil, nil, fmt.Errorf("server refuses sftp: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, beside) }()
	return in, out, nil
}

// fail gives an error its class; an expired deadline shows itself only as a
// lost connection, so the connection is asked.
func (s *sftpSession) fail(op, p string, err error) error {
	if err == nil {
		return nil
	}
	if end := s.frames.end.Load(); end != nil && remote.ClassOf(*end) == remote.Protocol && classify(err) == remote.Connection {
		return wrap(op, p, *end)
	}
	if s.conn.Expired() && classify(err) == remote.Connection {
		return &remote.Error{Op: op, Path: p, Class: remote.Timeout, Err: err}
	}
	return wrap(op, p, err)
}

func (s *sftpSession) Stat(ctx context.Context, p string) (remote.Entry, error) {
	full, err := remote.Join(s.base, p)
	if err != nil {
		return remote.Entry{}, err
	}
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return remote.Entry{}, s.fail("stat", p, err)
	}
	defer answered()
	e, err := call(ctx, s, s.idle, func() (remote.Entry, error) {
		info, err := s.client.Lstat(full)
		if err != nil {
			return remote.Entry{}, err
		}
		return remote.FileEntry(info, time.Second), nil
	}, nil)
	if err != nil {
		return remote.Entry{}, s.fail("stat", p, err)
	}
	e.Name = path.Base(full)
	return e, nil
}

func (s *sftpSession) Concurrency() int { return sftpConcurrency }

// begin takes a slot for a file, and waits until the server may be asked for it.
func (s *sftpSession) begin(ctx context.Context, p string) (answered func(), err error) {
	if err := remote.Acquire(ctx, s.slots); err != nil {
		return nil, wrap("open", p, err)
	}
	if answered, err = s.cfg.Asking(ctx); err != nil {
		<-s.slots
		return nil, wrap("open", p, err)
	}
	return answered, nil
}

func (s *sftpSession) Open(ctx context.Context, p string, sizeHint int64) (io.ReadCloser, error) {
	full, err := remote.Join(s.base, p)
	if err != nil {
		return nil, err
	}
	answered, err := s.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	defer answered()
	var r io.ReadCloser
	if sizeHint >= 0 && sizeHint < s.packet {
		r, err = s.openSmall(ctx, p, full, sizeHint)
	} else {
		r, err = s.openLarge(ctx, p, full, sizeHint, 0)
	}
	if err != nil {
		<-s.slots
		return nil, err
	}
	return r, nil
}

func (s *sftpSession) OpenAt(ctx context.Context, p string, offset int64, _ string) (io.ReadCloser, error) {
	full, err := remote.Join(s.base, p)
	if err != nil {
		return nil, err
	}
	answered, err := s.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	defer answered()
	r, err := s.openLarge(ctx, p, full, -1, offset)
	if err != nil {
		<-s.slots
		return nil, err
	}
	return r, nil
}

// Close says goodbye, and hangs up when the server doesn't answer in time.
func (s *sftpSession) Close() error {
	s.closeOnce.Do(func() {
		hangUp := time.AfterFunc(remote.CloseGrace, func() { _ = s.conn.Close() })
		defer hangUp.Stop()
		// Errors of a goodbye tell nothing that the session's reader doesn't
		// know already.
		_ = s.client.Close()
		if err := s.ssh.Close(); err != nil && classify(err) != remote.Connection {
			s.closeErr = wrap("close", "", err)
		}
	})
	return s.closeErr
}
