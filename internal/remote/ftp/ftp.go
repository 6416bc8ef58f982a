package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/jlaffaye/ftp"

	"tributary/internal/remote"
)

// ftpSession is one control connection; FTP can do one thing at a time on it.
type ftpSession struct {
	c       *ftp.ServerConn
	control *ftpControl
	base    string
	cfg     remote.Config
	target  remote.Target
	// tls is how data connections are encrypted; nil: they aren't.
	tls *tls.Config
	// slot holds the right to use the control connection, and what is below it.
	slot chan struct{}
	// ctx is that of the call which has the slot; the library's dialling knows
	// no other way to it.
	ctx context.Context
	// buffer is for who has a file on its way.
	buffer []byte
	// listing, when set, gets the next data connection instead of the library.
	listing *ftpListing
	// yielding is set while the caller's code runs inside of the library's.
	yielding bool

	mu sync.Mutex
	// data is the connection of the transfer under way, closed when its context
	// ends.
	data net.Conn
	// lost is what ended the control connection.
	lost error
}

// acquire waits for the control connection and watches ctx while it is used.
// FTP can't take back a command, so a cancelled one costs the session.
func (s *ftpSession) acquire(ctx context.Context) (release func(), err error) {
	if err := remote.Acquire(ctx, s.slot); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost != nil {
		<-s.slot
		return nil, lost
	}
	s.ctx = ctx
	stop := context.AfterFunc(ctx, func() { s.lose(ctx.Err()) })
	return func() {
		stop()
		<-s.slot
	}, nil
}

// lose ends both connections, so that whoever waits for them returns.
func (s *ftpSession) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		s.lost = &remote.Error{Op: "use", Path: s.target.Server(), Class: remote.Connection, Err: fmt.Errorf("session ended: %w", err)}
	}
	_ = s.control.Close()
	if s.data != nil {
		_ = s.data.Close()
	}
}

// fail classifies err and notices when the control connection is gone or out
// of step, after which nothing else can be asked on it. What the control
// connection ended with says more than what the library makes of it.
func (s *ftpSession) fail(ctx context.Context, op, p string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return wrap(op, p, ctx.Err())
	}
	if s.control.err != nil {
		err = s.control.err
	}
	wrapped := wrap(op, p, err)
	switch remote.ClassOf(wrapped) {
	case remote.Connection, remote.Timeout, remote.Protocol:
		s.lose(err)
	}
	return wrapped
}

// guard makes a panic of the library, whatever a server has done to it, an error
// that ends the session. The caller's own panics pass.
func (s *ftpSession) guard(err *error) {
	if s.yielding {
		return
	}
	if p := recover(); p != nil {
		*err = s.control.end(remote.Broken("protocol_error", "the FTP library can't read what it says: %v", p))
	}
}

// replied reports whether err is a server's reply in good order, after which
// the next command can be sent.
func replied(err error) bool {
	var proto *textproto.Error
	return errors.As(err, &proto) && proto.Code != 421
}

// replyText returns what the server has replied to a command whose code the library
// expects, unless err is a refusal or worse. How the library reads that text
// doesn't count: for it a link is a file, and a bad time an error without class.
func (s *ftpSession) replyText(err error) (string, error) {
	if err != nil && (s.control.text == "" || s.control.err != nil || replied(err)) {
		return "", err
	}
	return s.control.text, nil
}

func (s *ftpSession) Stat(ctx context.Context, p string) (remote.Entry, error) {
	full, err := remote.Join(s.base, p)
	if err != nil {
		return remote.Entry{}, err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return remote.Entry{}, wrap("stat", p, err)
	}
	defer release()
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return remote.Entry{}, s.fail(ctx, "stat", p, err)
	}
	defer answered()
	e, err := s.stat(full)
	if err != nil {
		return remote.Entry{}, s.fail(ctx, "stat", p, err)
	}
	e.Name = path.Base(full)
	return e, nil
}

