package ftp

import (
	"context"
	"errors"
	"net"
	"net/textproto"
	"path"
	"strings"
	"unicode"

	"github.com/jlaffaye/ftp"

	"tributary/internal/remote"
)

// dial connects and logs in. ctx bounds all of it.
func dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (remote.Session, error) {
	answered, err := c.Asking(ctx)
	if err != nil {
		return nil, wrap("connect", t.Server(), err)
	}
	defer answered()
	conn, err := remote.Connect(ctx, c, t, step)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s := &ftpSession{control: newControl(conn.Conn, c), cfg: c, target: t, slot: make(chan struct{}, 1)}
	if t.Scheme != "ftp" {
		if err := s.protect(ctx, conn.Conn, step); err != nil {
			_ = conn.Close()
			return nil, s.dialError(ctx, err)
		}
	}
	step("login", "")
	if err := s.login(); err != nil {
		_ = conn.Close()
		return nil, s.dialError(ctx, err)
	}
	step("login", "user "+t.User)
	return s, nil
}

func ftpPassword(c remote.Config, t remote.Target) string {
	if c.Password == "" && t.User == "anonymous" {
		// RFC 1635: any address does.
		return "anonymous@"
	}
	return c.Password
}

// login reads the greeting, logs in, and finds out what the server can do and
// where it begins.
func (s *ftpSession) login() (err error) {
	defer s.guard(&err)
	dial := s.controlFirst()
	s.c, err = ftp.Dial(s.target.Server(), ftp.DialWithDisabledEPSV(s.cfg.DisableEPSV), ftp.DialWithDialFunc(dial))
	if err != nil {
		return err
	}
	if err := s.c.Login(s.target.User, ftpPassword(s.cfg, s.target)); err != nil {
		return err
	}
	if s.tls != nil {
		if err := s.protectData(); err != nil {
			return err
		}
	}
	return s.findBase()
}

// controlFirst is how the library dials: first for the control connection, then
// for the transfers.
func (s *ftpSession) controlFirst() func(network, addr string) (net.Conn, error) {
	first := true
	return func(network, addr string) (net.Conn, error) {
		if first {
			first = false
			return s.control, nil
		}
		return s.dialData(network, addr)
	}
}

// findBase makes the base absolute: it is below the login directory, as in
// other FTP clients, unless it begins with two slashes.
func (s *ftpSession) findBase() error {
	if strings.HasPrefix(s.target.Base, "//") {
		s.base = s.target.Base[1:]
		return nil
	}
	home, err := s.c.CurrentDir()
	switch {
	case replied(err):
		home = "/"
	case err != nil:
		return err
	case len(home) > remote.MaxPath || strings.ContainsFunc(home, unicode.IsControl):
		return remote.Broken("protocol_error", "its login directory is longer than %d bytes, or has control characters: %q", remote.MaxPath, home)
	case !path.IsAbs(home):
		home = "/"
	}
	s.base = path.Join(home, s.target.Base)
	return nil
}

// dialling says at which part of the way in the session is.
func (s *ftpSession) dialling() string {
	switch s.control.verb {
	case "":
		return "connect to"
	case "USER", "PASS":
		return remote.OpLogin
	}
	return "prepare the session with"
}

func (s *ftpSession) dialError(ctx context.Context, err error) error {
	op := s.dialling()
	if s.control.err != nil {
		err = s.control.err
	}
	var own *remote.Error
	if errors.As(err, &own) {
		return wrap(op, s.target.Server(), err)
	}
	e := &remote.Error{Op: op, Path: s.target.Server(), Err: err, Class: classify(err)}
	var proto *textproto.Error
	switch {
	case ctx.Err() != nil:
		e.Err, e.Class = ctx.Err(), classify(ctx.Err())
	case errors.As(err, &proto) && proto.Code == 421, tooMany(err.Error()):
		e.Class = remote.Busy
	case errors.As(err, &proto) && proto.Code >= 500, e.Class == remote.Unclassified && op == remote.OpLogin:
		e.Class = remote.Auth
	case e.Class == remote.Unclassified:
		e.Class = remote.Connection
	}
	return e
}

func tooMany(msg string) bool {
	msg = strings.ToLower(msg)
	return strings.Contains(msg, "too many") || strings.Contains(msg, "maximum number")
}
