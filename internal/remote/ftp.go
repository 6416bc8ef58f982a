package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"path"
	"strings"
	"sync"
	"time"
)

// ftpSession is one control connection; FTP can do one thing at a time on it.
type ftpSession struct {
	control *ftpControl
	base    string
	cfg     Config
	target  Target
	// features are the names that FEAT has told.
	features map[string]bool
	// noEPSV is set when the server is to be asked by PASV only.
	noEPSV bool
	// slot holds the right to use the control connection.
	slot chan struct{}

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
	if err := acquire(ctx, s.slot); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost != nil {
		<-s.slot
		return nil, lost
	}
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
		s.lost = &Error{Op: "use", Path: s.target.Server(), class: Connection, Err: fmt.Errorf("session ended: %w", err)}
	}
	_ = s.control.Close()
	if s.data != nil {
		_ = s.data.Close()
	}
}

// fail classifies err and notices when the control connection is gone or out
// of step, after which nothing else can be asked on it.
func (s *ftpSession) fail(ctx context.Context, op, p string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return wrap(op, p, ctx.Err())
	}
	wrapped := wrap(op, p, err)
	switch ClassOf(wrapped) {
	case Connection, Timeout, Protocol:
		s.lose(err)
	}
	return wrapped
}

func (s *ftpSession) Stat(ctx context.Context, p string) (Entry, error) {
	full, err := join(s.base, p)
	if err != nil {
		return Entry{}, err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return Entry{}, wrap("stat", p, err)
	}
	defer release()
	e, err := s.stat(full)
	if err != nil {
		return Entry{}, s.fail(ctx, "stat", p, err)
	}
	e.Name = path.Base(full)
	return e, nil
}

// stat asks by MLST, else by SIZE and MDTM; a path that has neither is a
// directory, or isn't there.
func (s *ftpSession) stat(full string) (Entry, error) {
	if s.features["MLST"] {
		text, err := s.control.expect(250, "MLST %s", full)
		if err == nil {
			return parseMLST(text)
		}
		var proto *textproto.Error
		if !errors.As(err, &proto) || proto.Code != 500 && proto.Code != 502 {
			return Entry{}, err
		}
	}
	text, err := s.control.expect(213, "SIZE %s", full)
	if err != nil {
		if _, cdErr := s.control.expect(250, "CWD %s", full); cdErr == nil {
			return Entry{Size: -1, Kind: Dir}, nil
		}
		return Entry{}, err
	}
	e := Entry{Kind: File}
	e.setSize(strings.TrimSpace(text))
	if s.features["MDTM"] {
		return e, s.modified(full, &e)
	}
	return e, nil
}

// modified asks for a file's time.
func (s *ftpSession) modified(full string, e *Entry) error {
	text, err := s.control.expect(213, "MDTM %s", full)
	if err == nil {
		e.setTime(strings.TrimSpace(text))
	}
	return err
}

// parseMLST reads the line of facts between the first and the last line.
func parseMLST(text string) (Entry, error) {
	for _, line := range strings.Split(text, "\n") {
		if e, ok := parseMachine(strings.Trim(line, " \r"), time.Time{}); ok {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("the reply to MLST has no facts: %q", text)
}

func (s *ftpSession) Concurrency() int { return 1 }

func (s *ftpSession) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	full, err := join(s.base, p)
	if err != nil {
		return nil, err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return nil, wrap("open", p, err)
	}
	data, err := s.transfer(ctx, "RETR "+full)
	if err != nil {
		err = s.fail(ctx, "open", p, s.openError(full, err))
		release()
		return nil, err
	}
	return &ftpReader{ctx: ctx, s: s, data: data, path: p, release: release}, nil
}

// openError looks closer at a 550, which means "not there" and "not allowed"
// alike: a file whose size or time the server tells is there.
func (s *ftpSession) openError(full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == Permission {
		return err
	}
	if _, statErr := s.control.expect(213, "SIZE %s", full); statErr == nil {
		return &Error{Op: "open", Path: full, class: Permission, Err: err}
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
			_ = s.control.SetDeadline(time.Now().Add(closeGrace))
			_, _ = s.control.Write([]byte("QUIT\r\n"))
			<-s.slot
		default:
			// A transfer is under way: it ends with the session.
		}
	}
	s.lose(net.ErrClosed)
	return nil
}
