package ftp

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

	"tributary/internal/remote"
)

// List changes into the directory first: LIST with a path treats it as a
// pattern on some servers, and on others lists a missing directory as empty.
func (s *ftpSession) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	full, err := remote.Join(s.base, dir)
	if err != nil {
		return err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return wrap("list", dir, err)
	}
	defer release()
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return s.fail(ctx, "list", dir, err)
	}
	defer answered()
	if err := s.c.ChangeDir(full); err != nil {
		return s.fail(ctx, "list", dir, s.missingOrRefused(full, err))
	}
	list := s.listCurrent
	if s.asksForTime() {
		list = func(yield func(remote.Entry) error) (error, error) {
			return s.listByMDTM(ctx, dir, full, yield, answered)
		}
	}
	yieldErr, err := list(yield)
	if err != nil {
		err = s.fail(ctx, "list", dir, err)
	}
	if yieldErr != nil {
		return yieldErr
	}
	return err
}

// listByMDTM lists where times are to the minute, in an unknown zone: it asks
// for those that matter after the listing, since one connection does one thing
// at a time.
func (s *ftpSession) listByMDTM(ctx context.Context, dir, full string, yield func(remote.Entry) error, listed func()) (yieldErr, err error) {
	zips := &remote.Inexact[remote.Entry]{
		Config: s.cfg, Dir: dir, Yield: yield, Room: remote.NewMeter(remote.MaxHeld), Same: s.looksTheSame,
		Entry: func(e remote.Entry) remote.Entry { return e },
		Ask:   func(shown remote.Entry, e *remote.Entry) (bool, error) { return true, s.askFor(ctx, full, shown, e) },
	}
	yieldErr, err = s.listCurrent(func(e remote.Entry) error {
		if e.Kind != remote.File || !strings.EqualFold(path.Ext(e.Name), ".zip") {
			return yield(e)
		}
		yieldErr, err := zips.Add(e)
		if yieldErr != nil {
			return yieldErr
		}
		return wrap("list", full, err)
	})
	if yieldErr != nil || err != nil {
		return yieldErr, err
	}
	listed()
	return zips.Rest()
}

// askFor asks for a file's exact time, and learns from the answer what the listing's
// times mean. A file that is gone since, or not to be asked, keeps what LIST said.
func (s *ftpSession) askFor(ctx context.Context, full string, shown remote.Entry, e *remote.Entry) error {
	answered, err := s.cfg.Asking(ctx)
	if err != nil {
		return err
	}
	defer answered()
	// An absolute path: a name alone that begins with fourteen digits would
	// make some servers set the time instead of telling it.
	err = s.modified(path.Join(full, e.Name), e)
	if err != nil && !replied(err) {
		return err
	}
	if err == nil && e.Invalid == "" {
		e.Yearless = false
		if shown.Precision == time.Minute {
			s.cfg.Clock.Learn(shown.ModTime.Sub(e.ModTime.Truncate(time.Minute)))
		}
	}
	return nil
}

// looksTheSame tells whether what LIST shows is what is known: the size, and the time
// as exactly as it is shown, in UTC or in a zone that was seen in this session, which
// is not of these days.
func (s *ftpSession) looksTheSame(listed, known remote.Entry) bool {
	if known.Name == "" || listed.Size < 0 || listed.Size != known.Size || listed.Invalid != "" || listed.ModTime.IsZero() || known.ModTime.IsZero() || s.cfg.Clock.Restless(listed.ModTime) {
		return false
	}
	for _, zone := range append([]time.Duration{0}, s.cfg.Clock.Zones()...) {
		at := known.ModTime.Add(zone).Truncate(listed.Precision)
		if listed.Yearless {
			at = at.AddDate(listed.ModTime.Year()-at.Year(), 0, 0)
		}
		if listed.ModTime.Equal(at) {
			return true
		}
	}
	return false
}

// missingOrRefused finds out what a refused CWD means by looking for the name
// in the nearest directory above that can be entered.
func (s *ftpSession) missingOrRefused(full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == remote.Permission {
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
		_, listErr := s.listCurrent(func(e remote.Entry) error {
			found = found || e.Name == path.Base(child)
			return nil
		})
		if listErr != nil && classify(listErr) != remote.Permission {
			return listErr
		}
		if listErr == nil && !found {
			return &remote.Error{Op: "enter", Path: child, Class: remote.NotExist, Err: err}
		}
		break
	}
	return &remote.Error{Op: "enter", Path: full, Class: remote.Permission, Err: err}
}

