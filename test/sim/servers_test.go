//go:build synctests

package sim

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"sort"
	"strings"
	"sync"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// server is a source server in memory. It counts its own sessions.
type server struct {
	s     *sim
	name  string // host:port
	limit int

	mu    sync.Mutex
	files map[string]*hosted   // by source and path
	left  map[string]time.Time // when files were taken away
	open  map[*session]bool
	peak  int // of sessions at once, those of stopped processes apart
	ill   map[string]illness
}

// hosted is a file on a server.
type hosted struct {
	bytes []byte
	mtime time.Time
	lie   int64 // added to the size that is told
	slow  time.Duration
	drip  bool   // it claims claimed bytes, and brings one now and then
	next  func() // replaces it, once, while somebody reads it
}

// A file that drips is a byte every dripEvery, and says that it is large: of such
// two fill the disk, if what is only claimed counts.
const (
	dripEvery  = 10 * time.Second
	dripClaims = 5 << 30
)

// illness is what is wrong with a server for a while, by operation.
type illness string

const (
	stalls    illness = "stalls"
	truncates illness = "truncates"
	drops     illness = "drops connections"
	refuses   illness = "refuses"
	lies      illness = "lies about sizes"
	replaces  illness = "replaces files during transfers"
	partial   illness = "breaks off listings"
)

func (v *server) is(x illness) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.ill[string(x)]
	return ok
}

// idle is how long a real connection waits for a server that stalls.
const idle = 4 * time.Second

// dial opens a session of a process at the server of a URL.
func (s *sim) dialer(p *proc) func(context.Context, remote.Config) (remote.Session, error) {
	return func(ctx context.Context, cfg remote.Config) (remote.Session, error) {
		t, err := connectors.All().ParseURL(cfg.URL)
		if err != nil {
			return nil, err
		}
		if err := p.step(ctx, "dial"); err != nil {
			return nil, connErr(err)
		}
		v := s.servers[t.Server()]
		x := &session{v: v, p: p, source: path.Base(t.Base), done: make(chan struct{})}
		if err := x.take(); err != nil {
			return nil, err
		}
		if err := x.wait(ctx, 20*time.Millisecond); err != nil {
			x.end("broken off")
			return nil, connErr(err)
		}
		return x, nil
	}
}

// connErr gives an injected error the look of a broken connection.
func connErr(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.Join(err, net.ErrClosed)
}

// session is a session at a server.
type session struct {
	v      *server
	p      *proc
	source string
	once   sync.Once
	done   chan struct{}
}

// take counts the session, as the server does.
func (x *session) take() error {
	v := x.v
	x.p.mu.Lock()
	if x.p.killed {
		x.p.mu.Unlock()
		return errDead
	}
	x.p.sessions[x] = true
	x.p.mu.Unlock()
	v.mu.Lock()
	if _, ok := v.ill[string(refuses)]; ok {
		v.mu.Unlock()
		x.p.mu.Lock()
		delete(x.p.sessions, x)
		x.p.mu.Unlock()
		return connErr(errors.New("sim: connection refused"))
	}
	v.open[x] = true
	n := 0
	var who []string
	for o := range v.open {
		if !o.p.hasStopped() {
			n++
			who = append(who, o.p.name)
		}
	}
	v.peak = max(v.peak, n)
	over := n > v.limit
	v.mu.Unlock()
	if over {
		sort.Strings(who)
		v.s.violate("L9", "%s has %d sessions, and allows %d: %s", v.name, n, v.limit, strings.Join(who, ", "))
	}
	v.s.tracef(x.p.name, "session at %s begins (%d of %d)", v.name, n, v.limit)
	return nil
}

// end gives the session up, at both ends.
func (x *session) end(why string) {
	x.once.Do(func() {
		close(x.done)
		x.v.mu.Lock()
		delete(x.v.open, x)
		x.v.mu.Unlock()
		x.p.mu.Lock()
		delete(x.p.sessions, x)
		x.p.mu.Unlock()
		x.v.s.tracef(x.p.name, "session at %s ends: %s", x.v.name, why)
	})
}

// wait is what an operation takes, and fails if the session has ended.
func (x *session) wait(ctx context.Context, d time.Duration) error {
	if x.v.is(stalls) {
		if err := x.p.sleep(ctx, x.v.s.paced(idle)); err != nil {
			return err
		}
		x.end("timed out")
		return os.ErrDeadlineExceeded
	}
	if err := x.p.sleep(ctx, d); err != nil {
		return err
	}
	select {
	case <-x.done:
		return net.ErrClosed
	default:
		return nil
	}
}

