package servers

import (
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"
)

// fault is what is wrong with one path. A negative number means "not".
type fault struct {
	refuse, gone bool
	stall        chan struct{} // closed when it heals; nil: it doesn't stall
	truncate     int64
	closeAfter   int64
	shortReads   int
	pause        time.Duration // before each read is answered
	grow         []byte
	listed       bool
}

func (s *FaultySFTP) set(p string, f func(*fault)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if s.faults[p] == nil {
		s.faults[p] = &fault{truncate: -1, closeAfter: -1}
	}
	f(s.faults[p])
}

func (s *FaultySFTP) get(p string) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.faults[strings.TrimPrefix(p, "/")]; f != nil {
		return *f
	}
	return fault{truncate: -1, closeAfter: -1}
}

// Truncate lets a file end after n bytes, while its size is told in full.
func (s *FaultySFTP) Truncate(p string, n int64) { s.set(p, func(f *fault) { f.truncate = n }) }

// Refuse answers opening or listing a path with "permission denied".
func (s *FaultySFTP) Refuse(p string) { s.set(p, func(f *fault) { f.refuse = true }) }

// Gone shows a path in listings and denies it otherwise, like a file that is
// deleted right after it was listed.
func (s *FaultySFTP) Gone(p string) { s.set(p, func(f *fault) { f.gone = true }) }

// Stall answers no read of a file until it heals.
func (s *FaultySFTP) Stall(p string) {
	s.set(p, func(f *fault) {
		if f.stall == nil {
			f.stall = make(chan struct{})
		}
	})
}

// CloseAfter cuts the connection when a file is read beyond its first n bytes.
func (s *FaultySFTP) CloseAfter(p string, n int64) { s.set(p, func(f *fault) { f.closeAfter = n }) }

// ShortReads answers each read of a file with at most n bytes, which the
// protocol allows.
func (s *FaultySFTP) ShortReads(p string, n int) { s.set(p, func(f *fault) { f.shortReads = n }) }

// Slow answers each read of a file after a pause, with at most n bytes.
func (s *FaultySFTP) Slow(p string, n int, pause time.Duration) {
	s.set(p, func(f *fault) { f.shortReads, f.pause = n, pause })
}

// GrowAfterList lets a file be longer by more, and younger by a second, from
// its first listing on.
func (s *FaultySFTP) GrowAfterList(p string, more []byte) {
	s.set(p, func(f *fault) { f.grow = more })
}

// Heal takes all faults of a path away.
func (s *FaultySFTP) Heal(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if f := s.faults[p]; f != nil && f.stall != nil {
		close(f.stall)
	}
	delete(s.faults, p)
}

// Pretend adds an entry to the listings of a directory, with any name at all.
func (s *FaultySFTP) Pretend(dir string, info os.FileInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir = path.Clean("/" + dir)
	s.extra[dir] = append(s.extra[dir], info)
}

// handlers serves one session.
type handlers struct {
	s    *FaultySFTP
	conn net.Conn
	// cut is closed when the connection is gone.
	cut <-chan struct{}
}

func (h *handlers) local(p string) string {
	if p = strings.TrimPrefix(path.Clean(p), "/"); p == "" {
		return "."
	}
	return p
}

// Fileread opens a file.
func (h *handlers) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	f := h.s.get(r.Filepath)
	switch {
	case f.refuse:
		return nil, sftp.ErrSSHFxPermissionDenied
	case f.gone:
		return nil, os.ErrNotExist
	}
	file, err := h.s.root.Open(h.local(r.Filepath))
	if err != nil {
		return nil, plain(err)
	}
	h.s.mu.Lock()
	h.s.opens++
	h.s.mu.Unlock()
	return &faultyFile{File: file, h: h, path: r.Filepath}, nil
}

// Filewrite refuses: the server is read-only.
func (h *handlers) Filewrite(*sftp.Request) (io.WriterAt, error) {
	return nil, sftp.ErrSSHFxPermissionDenied
}

// Filecmd refuses: the server is read-only.
func (h *handlers) Filecmd(*sftp.Request) error { return sftp.ErrSSHFxPermissionDenied }

