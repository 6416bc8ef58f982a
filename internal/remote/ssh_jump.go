package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// MaxJumps is how many jump hosts a server may lie behind.
const MaxJumps = 3

// What was being done, in errors of the way to a server.
const (
	opJump    = "reach jump host"
	opThrough = "go through jump host"
)

// ParseJump checks a jump host, user@host:port as OpenSSH's ProxyJump writes one; the
// port is 22 by default. Its errors never repeat a password.
func ParseJump(raw string) (Target, error) {
	t, err := ParseURL("sftp://" + raw)
	if err != nil || strings.ContainsAny(raw, "/?#, ") {
		return Target{}, errors.New("is no jump host: write user@host:port, without a password, each as an item of its own")
	}
	return t, nil
}

// reachSSH connects to a server, through the jump hosts where there are any.
func reachSSH(ctx context.Context, c Config, t Target, step func(name, detail string)) (*idleConn, error) {
	if len(c.Jump) == 0 {
		return connectTCP(ctx, c, t, step)
	}
	hop, err := ParseJump(c.Jump[len(c.Jump)-1])
	if err != nil {
		return nil, &Error{Op: "parse", Path: "jump", class: Misconfigured, Err: err}
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
	step("connect", t.Server()+" through "+hop.login())
	return &idleConn{Conn: &tunnel{Conn: conn, below: below}, idle: c.IdleTimeout}, nil
}

// jump logs in to the last jump host, through those before it. shown are all of them
// with their keys.
func jump(ctx context.Context, c Config, hop Target) (client *ssh.Client, conn *idleConn, shown string, err error) {
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
	return client, conn, before + hop.login() + " " + key, err
}

// login is user@host:port.
func (t Target) login() string { return t.User + "@" + t.Server() }

// jumpError names the jump host of an error, unless one before it is named.
func jumpError(hop Target, err error) error {
	if jumpOf(err) != "" {
		return err
	}
	return &Error{Op: opJump, Path: hop.login(), class: ClassOf(err), exception: Exception(err), Err: err}
}

// throughError says why a jump host doesn't let us through.
func throughError(hop, t Target, err error) error {
	e := &Error{Op: opThrough, Path: hop.login(), class: classify(err), Err: fmt.Errorf("it can't connect to %s: %w", t.Server(), err)}
	refused := (*ssh.OpenChannelError)(nil)
	switch answered := errors.As(err, &refused); {
	case answered && refused.Reason == ssh.Prohibited:
		e.Err = fmt.Errorf("it refuses to forward to %s: %w", t.Server(), err)
		fallthrough
	case answered, e.class == Unclassified:
		e.class = Connection
	}
	if e.class == Connection {
		e.exception = "connection_failed"
	}
	return e
}

// jumpOf is the jump host at which an error happened; empty: at none.
func jumpOf(err error) string {
	var e *Error
	if errors.As(err, &e) && (e.Op == opJump || e.Op == opThrough) {
		return e.Path
	}
	return ""
}

// remedyJump says what a person can do about an error at a jump host, where that is
// another thing than at the server.
func remedyJump(err error) string {
	var e *Error
	if jumpOf(err) == "" || !errors.As(err, &e) {
		return ""
	}
	switch exception := Exception(err); {
	case exception == "connection_failed" && e.Op == opThrough:
		return "check host and port in url, and ask the jump host's owner whether it reaches them and lets this user forward to them (AllowTcpForwarding and PermitOpen of sshd)"
	case exception == "host_not_found", exception == "connection_failed":
		return "check host and port in jump, this machine's DNS, and that the firewalls on the way let this machine through"
	case e.class == HostKey:
		return "compare the fingerprint with what the jump host's owner tells you over another channel, then put the key into known_hosts of the source"
	case e.class == Auth:
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
