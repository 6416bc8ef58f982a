package sftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
)

// dialSSH connects, through jump hosts where there are any, verifies the host key and logs in.
func dialSSH(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (*ssh.Client, *remote.IdleConn, error) {
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
		if err == nil || remote.ClassOf(err) != remote.HostKey {
			return client, conn, err
		}
		if mismatch == nil || remote.Exception(mismatch) == "host_key_not_offered" {
			mismatch = err
		}
	}
	return nil, nil, mismatch
}

func handshake(ctx context.Context, c remote.Config, t remote.Target, keys *hostKeys, algorithms []string, auth []ssh.AuthMethod, step func(name, detail string)) (*ssh.Client, *remote.IdleConn, error) {
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

func handshakeError(ctx context.Context, t remote.Target, keyErr error, verified bool, err error) error {
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case keyErr != nil:
		return keyErr
	case ctx.Err() != nil:
		return wrap("login", t.Server(), ctx.Err())
	case errors.As(err, &negotiation) && strings.Contains(err.Error(), "host key"):
		return hostKeyError("host_key_not_offered", "%s has no host key of the known type (%w): ask its owner for its present key and replace the known one", t.Server(), err)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return &remote.Error{Op: "log in to", Path: t.Server(), Class: remote.Auth,
			Err: fmt.Errorf("%s refuses user %s: %w", t.Server(), t.User, err)}
	case !verified:
		// The server hung up before it showed its key, as OpenSSH does beyond
		// MaxStartups.
		return &remote.Error{Op: "connect to", Path: t.Server(), Class: remote.Connection, Err: err}
	}
	e := &remote.Error{Op: "log in to", Path: t.Server(), Class: classify(err), Err: err}
	if e.Class == remote.Unclassified {
		e.Class = remote.Connection
	}
	return e
}
