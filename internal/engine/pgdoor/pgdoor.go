// Package pgdoor lets tools of others read the embedded Postgres: a TCP listener
// on loopback in front of the owner's unix socket, through which one user comes
// in, [User], with a password that Postgres itself asks for (SCRAM-SHA-256).
//
// What the user may read and do, Postgres decides by the rights of its role. What
// rights can't bound is bounded here:
//
//   - how many connections there are, how long a login takes, how long one may be
//     idle, and how large a message is;
//   - how much memory a session's processes may have, and that they give way to
//     others for the processor;
//   - how long a transaction may last, be idle, or stand in somebody's way: a
//     session may change its own timeouts, but not these;
//   - whose statements are cancelled: those that came through this door;
//   - the commands for which Postgres asks no right: NOTIFY and LISTEN, which
//     Tributary uses itself, and changes of the role's own password and settings.
//
// There is no TLS, so it listens on loopback only.
package pgdoor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"tributary/internal/engine/entrance"
)

// User is whom the door lets in: a role of Postgres.
const User = "reader"

// Bounds of connections.
const (
	sessions = 16 // that have logged in, at once
	// strangers is how many connections may be logging in at once.
	strangers = 32
	loginTime = 10 * time.Second
	// idleTime ends a connection on which nothing comes either way. It is longer
	// than a transaction may last.
	idleTime = 30 * time.Minute
	// writeTime is for what was sent to be taken.
	writeTime = time.Minute
	// maxMessage is the most bytes of one message of a client, its statement
	// included.
	maxMessage = 1 << 20
)

// Options say where a door leads.
type Options struct {
	// Addr is the host and port to listen on, on loopback, as the configuration's
	// check holds it; port 0 stands for a free one.
	Addr string
	// Socket is the path of Postgres' unix socket.
	Socket string
	// DSN is the owner's address of the database that the door leads to. It may
	// hold a password, and is not shown.
	DSN string
	// Database is that database's name; no other is served.
	Database string
	// Role is the role whose rights [User] gets.
	Role string
	// Prepare makes Role as it has to be. It is called before the door opens and
	// before somebody is let in, by one at a time.
	Prepare func(ctx context.Context) error
	// Password is the password of [User], of letters and digits.
	Password string
	// Logger is required.
	Logger *slog.Logger

	limits limits // those of this package where none are given
}

// Door is an open door.
type Door struct {
	o        Options
	entrance *entrance.Entrance
	listener net.Listener
	watch    *watch

	preparing sync.Mutex
	prepared  time.Time // guarded by preparing: when the last began that went well

	mu   sync.Mutex
	keys map[uint32][]byte // guarded by mu: of the sessions that are served, by process
}

// Open makes the reader's role and lets clients in until Close. Postgres must be
// running; when it is restarted, the door stays.
func Open(ctx context.Context, o Options) (*Door, error) {
	if o.Password == "" {
		return nil, fmt.Errorf("the user %s has no password", User)
	}
	if o.limits == (limits{}) {
		o.limits = limits{login: loginTime, transaction: maxTransaction, idle: maxIdle, blocking: maxBlocking, look: watchEvery}
	}
	d := &Door{o: o, entrance: entrance.New("Postgres", o.Logger), keys: map[uint32][]byte{}}
	d.watch = newWatch(o, d.served)
	if err := d.prepare(ctx); err != nil {
		return nil, fmt.Errorf("postgres.listen: %w", err)
	}
	if err := makeRole(ctx, o); err != nil {
		return nil, fmt.Errorf("postgres.listen: %w", err)
	}
	var err error
	if d.listener, err = net.Listen("tcp", o.Addr); errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("postgres.listen: %s is taken by another program: stop it, or choose another port: %w", o.Addr, err)
	} else if err != nil {
		return nil, fmt.Errorf("postgres.listen: %w", err)
	}
	places := make(chan struct{}, sessions)
	d.entrance.Serve(d.listener, strangers, func(c net.Conn, entered func()) {
		if err := d.admit(c, entered, places); err != nil {
			d.entrance.TurnAway("a reader", c.RemoteAddr().String(), err)
		}
	})
	d.entrance.Go(func() { d.watch.run(d.entrance.Context()) })
	return d, nil
}

// Addr is the host and port on which the door listens.
func (d *Door) Addr() string { return d.listener.Addr().String() }

// Close ends all sessions and lets nobody in any more. Closing again is harmless.
func (d *Door) Close() error { return d.entrance.Close(d.listener) }

// prepare makes the role's rights what they have to be. It is done once for all
// who wait for it.
func (d *Door) prepare(ctx context.Context) error {
	asked := time.Now()
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.prepared.After(asked) {
		return nil
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	if err := d.o.Prepare(ctx); err != nil {
		return fmt.Errorf("prepare the role %s: %w", d.o.Role, err)
	}
	d.prepared = begun
	return nil
}

// admit lets one connection in and serves it to its end. entered says that it is
// no stranger any more.
func (d *Door) admit(c net.Conn, entered func(), places chan struct{}) error {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(d.o.limits.login)); err != nil {
		return err
	}
	s, err := d.login(c, places)
	if s == nil || err != nil {
		return err
	}
	defer func() { <-places }()
	defer s.end()
	entered()
	return s.relay()
}

// served are the processes of the sessions that are served.
func (d *Door) served() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.keys)
}
