package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"tributary/internal/remote/writing"
)

// writes is a session that can change what is on its server. Callers never have one:
// what they get of [Dial] has the methods of [Session] alone.
type writes interface {
	// Writer is nil where the session, as it is configured, can't.
	Writer() writing.Writer
}

// inner is the connector's own session.
func (s strict) inner() Session { return s.Session }

// Writing is what changes the files of the session's server, for who may. Over HTTP
// without WebDAV there is none: the error matches [writing.ErrUnsupported].
func Writing(s Session, permit writing.Permit) (writing.Writer, error) {
	if !permit.Given() {
		return nil, &Error{Op: "write", Class: Permission, Err: errors.New("nobody has given leave to change what is on the server")}
	}
	if outer, ok := s.(interface{ inner() Session }); ok {
		s = outer.inner()
	}
	if w, ok := s.(writes); ok {
		if by := w.Writer(); by != nil {
			return by, nil
		}
	}
	return nil, &Error{Op: "write", Class: Misconfigured, Exception: "writing_unsupported", Err: writing.ErrUnsupported}
}

// Occupied says that there is something already where a file is to be moved.
func Occupied(to string) error {
	return &Error{Op: "move to", Path: to, Class: Unclassified, Exception: "target_exists", Err: fmt.Errorf("something is there already, and is not replaced: %w", fs.ErrExist)}
}

// Vacant is nil where nothing is, as far as stat tells.
func Vacant(ctx context.Context, to string, stat func(context.Context, string) (Entry, error)) error {
	_, err := stat(ctx, to)
	switch {
	case err == nil:
		return Occupied(to)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Between are the two paths of a move, below the base.
func Between(base, from, to string) (a, b string, err error) {
	if a, err = Join(base, from); err == nil {
		b, err = Join(base, to)
	}
	if err == nil && path.Clean(a) == path.Clean(b) {
		err = Occupied(to)
	}
	return a, b, err
}
