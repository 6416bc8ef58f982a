package hostile

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// kind is one way to misbehave. The steps are those of the protocol at which it
// may strike; a seed chooses one of them.
type kind struct {
	name  string
	steps []string
	// strike speaks in place of what a good server would send at the step.
	strike func(w *wire, well []byte) error
	// old servers know neither MLSD nor MLST, those that are passive no EPSV, and
	// those with one channel refuse a second.
	old, passive, one bool
	// bare servers tell no file's time by MDTM, and describe none by its handle.
	bare bool
	// http is how an HTTP server is asked what it has.
	http string
	// size is that of the file that the server shows; 0: a small archive. claim is
	// what it says that the size is, if that is another.
	size  int
	claim int64
	// ends are the exceptions of which the poll or the file must end with one,
	// unless it ends well; none: any that is in the reference.
	ends []string
}

// server is what servers of all protocols have in common: one seeded
// misbehaviour, and the record of what was done.
type server struct {
	kind
	step     string
	file     string // the name of the one file, in add
	zip      []byte
	seed     uint64
	protocol string

	// link is the way to it; nil: loopback.
	link     *link
	listener net.Listener
	struck   atomic.Int64 // how often the misbehaviour was sent
	sessions atomic.Int64
	named    atomic.Int64 // names made up so far, for listings without an end
	// overheard is how often the server was told what it must not be.
	overheard atomic.Int64
	again     atomic.Bool // the listing goes on: the next READDIR is struck too
	stopped   chan struct{}
	running   sync.WaitGroup
	mu        sync.Mutex
	conns     map[net.Conn]struct{}
}

// late tells whether the server may end a poll or a file by being late: it is waited for less
// long than others, which are late only where the machine is busy.
func (s *server) late() bool {
	return s.link == nil && (len(s.ends) == 0 || slices.Contains(s.ends, "timed_out") || slices.Contains(s.ends, "too_slow"))
}

// wire is the place where a misbehaviour is sent.
type wire struct {
	out  io.Writer // what the step writes to: control or data connection, SFTP channel
	raw  net.Conn  // below it
	ssh  ssh.Conn  // nil for FTP
	rng  *rand.Rand
	s    *server
	sent int
}

// tooMuch is what is sent over one connection at most: a client that keeps it
// all has shown that it does.
const tooMuch = 128 << 20

var errEnough = errors.New("enough was sent")

// Write sends b and records that the misbehaviour struck.
func (w *wire) Write(b []byte) (int, error) {
	if w.sent += len(b); w.sent > tooMuch {
		return 0, errEnough
	}
	n, err := w.out.Write(b)
	if n > 0 {
		w.s.struck.Add(1)
	}
	return n, err
}

// hang says nothing any more.
func (w *wire) hang() error {
	w.s.struck.Add(1)
	<-w.s.stopped
	return errEnough
}

// forever sends b until the other side has enough.
func (w *wire) forever(b []byte) error {
	for len(b) < 64<<10 {
		b = append(b, b...)
	}
	for {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
}

// drip sends b, and the last byte of it for ever, one byte at a time.
func (w *wire) drip(b []byte, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-w.s.stopped:
			return errEnough
		case <-tick.C:
		}
		at := min(i, len(b)-1)
		if _, err := w.Write(b[at : at+1]); err != nil {
			return err
		}
	}
}

// cut ends the connection, with or without a reset.
func (w *wire) cut() error {
	w.s.struck.Add(1)
	if tcp, ok := w.raw.(*net.TCPConn); ok && w.rng.IntN(2) == 0 {
		_ = tcp.SetLinger(0)
	}
	_ = w.raw.Close()
	return errEnough
}

// halfClose ends one direction and says nothing in the other.
func (w *wire) halfClose() error {
	if c, ok := w.out.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	return w.hang()
}

// here is where the server listens.
func (s *server) here() string {
	if s.link != nil {
		return s.link.here.String()
	}
	return "127.0.0.1"
}

// address is where the program finds it, as host:port.
func (s *server) address() string {
	at := s.listener.Addr().(*net.TCPAddr).AddrPort()
	if s.link != nil {
		at = netip.AddrPortFrom(s.link.there, at.Port())
	}
	return at.String()
}

// listen begins to accept; talk holds one conversation.
func (s *server) listen(talk func(net.Conn)) error {
	var err error
	if s.listener, err = net.Listen("tcp", net.JoinHostPort(s.here(), "0")); err != nil {
		return err
	}
	s.stopped, s.conns = make(chan struct{}), map[net.Conn]struct{}{}
	s.running.Go(func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			if !s.admit(c) {
				return
			}
			s.running.Go(func() {
				defer s.forget(c)
				talk(c)
			})
		}
	})
	return nil
}

func (s *server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopped:
		_ = c.Close()
		return false
	default:
	}
	s.conns[c] = struct{}{}
	s.sessions.Add(1)
	return true
}

func (s *server) forget(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// stop ends the server and all conversations, and waits for them.
func (s *server) stop() {
	close(s.stopped)
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// wire of a conversation: what is random follows from the seed alone.
func (s *server) wire(out io.Writer, raw net.Conn, conn ssh.Conn) *wire {
	return &wire{out: out, raw: raw, ssh: conn, s: s, rng: rand.New(rand.NewPCG(s.seed, 2))}
}

// at does what a good server does, unless this is the step to misbehave at.
func (s *server) at(step string, w *wire, well []byte) error {
	if step == s.step {
		return s.strike(w, well)
	}
	_, err := w.out.Write(well)
	return err
}

// claimed is the size that the server tells of its file.
func (s *server) claimed() int64 {
	if s.claim > 0 {
		return s.claim
	}
	return int64(len(s.zip))
}

// sftp tells which protocol the server speaks: the names of the steps differ.
func (s *server) sftp() bool { return s.protocol == "sftp" }
