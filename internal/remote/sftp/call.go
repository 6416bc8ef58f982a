//go:build !wasip1

package sftp

import (
	"context"
	"errors"
	"time"

	"github.com/pkg/sftp"

	"tributary/internal/remote"
)

// call runs f, which knows no context, until it ends, ctx does, or the limit
// is over. When call gives up, f goes on alone until the server answers or the
// session is closed; what it then still brings goes to drop.
func call[T any](ctx context.Context, s *sftpSession, limit time.Duration, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	if err := ctx.Err(); err != nil {
		var none T
		return none, err
	}
	s.conn.Begin()
	done := make(chan result, 1)
	go func() {
		defer s.conn.End()
		// The last net below the library, which panics where it trusts a server.
		defer func() {
			if p := recover(); p != nil {
				_ = s.conn.Close()
				done <- result{err: remote.Broken("protocol_error", "the SFTP library can't read what it says: %v", p)}
			}
		}()
		v, err := f()
		done <- result{v, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var err error
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = stalled()
	case <-s.lost:
		// A request on a connection that has just ended can be lost without an
		// error; an answer that came before counts.
		select {
		case r := <-done:
			return r.v, r.err
		default:
			err = sftp.ErrSSHFxConnectionLost
		}
	}
	if drop != nil {
		go func() {
			if r := <-done; r.err == nil {
				drop(r.v)
			}
		}()
	}
	var none T
	return none, err
}

func stalled() error {
	return &remote.Error{Op: "wait for", Path: "answer", Class: remote.Timeout, Err: errNoProgress}
}

var errNoProgress = errors.New("the server doesn't answer; raise idle_timeout if it is only slow")
