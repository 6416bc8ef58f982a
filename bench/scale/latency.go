package main

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// network is a connector whose every request takes a while, and that counts
// sessions as the server would.
type network struct {
	latency time.Duration
	open    atomic.Int64
	most    atomic.Int64
}

// dial connects, which is one request more than it would be without a network.
func (n *network) dial(ctx context.Context, c remote.Config) (remote.Session, error) {
	if err := n.wait(ctx); err != nil {
		return nil, err
	}
	s, err := connectors.All().Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	now := n.open.Add(1)
	for most := n.most.Load(); now > most && !n.most.CompareAndSwap(most, now); most = n.most.Load() {
	}
	return &session{Session: s, n: n}, nil
}

// wait is one request's way there and back.
func (n *network) wait(ctx context.Context) error {
	timer := time.NewTimer(n.latency)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// session is a connection over the network.
type session struct {
	remote.Session
	n      *network
	closed atomic.Bool
}

func (s *session) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	if err := s.n.wait(ctx); err != nil {
		return err
	}
	return s.Session.List(ctx, dir, yield)
}

func (s *session) Stat(ctx context.Context, path string) (remote.Entry, error) {
	if err := s.n.wait(ctx); err != nil {
		return remote.Entry{}, err
	}
	return s.Session.Stat(ctx, path)
}

// Open takes a request, and the first reading another.
func (s *session) Open(ctx context.Context, path string, size int64) (io.ReadCloser, error) {
	if err := s.n.wait(ctx); err != nil {
		return nil, err
	}
	r, err := s.Session.Open(ctx, path, size)
	if err != nil {
		return nil, err
	}
	return &reading{ReadCloser: r, ctx: ctx, n: s.n}, nil
}

// Concurrency is one: a server that does one thing at a time per session.
func (s *session) Concurrency() int { return 1 }

func (s *session) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		s.n.open.Add(-1)
	}
	return s.Session.Close()
}

type reading struct {
	io.ReadCloser
	ctx   context.Context
	n     *network
	begun bool
}

func (r *reading) Read(b []byte) (int, error) {
	if !r.begun {
		r.begun = true
		if err := r.n.wait(r.ctx); err != nil {
			return 0, err
		}
	}
	return r.ReadCloser.Read(b)
}