func (x *session) at(ctx context.Context, label string) error {
	if err := x.p.step(ctx, label); err != nil {
		return connErr(err)
	}
	return x.wait(ctx, 10*time.Millisecond)
}

// List streams a directory.
func (x *session) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	if err := x.at(ctx, "list"); err != nil {
		return err
	}
	var entries []remote.Entry
	x.v.mu.Lock()
	prefix := x.source + "/" + dir + "/"
	for name, f := range x.v.files {
		if strings.HasPrefix(name, prefix) {
			entries = append(entries, f.entry(strings.TrimPrefix(name, prefix)))
		}
	}
	x.v.mu.Unlock()
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	for i, e := range entries {
		if x.v.is(partial) && i >= len(entries)/2 {
			x.end("listing broken off")
			return net.ErrClosed
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *hosted) entry(name string) remote.Entry {
	if f.drip {
		return remote.Entry{Name: name, Size: dripClaims, ModTime: f.mtime, Precision: time.Second}
	}
	return remote.Entry{Name: name, Size: int64(len(f.bytes)) + f.lie, ModTime: f.mtime, Precision: time.Second}
}

func (x *session) find(p string) *hosted {
	x.v.mu.Lock()
	defer x.v.mu.Unlock()
	return x.v.files[x.source+"/"+p]
}

// Stat describes a file.
func (x *session) Stat(ctx context.Context, p string) (remote.Entry, error) {
	if err := x.at(ctx, "stat"); err != nil {
		return remote.Entry{}, err
	}
	f := x.find(p)
	if f == nil {
		return remote.Entry{}, fs.ErrNotExist
	}
	x.v.mu.Lock()
	defer x.v.mu.Unlock()
	return f.entry(path.Base(p)), nil
}

// Open streams a file, in a few pieces.
func (x *session) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	if err := x.at(ctx, "open"); err != nil {
		return nil, err
	}
	f := x.find(p)
	if f == nil {
		return nil, fs.ErrNotExist
	}
	x.v.mu.Lock()
	defer x.v.mu.Unlock()
	if f.drip {
		return &dripping{x: x, ctx: ctx}, nil
	}
	return &reading{x: x, ctx: ctx, f: f, data: f.bytes, slow: f.slow}, nil
}

// dripping is a transfer that never ends.
type dripping struct {
	x   *session
	ctx context.Context
}

func (d *dripping) Read(b []byte) (int, error) {
	if err := d.x.wait(d.ctx, dripEvery); err != nil {
		return 0, err
	}
	b[0] = 'P'
	return 1, nil
}

func (d *dripping) Close() error { return nil }

// reading is a transfer under way.
type reading struct {
	x    *session
	ctx  context.Context
	f    *hosted
	data []byte
	off  int
	slow time.Duration
	half bool
}

func (r *reading) Read(b []byte) (int, error) {
	if r.off >= len(r.data) {
		return 0, io.EOF
	}
	if err := r.x.at(r.ctx, "read"); err != nil {
		return 0, err
	}
	if r.slow > 0 {
		if err := r.x.wait(r.ctx, r.slow/3); err != nil {
			return 0, err
		}
	}
	if r.off > 0 && !r.half {
		r.half = true
		if err := r.midway(); err != nil {
			return 0, err
		}
	}
	if r.off >= len(r.data) {
		return 0, io.EOF
	}
	n := copy(b, r.data[r.off:min(len(r.data), r.off+1+len(r.data)/3)])
	r.off += n
	return n, nil
}

// midway is what may happen in the middle of a transfer.
func (r *reading) midway() error {
	switch {
	case r.x.v.is(truncates):
		r.data = r.data[:r.off]
	case r.x.v.is(drops):
		r.x.end("dropped in a transfer")
		return net.ErrClosed
	case r.x.v.is(replaces):
		r.x.v.mu.Lock()
		next := r.f.next
		r.f.next = nil
		r.x.v.mu.Unlock()
		if next != nil {
			next()
			r.x.v.mu.Lock()
			r.data = r.f.bytes // half the old, half the new
			r.x.v.mu.Unlock()
		}
	}
	return nil
}

func (r *reading) Close() error { return nil }

// Concurrency is of a connection that serves two at once.
func (x *session) Concurrency() int { return 2 }

// Close ends the session, and does not wait: a process that is stopped closes
// it once it goes on.
func (x *session) Close() error {
	if x.p.free() && !x.p.s.faults.watches(x.p.role, "close") {
		x.end("closed")
		return nil
	}
	x.v.s.remains.Go(func() {
		_ = x.p.step(context.Background(), "close") // whatever strikes, it ends
		x.end("closed")
	})
	return nil
}
