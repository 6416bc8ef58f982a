package sftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
)

// What was being done, in errors of the way to a server.
const (
	opJump    = "reach jump host"
	opThrough = "go through jump host"
)

// reachSSH connects to a server, through the jump hosts where there are any.
func reachSSH(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (*remote.IdleConn, error) {
	if len(c.Jump) == 0 {
		return remote.Connect(ctx, c, t, step)
	}
	hop, err := remote.ParseJump(c.Jump[len(c.Jump)-1])
	if err != nil {
		return nil, &remote.Error{Op: "parse", Path: "jump", Class: remote.Misconfigured, Err: err}
	}
	step("jump", "")
	via, below, shown, err := jump(ctx, c, hop)
	if err != nil {
		return nil, jumpError(hop, err)
	}
	step("jump", shown)
	step("connect", "")
	conn, err := via.DialContext(ctx, "tcp", t.Server())
	if err != nil {
		_ = below.Close()
		return nil, throughError(hop, t, err)
	}
	step("connect", t.Server()+" through "+login(hop))
	return &remote.IdleConn{Conn: &tunnel{Conn: conn, below: below}, Idle: c.IdleTimeout}, nil
}

// jump logs in to the last jump host, through those before it. shown are all of them
// with their keys.
func jump(ctx context.Context, c remote.Config, hop remote.Target) (client *ssh.Client, conn *remote.IdleConn, shown string, err error) {
	c.Jump = c.Jump[:len(c.Jump)-1]
	// The password is the server's secret, and what host_key pins are its keys: a jump
	// host that knew the one, or whose key were among the others, could pass for it.
	c.Password, c.HostKey = "", nil
	before, key := "", ""
	client, conn, err = dialSSH(ctx, c, hop, func(name, detail string) {
		switch {
		case detail == "":
		case name == "jump":
			before = detail + ", then "
		case name == "host_key":
			key = detail
		}
	})
	return client, conn, before + login(hop) + " " + key, err
}

// login is user@host:port.
func login(t remote.Target) string { return t.User + "@" + t.Server() }

// jumpError names the jump host of an error, unless one before it is named.
func jumpError(hop remote.Target, err error) error {
	if jumpOf(err) != "" {
		return err
	}
	return &remote.Error{Op: opJump, Path: login(hop), Class: classify(err), Exception: remote.Exception(err), Err: err}
}

// throughError says why a jump host doesn't let us through.
func throughError(hop, t remote.Target, err error) error {
	e := &remote.Error{Op: opThrough, Path: login(hop), Class: classify(err), Err: fmt.Errorf("it can't connect to %s: %w", t.Server(), err)}
	refused := (*ssh.OpenChannelError)(nil)
	switch answered := errors.As(err, &refused); {
	case answered && refused.Reason == ssh.Prohibited:
		e.Err = fmt.Errorf("it refuses to forward to %s: %w", t.Server(), err)
		fallthrough
	case answered, e.Class == remote.Unclassified:
		e.Class = remote.Connection
	}
	if e.Class == remote.Connection {
		e.Exception = "connection_failed"
	}
	return e
}

// jumpOf is the jump host at which an error happened; empty: at none.
func jumpOf(err error) string {
	var e *remote.Error
	if errors.As(err, &e) && (e.Op == opJump || e.Op == opThrough) {
		return e.Path
	}
	return ""
}

// where is the jump host of an error, for messages.
func where(err error) string {
	if hop := jumpOf(err); hop != "" {
		return ", at jump host " + hop
	}
	return ""
}

// remedy says what a person can do about an error at a jump host, where that is
// another thing than at the server.
func remedy(err error, _ remote.Config) string {
	var e *remote.Error
	if jumpOf(err) == "" || !errors.As(err, &e) {
		return ""
	}
	switch exception := remote.Exception(err); {
	case exception == "connection_failed" && e.Op == opThrough:
		return "check host and port in url, and ask the jump host's owner whether it reaches them and lets this user forward to them (AllowTcpForwarding and PermitOpen of sshd)"
	case exception == "host_not_found", exception == "connection_failed":
		return "check host and port in jump, this machine's DNS, and that the firewalls on the way let this machine through"
	case e.Class == remote.HostKey:
		return "compare the fingerprint with what the jump host's owner tells you over another channel, then put the key into known_hosts of the source"
	case e.Class == remote.Auth:
		return "check the user in jump; the jump host's owner must have the public half of the source's identity_file or of a key of its identity_agent, since passwords are told to no jump host"
	}
	return ""
}

// tunnel is a connection through a jump host, which ends with it. Channels of SSH have
// no deadlines, so the tunnel is closed at its own.
type tunnel struct {
	net.Conn
	// below is the connection to the jump host.
	below net.Conn

	mu      sync.Mutex
	timer   *time.Timer
	expired atomic.Bool
}

// SetDeadline has reading and writing fail at a time, for good; the zero time: never.
func (t *tunnel) SetDeadline(at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if !at.IsZero() {
		t.timer = time.AfterFunc(time.Until(at), func() {
			t.expired.Store(true)
			_ = t.Close()
		})
	}
	return nil
}

// Read reads, and says when it was the deadline that ended it.
func (t *tunnel) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	return n, t.why(err)
}

// Write writes, likewise.
func (t *tunnel) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	return n, t.why(err)
}

func (t *tunnel) why(err error) error {
	if err != nil && t.expired.Load() {
		return os.ErrDeadlineExceeded
	}
	return err
}

// Close hangs up at the jump host. To close the channel first would wait where nothing
// moves any more.
func (t *tunnel) Close() error { return t.below.Close() }
