package remote

import (
	"context"
	"errors"
	"fmt"

	"tributary/internal/deadline"
)

// Server returns the key under which a source's sessions are counted,
// host:port with the protocol's default port, or "" when the URL is bad.
func (r Registry) Server(c Config) string {
	t, err := r.ParseURL(c.URL)
	if err != nil {
		return ""
	}
	if known, _ := r.of(t.Scheme); known.Server != nil {
		if t, err = known.Server(c, t); err != nil {
			return ""
		}
	}
	return t.Server()
}

// Dial connects and logs in, within the connect timeout. The session must be
// closed. ctx bounds Dial only.
func (r Registry) Dial(ctx context.Context, c Config) (Session, error) {
	trace := c.Trace
	if trace == nil {
		trace = &Trace{}
	}
	trace.config = c
	s, err := r.dial(ctx, c, trace)
	if err != nil {
		trace.failed(err)
	}
	return s, err
}

// dial tells trace which step it begins, or has ended well.
func (r Registry) dial(ctx context.Context, c Config, trace *Trace) (Session, error) {
	t, err := r.ParseURL(c.URL)
	if own := (*Error)(nil); errors.As(err, &own) {
		return nil, Wrap("parse", "", err)
	}
	if err != nil {
		return nil, &Error{Op: "parse", Class: Misconfigured, Err: err}
	}
	known, _ := r.of(t.Scheme) // it has been parsed by it
	trace.remedy = known.Remedy
	return r.open(ctx, c.WithDefaults(), t, trace.dialled)
}

// open bounds all steps of connecting together: what trickles in renews
// nothing.
func (r Registry) open(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error) {
	known, err := r.of(t.Scheme)
	if err != nil {
		return nil, Wrap("connect", "", err)
	}
	within, cancel := deadline.After(ctx, c.ConnectTimeout, context.DeadlineExceeded)
	defer cancel()
	s, err := known.Dial(within, c, t, step)
	switch {
	case err == nil:
		return checked(s), nil
	case ctx.Err() == nil && within.Err() != nil:
		where := ""
		if known.Where != nil {
			where = known.Where(err)
		}
		return nil, &Error{Op: "connect to", Path: t.Server(), Class: Timeout,
			Err: fmt.Errorf("connecting and logging in took longer than connect_timeout, %s%s", c.ConnectTimeout, where)}
	}
	return nil, err
}