// listCurrent lists the current directory line by line. The library would keep
// all entries in memory and drop the lines it can't parse, so its data
// connection is read here and it gets an empty one. The error of yield and that
// of the server are kept apart.
func (s *ftpSession) listCurrent(yield func(remote.Entry) error) (yieldErr, err error) {
	parse := parseUnixOrDOS
	if s.c.IsTimePreciseInList() {
		parse = parseMachine
	}
	l := &ftpListing{control: s.control, now: s.cfg.Clock.Theirs().UTC(), parse: parse, size: remote.NewMeter(s.cfg.Limits.Listing)}
	l.yield = func(e remote.Entry) error {
		s.yielding = true
		err := yield(e)
		s.yielding = false
		return err
	}
	defer s.guard(&err)
	s.listing = l
	defer func() { s.listing = nil }()
	_, err = s.c.List("")
	return l.yieldErr, listRefusal(err)
}

// listRefusal knows what servers say of a directory that was entered a moment
// ago, so is there.
func listRefusal(err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 && proto.Code != 450 {
		return err
	}
	if strings.Contains(strings.ToLower(proto.Msg), "no files") {
		return nil
	}
	return &remote.Error{Op: "list", Class: remote.Permission, Err: err}
}

// ftpListing is a data connection that yields entries while it is read, and
// shows its reader nothing but the end.
type ftpListing struct {
	net.Conn
	control  *ftpControl
	now      time.Time
	parse    func(line string, now time.Time) (remote.Entry, bool)
	yield    func(remote.Entry) error
	yieldErr error
	size     *remote.Meter
}

// Read drains the connection. After an error of reading nobody waits for the reply that
// ends the transfer.
func (l *ftpListing) Read([]byte) (int, error) {
	br := bufio.NewReaderSize(l.Conn, maxListLine)
	for {
		line, err := l.next(br)
		if err == nil || errors.Is(err, io.EOF) {
			if l.yieldErr = l.line(strings.TrimRight(line, "\r\n")); l.yieldErr != nil && err == nil {
				err = l.rest(br)
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		default:
			return 0, l.control.end(err)
		}
	}
}

// maxRest is how much is read of the rest of a listing that the caller has broken off. It
// is fixed: a new session costs less than reading more.
const maxRest = 1 << 20

// rest reads what is left of a listing, or ends the session where that is much. Pure-FTPd
// keeps what it could not send of a listing, and sends it before the next one, as if it
// were in that one's directory.
func (l *ftpListing) rest(br *bufio.Reader) error {
	_, err := io.CopyN(io.Discard, br, maxRest)
	if err != nil {
		return err
	}
	return &remote.Error{Op: "list", Class: remote.Connection, Err: errors.New("a listing that is broken off goes on: the session is given up, since some servers send the rest of one before the next")}
}

// next returns a line. Of one that is too long it returns the beginning and
// the end, since names end in what they are.
func (l *ftpListing) next(br *bufio.Reader) (string, error) {
	part, err := br.ReadSlice('\n')
	line := string(part)
	if sizeErr := l.size.Add(len(part)); sizeErr != nil {
		return "", sizeErr
	}
	end := ""
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = br.ReadSlice('\n')
		if sizeErr := l.size.Add(len(part)); sizeErr != nil {
			return "", sizeErr
		}
		end += string(part[max(0, len(part)-8):])
		end = end[max(0, len(end)-8):]
	}
	return line + end, err
}

func (l *ftpListing) line(text string) error {
	if text == "" || strings.HasPrefix(text, "total ") {
		return nil
	}
	e, ok := l.parse(text, l.now)
	switch {
	case !ok:
		e = remote.Entry{Name: text, Size: -1, Kind: remote.Other, Unreadable: true}
	case e.Name == "." || e.Name == "..":
		return nil
	case !remote.SafeName(e.Name) || strings.ContainsAny(e.Name, "\r\n"):
		e.Kind = remote.Other
	}
	// Whoever keeps the name shouldn't keep the line that it is a part of.
	e.Name = strings.Clone(e.Name)
	return l.yield(e)
}

// maxListLine is how much of a line of an FTP listing is looked at; Linux
// paths end at 4096 bytes. It is fixed: a longer line is no line of ls.
const maxListLine = 16 << 10
