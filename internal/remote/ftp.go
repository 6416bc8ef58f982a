package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
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
	s := &ftpSession{control: &ftpControl{idleConn: conn}, cfg: c, target: t, slot: make(chan struct{}, 1)}
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
	conn, err := net.DialTimeout(network, addr, s.cfg.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		_ = conn.Close()
		return nil, s.lost
	}
	idle := &idleConn{Conn: conn, idle: s.cfg.IdleTimeout}
	idle.begin()
	s.data = idle
	if s.takeData != nil {
		return s.takeData(idle), nil
	}
	return idle, nil
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

// ftpReader is a file on its way.
type ftpReader struct {
	ctx     context.Context
	s       *ftpSession
	resp    *ftp.Response
	path    string
	release func()
	end     error
}

// Read ends with EOF only after the server has said that the transfer is
// complete: the end of a data connection alone may be the end of the server.
func (r *ftpReader) Read(b []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.resp.Read(b)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = r.finish()
		if err == nil {
			r.end = io.EOF
			return n, r.end
		}
	}
	r.end = r.s.fail(r.ctx, "read", r.path, err)
	return n, r.end
}

// finish reads the reply that ends the transfer.
func (r *ftpReader) finish() error {
	err := r.resp.Close()
	var proto *textproto.Error
	if errors.As(err, &proto) && proto.Code/100 == 2 {
		// Some servers say 250 for 226.
		return nil
	}
	return err
}

// WriteTo copies with a buffer that saves system calls.
func (r *ftpReader) WriteTo(w io.Writer) (int64, error) {
	buf := make([]byte, 256<<10)
	var total int64
	for {
		n, err := r.Read(buf)
		if n > 0 {
			m, werr := w.Write(buf[:n])
			total += int64(m)
			if werr != nil {
				return total, werr
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// Close ends the transfer. One that is broken off costs the session when the
// server doesn't answer in time.
func (r *ftpReader) Close() error {
	if r.release == nil {
		return nil
	}
	if err := r.resp.Close(); err != nil {
		var proto *textproto.Error
		if !errors.As(err, &proto) {
			r.s.lose(err)
		}
	}
	r.release()
	r.release = nil
	if r.end == nil || errors.Is(r.end, io.EOF) {
		r.end = &Error{Op: "read", Path: r.path, class: Unclassified, Err: net.ErrClosed}
	}
	return nil
}

// ftpControl is the control connection. It remembers the last line it read,
// because the library keeps the text of the reply that ends a listing to itself
// and some servers hide a refusal there.
type ftpControl struct {
	*idleConn
	last []byte
}

// Write gives the server the whole idle time again: during a transfer the
// control connection is silent for as long as that takes.
func (c *ftpControl) Write(b []byte) (int, error) {
	if c.expired.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	c.renew()
	return c.idleConn.Write(b)
}

// Read reads and keeps the last line. After a time-out there is nothing more to
// read: a late reply would be taken for that of the next command.
func (c *ftpControl) Read(b []byte) (int, error) {
	if c.expired.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	c.renew()
	n, err := c.idleConn.Read(b)
	c.last = append(c.last, b[:n]...)
	if i := strings.LastIndexByte(strings.TrimRight(string(c.last), "\r\n"), '\n'); i >= 0 {
		c.last = append(c.last[:0], c.last[i+1:]...)
	}
	if len(c.last) > 1024 {
		c.last = c.last[:1024]
	}
	return n, err
}

func (c *ftpControl) lastLine() string { return strings.TrimRight(string(c.last), "\r\n") }
