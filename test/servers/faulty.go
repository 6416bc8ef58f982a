package servers

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// FaultySFTPOptions says what a faulty SFTP server serves.
type FaultySFTPOptions struct {
	// Dir takes keys and known_hosts. It must exist.
	Dir string
	// Root is the directory that is served, read-only, as "/".
	Root string
	// Password, when set, is accepted beside the key.
	Password string
	// Port to listen on; 0 picks a free one.
	Port int
	// Log gets the sessions at debug level; nothing by default.
	Log *slog.Logger
}

// FaultySFTP is an SFTP server in this process that serves a directory and
// misbehaves for the paths it is told to. Paths are slash-separated, below the
// root, without a leading slash. Faults can be set at any time.
type FaultySFTP struct {
	// Addr is host:port.
	Addr string
	// User is the name to log in with; any other is refused.
	User string
	// IdentityFile is the path of the private key to log in with.
	IdentityFile string
	// KnownHosts is the path of a known_hosts file with the server's key.
	KnownHosts string
	// HostKey is the server's public key.
	HostKey ssh.PublicKey

	root     *os.Root
	config   *ssh.ServerConfig
	listener net.Listener
	log      *slog.Logger
	stopped  chan struct{}
	stopOnce sync.Once
	running  sync.WaitGroup

	mu     sync.Mutex
	faults map[string]*fault
	extra  map[string][]os.FileInfo
	conns  map[net.Conn]struct{}
	max    int
	total  int
	limit  int
	opens  int
}

// StartFaultySFTP starts the server. It must be stopped.
func StartFaultySFTP(ctx context.Context, o FaultySFTPOptions) (*FaultySFTP, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	s := &FaultySFTP{
		User: "reader", IdentityFile: filepath.Join(dir, "user_key"), KnownHosts: filepath.Join(dir, "known_hosts"),
		log: o.Log, stopped: make(chan struct{}),
		faults: make(map[string]*fault), extra: make(map[string][]os.FileInfo), conns: make(map[net.Conn]struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	host, err := newKey(filepath.Join(dir, "host_key"), "host")
	if err != nil {
		return nil, err
	}
	login, err := newKey(s.IdentityFile, "user")
	if err != nil {
		return nil, err
	}
	s.HostKey = host.PublicKey()
	s.config = serverConfig(s.User, o.Password, host, login.PublicKey())
	if s.root, err = os.OpenRoot(o.Root); err != nil {
		return nil, fmt.Errorf("open served directory: %w", err)
	}
	s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", loopback(o.Port))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), s.root.Close())
	}
	s.Addr = s.listener.Addr().String()
	if err := writeKnownHosts(s.KnownHosts, s.Addr, s.HostKey); err != nil {
		return nil, errors.Join(err, s.listener.Close(), s.root.Close())
	}
	s.running.Go(s.accept)
	return s, nil
}

func serverConfig(user, password string, host ssh.Signer, login ssh.PublicKey) *ssh.ServerConfig {
	refused := errors.New("refused")
	c := &ssh.ServerConfig{
		PublicKeyCallback: func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if m.User() == user && subtle.ConstantTimeCompare(key.Marshal(), login.Marshal()) == 1 {
				return nil, nil
			}
			return nil, refused
		},
	}
	if password != "" {
		c.PasswordCallback = func(m ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
			if m.User() == user && subtle.ConstantTimeCompare(given, []byte(password)) == 1 {
				return nil, nil
			}
			return nil, refused
		}
	}
	c.AddHostKey(host)
	return c
}

// URL returns the source URL of a directory below the root.
func (s *FaultySFTP) URL(dir string) string {
	return "sftp://" + s.User + "@" + s.Addr + path.Clean("/"+dir)
}

// Stop ends the server and all sessions and waits for them.
func (s *FaultySFTP) Stop() {
	s.stopOnce.Do(func() {
		close(s.stopped)
		_ = s.listener.Close()
		s.Drop()
		s.running.Wait()
		_ = s.root.Close()
	})
}

// Drop cuts all connections, as a restart of a server or a firewall does.
func (s *FaultySFTP) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// Sessions returns how many sessions are open, the most that were ever open at
// once, and how many there were in all.
func (s *FaultySFTP) Sessions() (open, most, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns), s.max, s.total
}

// CountAnew lets the most that were ever open at once be those that are open now.
func (s *FaultySFTP) CountAnew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = len(s.conns)
}

// Opens returns how many files were opened for reading.
func (s *FaultySFTP) Opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens
}

// LimitSessions makes the server hang up on connections beyond n, as OpenSSH
// does beyond MaxStartups, and on all that come where n is negative; 0 takes the limit
// away.
func (s *FaultySFTP) LimitSessions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = n
}

func (s *FaultySFTP) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.admit(conn) {
			_ = conn.Close()
			continue
		}
		s.running.Go(func() {
			defer s.forget(conn)
			if err := s.serve(conn); err != nil && !errors.Is(err, io.EOF) {
				s.log.Debug("session ended", "error", err)
			}
		})
	}
}

func (s *FaultySFTP) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopped:
		return false
	default:
	}
	if s.limit != 0 && len(s.conns) >= s.limit {
		return false
	}
	s.conns[conn] = struct{}{}
	s.total++
	s.max = max(s.max, len(s.conns))
	return true
}

func (s *FaultySFTP) forget(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// handshakeWithin bounds a client that connects and says nothing.
const handshakeWithin = 30 * time.Second

func (s *FaultySFTP) serve(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(handshakeWithin)); err != nil {
		return err
	}
	sc, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer sc.Close()
	cut := make(chan struct{})
	defer close(cut)
	for nc := range channels {
		if nc.ChannelType() != "session" {
			_ = nc.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		ch, reqs, err := nc.Accept()
		if err != nil {
			return err
		}
		sessions.Go(func() { s.session(conn, cut, ch, reqs) })
	}
	return nil
}

func (s *FaultySFTP) session(conn net.Conn, cut <-chan struct{}, ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	for req := range reqs {
		ok := req.Type == "subsystem" && len(req.Payload) > 4 && string(req.Payload[4:]) == "sftp"
		if err := req.Reply(ok, nil); err != nil {
			return
		}
		if !ok {
			continue
		}
		go ssh.DiscardRequests(reqs)
		h := &handlers{s: s, conn: conn, cut: cut}
		server := sftp.NewRequestServer(ch, sftp.Handlers{FileGet: h, FilePut: h, FileCmd: h, FileList: h})
		if err := server.Serve(); err != nil && !errors.Is(err, io.EOF) {
			s.log.Debug("sftp ended", "error", err)
		}
		_ = server.Close()
		return
	}
}
