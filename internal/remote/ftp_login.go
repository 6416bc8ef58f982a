package remote

import (
	"context"
	"errors"
	"net/textproto"
	"path"
	"strings"
	"unicode"
)

// dialFTP connects and logs in. ctx bounds all of it.
func dialFTP(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error) {
	conn, err := connectTCP(ctx, c, t, step)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s := &ftpSession{control: newControl(conn.Conn, c), cfg: c, target: t, noEPSV: c.DisableEPSV, slot: make(chan struct{}, 1)}
	step("login", "")
	op := "connect to"
	if err = s.greeting(); err == nil {
		op = loginOp
		if err = s.login(ftpPassword(c, t)); err == nil {
			step("login", "user "+t.User)
			op = "prepare the session with"
			err = s.prepare()
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, s.dialError(ctx, op, err)
	}
	return s, nil
}

func ftpPassword(c Config, t Target) string {
	if c.Password == "" && t.User == "anonymous" {
		// RFC 1635: any address does.
		return "anonymous@"
	}
	return c.Password
}

func (s *ftpSession) greeting() error {
	s.control.await()
	code, text, err := s.control.reply()
	if err == nil {
		err = refusal(code, 220, text)
	}
	return err
}

func (s *ftpSession) login(password string) error {
	code, text, err := s.control.ask("USER %s", s.target.User)
	switch {
	case err != nil:
		return err
	case code == 230:
		return nil
	case code == 331:
		_, err = s.control.expect(230, "PASS %s", password)
		return err
	}
	return refusal(code, 230, text)
}

// prepare finds out what the server can do and where it begins.
func (s *ftpSession) prepare() error {
	text, err := s.control.expect(211, "FEAT")
	if err != nil && !replied(err) {
		return err
	}
	if err == nil {
		s.features = parseFeatures(text)
	}
	if _, err := s.control.expect(200, "TYPE I"); err != nil {
		return err
	}
	if s.features["UTF8"] {
		// Servers that speak nothing else refuse it in many ways.
		if _, err := s.control.expect(200, "OPTS UTF8 ON"); err != nil && !replied(err) {
			return err
		}
	}
	return s.findBase()
}

// parseFeatures reads the names between the first and the last line.
func parseFeatures(text string) map[string]bool {
	features := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if name, _ := field(strings.TrimRight(line, "\r")); strings.HasPrefix(line, " ") {
			features[strings.ToUpper(name)] = true
		}
	}
	return features
}

// findBase makes the base absolute: it is below the login directory, as in
// other FTP clients, unless it begins with two slashes.
func (s *ftpSession) findBase() error {
	if strings.HasPrefix(s.target.Base, "//") {
		s.base = s.target.Base[1:]
		return nil
	}
	text, err := s.control.expect(257, "PWD")
	if err != nil && !replied(err) {
		return err
	}
	home, err := loginDirectory(text)
	if err != nil {
		return err
	}
	s.base = path.Join(home, s.target.Base)
	return nil
}

// loginDirectory reads `257 "/home"`; a server that doesn't say has its root.
func loginDirectory(reply string) (string, error) {
	from, to := strings.IndexByte(reply, '"'), strings.LastIndexByte(reply, '"')
	if from == to {
		return "/", nil
	}
	home := reply[from+1 : to]
	if len(home) > maxPath || strings.ContainsFunc(home, unicode.IsControl) {
		return "", broken("protocol_error", "its login directory is longer than %d bytes, or has control characters: %q", maxPath, home)
	}
	if !path.IsAbs(home) {
		return "/", nil
	}
	return home, nil
}

const loginOp = "log in to"

func (s *ftpSession) dialError(ctx context.Context, op string, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return wrap(op, s.target.Server(), err)
	}
	e := &Error{Op: op, Path: s.target.Server(), Err: err, class: classify(err)}
	var proto *textproto.Error
	switch {
	case ctx.Err() != nil:
		e.Err, e.class = ctx.Err(), classify(ctx.Err())
	case errors.As(err, &proto) && proto.Code == 421, tooMany(err.Error()):
		e.class = Busy
	case errors.As(err, &proto) && proto.Code >= 500, e.class == Unclassified && op == loginOp:
		e.class = Auth
	case e.class == Unclassified:
		e.class = Connection
	}
	return e
}

func tooMany(msg string) bool {
	msg = strings.ToLower(msg)
	return strings.Contains(msg, "too many") || strings.Contains(msg, "maximum number")
}
