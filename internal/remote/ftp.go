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

	"github.com/jlaffaye/ftp"
)

// ftpSession is one control connection; FTP can do one thing at a time on it.
type ftpSession struct {
	c       *ftp.ServerConn
	control *ftpControl
	base    string
	cfg     Config
	target  Target
	// slot holds the right to use the control connection.
	slot chan struct{}

	mu sync.Mutex
	// ctx is that of the call which has the slot; the library's dialling knows
	// no other way to it.
	ctx context.Context
	// data is the connection of the transfer under way, closed when its context
	// ends.
	data net.Conn
	// takeData, when set, gets the next data connection instead of the library.
	takeData func(net.Conn) net.Conn
	// lost is what ended the control connection.
	lost error
}

func dialFTP(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error) {
	conn, err := connectTCP(ctx, c, t, step)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// The greeting and the login are bounded as the connecting is.
	conn.idle = c.ConnectTimeout
	conn.begin()
	defer conn.end()
	s := &ftpSession{control: &ftpControl{idleConn: conn}, cfg: c, target: t, slot: make(chan struct{}, 1), ctx: ctx}
	step("login", "")
	first := true
	s.c, err = ftp.Dial(t.Server(), ftp.DialWithDisabledEPSV(c.DisableEPSV), ftp.DialWithLocation(c.Location),
		ftp.DialWithDialFunc(func(network, addr string) (net.Conn, error) {
			if first {
				first = false
				return s.control, nil
			}
			return s.dialData(network, addr)
		}))
	if err != nil {
		_ = conn.Close()
		return nil, s.dialError(ctx, "connect to", err)
	}
	if err := s.c.Login(t.User, ftpPassword(c, t)); err != nil {
		_ = conn.Close()
		return nil, s.dialError(ctx, loginOp, err)
	}
	step("login", "user "+t.User)
	if err := s.findBase(); err != nil {
		_ = conn.Close()
		return nil, s.dialError(ctx, "ask the directory of", err)
	}
	conn.idle = c.IdleTimeout
	return s, nil
}

func ftpPassword(c Config, t Target) string {
	if c.Password == "" && t.User == "anonymous" {
		// RFC 1635: any address does.
		return "anonymous@"
	}
	return c.Password
}

// findBase makes the base absolute: it is below the login directory, as in
// other FTP clients, unless it begins with two slashes.
func (s *ftpSession) findBase() error {
	if strings.HasPrefix(s.target.Base, "//") {
		s.base = s.target.Base[1:]
		return nil
	}
	home, err := s.c.CurrentDir()
	var proto *textproto.Error
	switch {
	case err == nil && path.IsAbs(home):
	case err == nil, errors.As(err, &proto):
		home = "/"
	default:
		return err
	}
	s.base = path.Join(home, s.target.Base)
	return nil
}

func (s *ftpSession) dialError(ctx context.Context, op string, err error) error {
	e := &Error{Op: op, Path: s.target.Server(), Err: err, class: classify(err)}
	var proto *textproto.Error
	switch {
	case ctx.Err() != nil:
		e.Err, e.class = ctx.Err(), classify(ctx.Err())
	case errors.As(err, &proto) && proto.Code == 421, tooMany(err.Error()):
		e.class = Busy
	case errors.As(err, &proto) && proto.Code >= 500:
		e.class = Auth
	case errors.Is(err, ftp.ErrInvalidCommand):
		e.class = Misconfigured
	case e.class == Unclassified && op == loginOp:
		// The library keeps the text of a refused USER only.
		e.class = Auth
	case e.class == Unclassified:
		e.class = Connection
	}
	return e
}

const loginOp = "log in to"

func tooMany(msg string) bool {
	msg = strings.ToLower(msg)
	return strings.Contains(msg, "too many") || strings.Contains(msg, "maximum number")
}

// dialData connects for one transfer. The idle time-out counts for it from the
// start: a listing that never begins is a time-out like any other.
func (s *ftpSession) dialData(network, addr string) (net.Conn, error) {
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	conn, err := (&net.Dialer{Timeout: s.cfg.ConnectTimeout}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		_ = conn.Close()
		return nil, s.lost
	}
	data := &ftpData{&idleConn{Conn: conn, idle: s.cfg.IdleTimeout}}
	data.begin()
	s.data = data
	if s.takeData != nil {
		return s.takeData(data), nil
	}
	return data, nil
}

// acquire waits for the control connection and watches ctx while it is used.
// FTP can't take back a command, so a cancelled one costs the session.
func (s *ftpSession) acquire(ctx context.Context) (release func(), err error) {
	if err := acquire(ctx, s.slot); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lost := s.lost
	s.ctx = ctx
	s.mu.Unlock()
	if lost != nil {
		<-s.slot
		return nil, lost
	}
	s.control.begin()
	stop := context.AfterFunc(ctx, func() { s.lose(ctx.Err()) })
	return func() {
		stop()
		s.control.end()
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
	var proto *textproto.Error
	if errors.As(err, &proto) && proto.Code != 421 || errors.Is(err, ftp.ErrInvalidCommand) {
		return wrapped
	}
	switch ClassOf(wrapped) {
	case Connection, Timeout:
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
	if s.c.IsTimePreciseInList() {
		fe, err := s.c.GetEntry(full)
		if err == nil {
			e := Entry{Name: path.Base(full), Size: int64(fe.Size), ModTime: fe.Time.UTC(), Precision: time.Second, Kind: Other}
			switch fe.Type {
			case ftp.EntryTypeFile:
				e.Kind = File
			case ftp.EntryTypeFolder:
				e.Kind = Dir
			}
			return e, nil
		}
		var proto *textproto.Error
		if !errors.As(err, &proto) || proto.Code != 500 && proto.Code != 502 {
			return Entry{}, err
		}
	}
	size, err := s.c.FileSize(full)
	if err != nil {
		if cdErr := s.c.ChangeDir(full); cdErr == nil {
			return Entry{Size: -1, Kind: Dir}, nil
		}
		return Entry{}, err
	}
	e := Entry{Size: size, Kind: File}
	if s.c.IsGetTimeSupported() {
		t, err := s.c.GetTime(full)
		if err != nil {
			return Entry{}, err
		}
		e.ModTime, e.Precision = t, time.Second
	}
	return e, nil
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
	resp, err := s.c.Retr(full)
	if err != nil {
		err = s.openError(full, err)
		release()
		return nil, s.fail(ctx, "open", p, err)
	}
	return &ftpReader{ctx: ctx, s: s, resp: resp, path: p, release: release}, nil
}

// openError looks closer at a 550, which means "not there" and "not allowed"
// alike: a file whose size or time the server tells is there.
func (s *ftpSession) openError(full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == Permission {
		return err
	}
	if _, statErr := s.c.FileSize(full); statErr == nil {
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
			_ = s.c.Quit()
			<-s.slot
		default:
			// A transfer is under way: it ends with the session.
		}
	}
	s.lose(net.ErrClosed)
	return nil
}
