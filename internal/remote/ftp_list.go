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
	if _, err := s.control.expect(250, "CWD %s", full); err != nil {
		return s.fail(ctx, "list", dir, s.missingOrRefused(ctx, full, err))
	}
	list := s.listCurrent
	if !s.features["MLST"] && s.features["MDTM"] {
		list = func(ctx context.Context, yield func(Entry) error) (error, error) {
			return s.listByMDTM(ctx, full, yield)
		}
	}
	yieldErr, err := list(ctx, yield)
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
// at a time. Until then these entries are kept, within a bound.
func (s *ftpSession) listByMDTM(ctx context.Context, full string, yield func(Entry) error) (yieldErr, err error) {
	var zips []Entry
	room := newMeter(maxHeld)
	yieldErr, err = s.listCurrent(ctx, func(e Entry) error {
		if e.Kind != File || !strings.EqualFold(path.Ext(e.Name), ".zip") {
			return yield(e)
		}
		zips = append(zips, e)
		return wrap("list", full, room.hold(e))
	})
	if yieldErr != nil || err != nil {
		return yieldErr, err
	}
	for _, e := range zips {
		// An absolute path: a name alone that begins with fourteen digits would
		// make some servers set the time instead of telling it. A file that is
		// gone since, or not to be asked, keeps what LIST said.
		if err := s.modified(path.Join(full, e.Name), &e); err != nil && !replied(err) {
			return nil, err
		}
		if err := yield(e); err != nil {
			return err, nil
		}
	}
	return nil, nil
}

// missingOrRefused finds out what a refused CWD means by looking for the name
// in the nearest directory above that can be entered.
func (s *ftpSession) missingOrRefused(ctx context.Context, full string, err error) error {
	var proto *textproto.Error
	if !errors.As(err, &proto) || proto.Code != 550 || classifyFTP(proto) == Permission {
		return err
	}
	for child, parent := full, path.Dir(full); child != "/" && child != "."; child, parent = parent, path.Dir(parent) {
		if _, cdErr := s.control.expect(250, "CWD %s", parent); cdErr != nil {
			if errors.As(cdErr, &proto) && proto.Code == 550 {
				continue
			}
			return cdErr
		}
		found := false
		_, listErr := s.listCurrent(ctx, func(e Entry) error {
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

// listCurrent lists the current directory line by line. It keeps apart the
// error of yield and that of the server.
func (s *ftpSession) listCurrent(ctx context.Context, yield func(Entry) error) (yieldErr, err error) {
	command, parse := "LIST", parseUnixOrDOS
	if s.features["MLST"] {
		command, parse = "MLSD", parseMachine
	}
	data, err := s.transfer(ctx, command)
	if err != nil {
		return nil, listRefusal(err)
	}
	l := &ftpListing{now: time.Now().In(s.cfg.Location), parse: parse, yield: yield, size: newMeter(s.cfg.Limits.Listing)}
	yieldErr, err = l.read(data)
	if err != nil {
		_ = data.Close()
		return yieldErr, err
	}
	last, err := s.finish(data)
	if err == nil && strings.Contains(strings.ToLower(last), "failed to open directory") {
		// vsftpd ends such a listing with success.
		err = &Error{Op: "list", class: Permission, Err: errors.New(last)}
	}
	return yieldErr, listRefusal(err)
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
	return &Error{Op: "list", class: Permission, Err: err}
}

// ftpListing is a listing that is being read.
type ftpListing struct {
	now   time.Time
	parse func(line string, now time.Time) (Entry, bool)
	yield func(Entry) error
	size  *meter
}

// read yields entries until the data connection ends.
func (l *ftpListing) read(data net.Conn) (yieldErr, err error) {
	br := bufio.NewReaderSize(data, maxListLine)
	for {
		line, err := l.next(br)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if yieldErr := l.line(strings.TrimRight(line, "\r\n")); yieldErr != nil || err != nil {
			return yieldErr, nil
		}
	}
}

// next returns a line. Of one that is too long it returns the beginning and
// the end, since names end in what they are.
func (l *ftpListing) next(br *bufio.Reader) (string, error) {
	part, err := br.ReadSlice('\n')
	line := string(part)
	if sizeErr := l.size.add(len(part)); sizeErr != nil {
		return "", sizeErr
	}
	end := ""
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = br.ReadSlice('\n')
		if sizeErr := l.size.add(len(part)); sizeErr != nil {
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
		e = Entry{Name: text, Size: -1, Kind: Other}
	case e.Name == "." || e.Name == "..":
		return nil
	case !safeName(e.Name) || strings.ContainsAny(e.Name, "\r\n"):
		e.Kind = Other
	}
	return l.yield(e)
}
