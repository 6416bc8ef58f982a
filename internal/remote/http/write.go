package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"tributary/internal/remote"
	"tributary/internal/remote/writing"
)

// davWriter changes files by WebDAV (RFC 4918).
type davWriter struct{ s *Session }

// Writer is nil where the source isn't read by WebDAV: plain HTTP can't change anything.
func (s *Session) Writer() writing.Writer {
	if !s.cfg.WebDAV {
		return nil
	}
	return davWriter{s}
}

// Remove deletes a file. What is a directory by now stays: DELETE takes all that is in it.
func (w davWriter) Remove(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.target.Base, p)
	if err == nil {
		err = w.file(ctx, full)
	}
	if err == nil {
		_, err = w.change(ctx, http.MethodDelete, full, Part{})
	}
	return w.s.Fail("delete", p, err)
}

// Move renames a file, which the server refuses where there is something. Not all do, so
// that is asked first.
func (w davWriter) Move(ctx context.Context, from, to string) error {
	a, b, err := remote.Between(w.s.target.Base, from, to)
	if err != nil {
		return err
	}
	if err := w.file(ctx, a); err != nil {
		return w.s.Fail("move", from, err)
	}
	if err := remote.Vacant(ctx, to, w.s.Stat); err != nil {
		return err
	}
	status, err := w.change(ctx, "MOVE", a, Part{to: w.s.At(b, false).String()})
	if status == http.StatusPreconditionFailed {
		return remote.Occupied(to)
	}
	return w.s.Fail("move", from, err)
}

// Mark makes an empty file, unless something is there already.
func (w davWriter) Mark(ctx context.Context, p string) error {
	switch _, err := w.s.Stat(ctx, p); {
	case err == nil:
		return nil
	case remote.ClassOf(err) != remote.NotExist:
		return err
	}
	full, err := remote.Join(w.s.target.Base, p)
	if err != nil {
		return err
	}
	status, err := w.change(ctx, http.MethodPut, full, Part{absent: true})
	if status == http.StatusPreconditionFailed {
		return nil
	}
	return w.s.Fail("mark", p, err)
}

// MakeDirectory makes a directory. Where something is there already, the method is not
// allowed.
func (w davWriter) MakeDirectory(ctx context.Context, p string) error {
	full, err := remote.Join(w.s.target.Base, p)
	if err != nil {
		return err
	}
	status, err := w.change(ctx, "MKCOL", full, Part{})
	if status == http.StatusMethodNotAllowed {
		is, statErr := w.s.Stat(ctx, p)
		if statErr == nil && is.Kind == remote.Dir {
			return nil
		}
	}
	return w.s.Fail("make directory", p, err)
}

// file refuses what is no file.
func (w davWriter) file(ctx context.Context, full string) error {
	is, err := w.s.property(ctx, full)
	if err == nil && is.Kind != remote.File {
		err = &remote.Error{Class: remote.Unclassified, Err: errors.New("it is no file any more, so it stays as it is")}
	}
	return err
}

// change asks for one change of what is at a path, and returns the answer's status, 0
// where there was none. It is done where it was asked for, or not: a change isn't sent on.
func (w davWriter) change(ctx context.Context, method, full string, of Part) (status int, err error) {
	of.Changes = true
	at := w.s.At(full, method == "MKCOL")
	resp, done, err := w.s.Once(ctx, func(asking context.Context) (*http.Response, error) { return w.s.ask(asking, method, at, of) }) //nolint:bodyclose // done closes it
	if err != nil {
		return 0, err
	}
	defer done()
	if Redirects(resp.StatusCode) {
		return resp.StatusCode, sentOn("where something was to be changed: if the files are there, that is the url")
	}
	if err := Refusal(resp, of); err != nil {
		return resp.StatusCode, fmt.Errorf("%s: %w", method, err)
	}
	return resp.StatusCode, nil
}
