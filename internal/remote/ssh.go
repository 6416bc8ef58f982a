package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
)

// connectTCP resolves and connects.
func connectTCP(ctx context.Context, c Config, t Target, step func(name, detail string)) (*idleConn, error) {
	step("resolve", "")
	addrs := []string{t.Host}
	if net.ParseIP(t.Host) == nil {
		var err error
		if addrs, err = net.DefaultResolver.LookupHost(ctx, t.Host); err != nil {
			return nil, &Error{Op: "resolve", Path: t.Host, class: Connection, exception: "host_not_found", Err: err}
		}
	}
	step("resolve", strings.Join(addrs, ", "))
	step("connect", "")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Server())
	if err != nil {
		return nil, connectError(t, err)
	}
	step("connect", conn.RemoteAddr().String())
	return &idleConn{Conn: conn, idle: c.IdleTimeout}, nil
}

func connectError(t Target, err error) error {
	e := &Error{Op: "connect", Path: t.Server(), Err: err, class: classify(err)}
	if e.class == Unclassified {
		e.class = Connection
	}
	if e.class == Connection {
		e.exception = "connection_failed"
	}
	return e
}

// dialSSH connects, through jump hosts where there are any, verifies the host key and logs in.
func dialSSH(ctx context.Context, c Config, t Target, step func(name, detail string)) (*ssh.Client, *idleConn, error) {
	keys, err := loadHostKeys(c, t)
	if err != nil {
		return nil, nil, err
	}
	auth, end, err := authMethods(c)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	if !keys.fingerprintsOnly {
		return handshake(ctx, c, t, keys, keys.algorithms, auth, step)
	}
	// A fingerprint doesn't say of which type its key is, and a server shows
	// one key only: ask for one type after the other.
	var mismatch error
	for _, k := range keyTypes() {
		client, conn, err := handshake(ctx, c, t, keys, k.algorithms, auth, step)
		if err == nil || ClassOf(err) != HostKey {
			return client, conn, err
		}
		if mismatch == nil || Exception(mismatch) == "host_key_not_offered" {
			mismatch = err
		}
	}
	return nil, nil, mismatch
}

func handshake(ctx context.Context, c Config, t Target, keys *hostKeys, algorithms []string, auth []ssh.AuthMethod, step func(name, detail string)) (*ssh.Client, *idleConn, error) {
	conn, err := reachSSH(ctx, c, t, step)
	if err != nil {
		return nil, nil, err
	}
	// The handshake knows no context, so its connection is closed instead.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	step("host_key", "")
	var keyErr error
	verified := false
	cfg := &ssh.ClientConfig{
		User:              t.User,
		Auth:              auth,
		HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(host string, addr net.Addr, key ssh.PublicKey) error {
			if keyErr = keys.check(host, addr, key); keyErr == nil && !verified {
				verified = true
				step("host_key", key.Type()+" "+ssh.FingerprintSHA256(key))
				step("login", "")
			}
			return keyErr
		},
	}
	sc, chans, reqs, err := ssh.NewClientConn(conn, t.Server(), cfg)
	if err != nil {
		_ = conn.Close()
		return nil, nil, handshakeError(ctx, t, keyErr, verified, err)
	}
	if !stop() {
		_ = sc.Close()
		return nil, nil, wrap("login", t.Server(), ctx.Err())
	}
	return ssh.NewClient(sc, chans, reqs), conn, nil
}

func handshakeError(ctx context.Context, t Target, keyErr error, verified bool, err error) error {
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case keyErr != nil:
		return keyErr
	case ctx.Err() != nil:
		return wrap("login", t.Server(), ctx.Err())
	case errors.As(err, &negotiation) && strings.Contains(err.Error(), "host key"):
		return hostKeyError("host_key_not_offered", "%s has no host key of the known type (%w): ask its owner for its present key and replace the known one", t.Server(), err)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return &Error{Op: "log in to", Path: t.Server(), class: Auth,
			Err: fmt.Errorf("%s refuses user %s: %w", t.Server(), t.User, err)}
	case !verified:
		// The server hung up before it showed its key, as OpenSSH does beyond
		// MaxStartups.
		return &Error{Op: "connect to", Path: t.Server(), class: Connection, Err: err}
	}
	e := &Error{Op: "log in to", Path: t.Server(), class: classify(err), Err: err}
	if e.class == Unclassified {
		e.class = Connection
	}
	return e
}