// Filelist lists and describes.
func (h *handlers) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	f := h.s.get(r.Filepath)
	switch {
	case f.gone:
		return nil, os.ErrNotExist
	case r.Method == "Stat":
		return h.describe(r, h.s.root.Stat)
	case r.Method != "List":
		return nil, sftp.ErrSSHFxOpUnsupported
	case f.refuse:
		return nil, sftp.ErrSSHFxPermissionDenied
	}
	return h.list(r.Filepath)
}

// Lstat describes without following a symbolic link.
func (h *handlers) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	if h.s.get(r.Filepath).gone {
		return nil, os.ErrNotExist
	}
	return h.describe(r, h.s.root.Lstat)
}

func (h *handlers) describe(r *sftp.Request, stat func(string) (os.FileInfo, error)) (sftp.ListerAt, error) {
	info, err := stat(h.local(r.Filepath))
	if err != nil {
		return nil, plain(err)
	}
	return lister{h.seen(r.Filepath, info)}, nil
}

// seen shows a file that grows as it is by now.
func (h *handlers) seen(p string, info os.FileInfo) os.FileInfo {
	if f := h.s.get(p); f.grow != nil && f.listed {
		return grown{info, int64(len(f.grow))}
	}
	return info
}

func (h *handlers) list(dir string) (sftp.ListerAt, error) {
	d, err := h.s.root.Open(h.local(dir))
	if err != nil {
		return nil, plain(err)
	}
	defer d.Close()
	infos, err := d.Readdir(-1)
	if err != nil {
		return nil, plain(err)
	}
	for i, info := range infos {
		p := path.Join(dir, info.Name())
		infos[i] = h.seen(p, info)
		h.s.mu.Lock()
		if f := h.s.faults[strings.TrimPrefix(p, "/")]; f != nil {
			f.listed = true
		}
		h.s.mu.Unlock()
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return lister(append(infos, h.s.extra[path.Clean(dir)]...)), nil
}

// plain gives the protocol the errors it has codes for.
func plain(err error) error {
	switch {
	case os.IsNotExist(err):
		return os.ErrNotExist
	case os.IsPermission(err):
		return sftp.ErrSSHFxPermissionDenied
	}
	return err
}

type grown struct {
	os.FileInfo
	by int64
}

// Size is the size after growing, in bytes.
func (g grown) Size() int64 { return g.FileInfo.Size() + g.by }

// ModTime is a second later.
func (g grown) ModTime() time.Time { return g.FileInfo.ModTime().Add(time.Second) }

type lister []fs.FileInfo

// ListAt copies the entries from an offset on.
func (l lister) ListAt(to []os.FileInfo, off int64) (int, error) {
	if off >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(to, l[off:])
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// faultyFile is a file with the faults of its path, looked up at each read.
type faultyFile struct {
	*os.File
	h    *handlers
	path string
}

// ReadAt reads, as far as the faults let it.
func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	ft := f.h.s.get(f.path)
	if ft.stall != nil {
		select {
		case <-f.h.cut:
			return 0, io.ErrUnexpectedEOF
		case <-ft.stall:
		}
	}
	if ft.pause > 0 {
		select {
		case <-f.h.cut:
			return 0, io.ErrUnexpectedEOF
		case <-time.After(ft.pause):
		}
	}
	if ft.closeAfter >= 0 && off+int64(len(b)) > ft.closeAfter {
		_ = f.h.conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	if ft.truncate >= 0 {
		if off >= ft.truncate {
			return 0, io.EOF
		}
		b = b[:min(int64(len(b)), ft.truncate-off)]
	}
	if ft.shortReads > 0 && len(b) > ft.shortReads {
		b = b[:ft.shortReads]
	}
	n, err := f.File.ReadAt(b, off)
	if ft.grow == nil || !ft.listed || n == len(b) {
		return n, err
	}
	info, statErr := f.File.Stat()
	if statErr != nil {
		return n, statErr
	}
	if at := off + int64(n) - info.Size(); at < int64(len(ft.grow)) {
		n += copy(b[n:], ft.grow[at:])
	}
	if n == len(b) {
		err = nil
	}
	return n, err
}
