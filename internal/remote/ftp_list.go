package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/textproto"
	"path"
	"strings"
	"time"
)

// List changes into the directory first: LIST with a path treats it as a
// pattern on some servers, and on others lists a missing directory as empty.
func (s *ftpSession) List(ctx context.Context, dir string, yield func(Entry) error) error {
	full, err := join(s.base, dir)
	if err != nil {
		return err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return wrap("list", dir, err)
	}
	defer release()
	if err := s.c.ChangeDir(full); err != nil {
		return s.fail(ctx, "list", dir, s.missingOrRefused(full, err))
	}
	precise := s.c.IsTimePreciseInList()
	if precise || !s.c.IsGetTimeSupported() {
		return s.fail(ctx, "list", dir, s.listCurrent(precise, yield))
	}
	// Times to the minute, in an unknown zone: ask for those that matter after
	// the listing, since one connection does one thing at a time.
	var zips []Entry
	err = s.listCurrent(false, func(e Entry) error {
		if e.Kind == File && strings.EqualFold(path.Ext(e.Name), ".zip") {
			zips = append(zips, e)
			return nil
		}
		return yield(e)
	})
	if err != nil {
		return s.fail(ctx, "list", dir, err)
	}
	for _, e := range zips {
		// An absolute path: a name alone that begins with fourteen digits would
		// make some servers set the time instead of telling it.
		t, err := s.c.GetTime(path.Join(full, e.Name))
		var proto *textproto.Error
		switch {
		case err == nil:
			e.ModTime, e.Precision = t, time.Second
		case errors.As(err, &proto) && proto.Code != 421:
			// Gone since, or not to be asked: what LIST said remains.
		default:
			return s.fail(ctx, "list", dir, err)
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// missingOrRefused finds out what a refused CWD means by looking for the name
// in the nearest directory above that can be entered.
func (s *ftpSession) missingOrRefused(full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == Permission {
		return err
	}
	for child, parent := full, path.Dir(full); child != "/" && child != "."; child, parent = parent, path.Dir(parent) {
		if cdErr := s.c.ChangeDir(parent); cdErr != nil {
			if errors.As(cdErr, &proto) && proto.Code == 550 {
				continue
			}
			return cdErr
		}
		found := false
		listErr := s.listCurrent(s.c.IsTimePreciseInList(), func(e Entry) error {
			found = found || e.Name == path.Base(child)
			return nil
		})
		if listErr != nil && ClassOf(listErr) != Permission {
			return listErr
		}
		if listErr == nil && !found {
			return &Error{Op: "enter", Path: child, class: NotExist, Err: err}
		}
		break
	}
	return &Error{Op: "enter", Path: full, class: Permission, Err: err}
}

// errStop carries a yield's own error through the library.
type errStop struct{ err error }

func (e errStop) Error() string { return e.err.Error() }

// listCurrent lists the current directory line by line. The library would keep
// all entries in memory and drop the lines it can't parse, so its data
// connection is read here and it gets an empty one.
func (s *ftpSession) listCurrent(machine bool, yield func(Entry) error) error {
	parse := parseUnixOrDOS
	if machine {
		parse = parseMachine
	}
	tap := &listTap{now: time.Now().In(s.cfg.Location), parse: parse, yield: yield}
	s.mu.Lock()
	s.takeData = func(conn net.Conn) net.Conn { tap.Conn = conn; return tap }
	s.mu.Unlock()
	_, err := s.c.List("")
	s.mu.Lock()
	s.takeData = nil
	s.mu.Unlock()
	if tap.err != nil {
		var stop errStop
		if errors.As(tap.err, &stop) {
			return stop.err
		}
		return tap.err
	}
	var proto *textproto.Error
	if errors.As(err, &proto) {
		text := strings.ToLower(proto.Msg)
		switch {
		case proto.Code/100 == 2:
			err = nil
		case proto.Code == 550 && strings.Contains(text, "no files"), proto.Code == 450 && strings.Contains(text, "no files"):
			return nil
		case proto.Code == 550 || proto.Code == 450:
			// The directory was entered a moment ago, so it is there.
			return &Error{Op: "list", class: Permission, Err: err}
		}
	}
	if err != nil {
		return err
	}
	if last := s.control.lastLine(); strings.Contains(strings.ToLower(last), "failed to open directory") {
		// vsftpd ends such a listing with success.
		return &Error{Op: "list", class: Permission, Err: errors.New(last)}
	}
	return nil
}

// maxListLine is the longest line that is parsed; Linux paths end at 4096.
const maxListLine = 16 << 10

// listTap is a data connection that yields entries while it is read and shows
// its reader nothing but the end.
type listTap struct {
	net.Conn
	now   time.Time
	parse func(line string, now time.Time) (Entry, bool)
	yield func(Entry) error
	err   error
}

// Read drains the connection.
func (t *listTap) Read([]byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	br := bufio.NewReaderSize(t.Conn, maxListLine)
	for {
		line, err := br.ReadSlice('\n')
		text := string(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = br.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			t.err = err
			return 0, err
		}
		if yerr := t.line(strings.TrimRight(text, "\r\n")); yerr != nil {
			t.err = errStop{yerr}
			return 0, t.err
		}
		if err != nil {
			return 0, io.EOF
		}
	}
}

func (t *listTap) line(text string) error {
	if text == "" || strings.HasPrefix(text, "total ") {
		return nil
	}
	e, ok := t.parse(text, t.now)
	switch {
	case !ok:
		e = Entry{Name: text, Size: -1, Kind: Other}
	case e.Name == "." || e.Name == "..":
		return nil
	case !safeName(e.Name) || strings.ContainsAny(e.Name, "\r\n"):
		e.Kind = Other
	}
	return t.yield(e)
}