// stat asks by MLST, else by SIZE and MDTM; a path that has neither is a
// directory, or isn't there.
func (s *ftpSession) stat(full string) (e remote.Entry, err error) {
	defer s.guard(&err)
	if s.c.IsTimePreciseInList() {
		_, err := s.c.GetEntry(full)
		text, err := s.replyText(err)
		if err == nil {
			return parseMLST(text)
		}
		var proto *textproto.Error
		if !errors.As(err, &proto) || proto.Code != 500 && proto.Code != 502 {
			return remote.Entry{}, err
		}
	}
	_, err = s.c.FileSize(full)
	text, err := s.replyText(err)
	if err != nil {
		if cdErr := s.c.ChangeDir(full); cdErr == nil {
			return remote.Entry{Size: -1, Kind: remote.Dir}, nil
		}
		return remote.Entry{}, err
	}
	e = remote.Entry{Kind: remote.File}
	setSize(&e, strings.TrimSpace(text))
	if s.c.IsGetTimeSupported() {
		return e, s.modified(full, &e)
	}
	return e, nil
}

// modified asks for a file's time.
func (s *ftpSession) modified(full string, e *remote.Entry) (err error) {
	defer s.guard(&err)
	_, err = s.c.GetTime(full)
	text, err := s.replyText(err)
	if err == nil {
		setTime(e, strings.TrimSpace(text))
	}
	return err
}

// parseMLST reads the line of facts between the first and the last line.
func parseMLST(text string) (remote.Entry, error) {
	for _, line := range strings.Split(text, "\n") {
		if e, ok := parseMachine(strings.Trim(line, " \r"), time.Time{}); ok {
			return e, nil
		}
	}
	return remote.Entry{}, fmt.Errorf("the reply to MLST has no facts: %q", text)
}

func (s *ftpSession) Concurrency() int { return 1 }

func (s *ftpSession) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	return s.OpenAt(ctx, p, 0, "")
}

func (s *ftpSession) OpenAt(ctx context.Context, p string, offset int64, _ string) (io.ReadCloser, error) {
	full, err := remote.Join(s.base, p)
	if err != nil {
		return nil, err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return nil, wrap("open", p, err)
	}
	resp, err := s.retrieve(ctx, full, offset)
	if err != nil {
		err = s.fail(ctx, "open", p, err)
		release()
		return nil, err
	}
	return &ftpReader{ctx: ctx, s: s, resp: resp, path: p, full: full, size: offset, release: release}, nil
}

// refusal is the server's refusal to begin in the middle of a file, if that is what
// err is: of REST, or of RETR in words that don't mean the file.
func (s *ftpSession) refusal(err error) error {
	var proto *textproto.Error
	if s.control.err == nil && errors.As(err, &proto) && replied(err) &&
		(s.control.verb == "REST" || proto.Code == 501 || proto.Code == 551 || proto.Code == 554) {
		return proto
	}
	return nil
}

// retrieve is retr when the server may be asked.
func (s *ftpSession) retrieve(ctx context.Context, full string, offset int64) (*ftp.Response, error) {
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return nil, err
	}
	defer answered()
	s.askAhead(ctx, full)
	defer s.control.ahead.nothing()
	return s.retr(full, offset)
}

func (s *ftpSession) retr(full string, offset int64) (resp *ftp.Response, err error) {
	defer s.guard(&err)
	if resp, err = s.c.RetrFrom(full, uint64(offset)); err != nil { //nolint:gosec // an offset is never negative
		if refused := s.refusal(err); offset > 0 && refused != nil {
			return nil, remote.NotResumed(full, "the server answers to REST %d, or to RETR after it: %w", offset, refused)
		}
		return nil, s.openError(full, err)
	}
	return resp, nil
}

// openError looks closer at a 550, which means "not there" and "not allowed"
// alike: a file whose size or time the server tells is there.
func (s *ftpSession) openError(full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == remote.Permission {
		return err
	}
	_, statErr := s.c.FileSize(full)
	if _, statErr = s.replyText(statErr); statErr == nil {
		return &remote.Error{Op: "open", Path: full, Class: remote.Permission, Err: err}
	}
	return err
}

// Close says QUIT without waiting for the answer.
func (s *ftpSession) Close() error {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost == nil {
		select {
		case s.slot <- struct{}{}:
			s.control.idle = remote.CloseGrace
			_ = s.c.Quit()
			<-s.slot
		default:
			// A transfer is under way: it ends with the session.
		}
	}
	s.lose(net.ErrClosed)
	return nil
}
