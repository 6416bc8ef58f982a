package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Resumer is a [Session] that can go on in the middle of a file.
type Resumer interface {
	// OpenAt is Open from an offset in bytes on, for a caller that has the bytes
	// before it. version is what [Version] said of the reader that brought these:
	// where it is not empty, the server is asked to go on only if the file still is
	// that version; where it is, the caller has to know. An error that matches
	// [ErrNotResumed] says that the file must be opened from its beginning; the
	// session goes on.
	OpenAt(ctx context.Context, path string, offset int64, version string) (io.ReadCloser, error)
}

// ErrNotResumed is matched by errors of a server that doesn't go on in the middle
// of a file, or of another version of it.
var ErrNotResumed = errors.New("the transfer can't be resumed")

// Version is how the server names the very bytes that a reader of [Session.Open]
// brings, in the words of the protocol: only [Resumer] reads it. Empty: it doesn't.
func Version(r io.Reader) string {
	if v, ok := r.(interface{ Version() string }); ok {
		return v.Version()
	}
	return ""
}

// Whose describes the one version of a file of which a reader of [Session.Open] or
// [Resumer] brings bytes, whatever takes its place meanwhile. Nil: that is not known, so
// what the server shows afterwards has to be compared.
func Whose(r io.Reader) *Entry {
	if v, ok := r.(interface{ Whose() *Entry }); ok {
		return v.Whose()
	}
	return nil
}

// After is how the server shows a file of which a reader has brought all, found out before
// the reader is closed, and with fewer questions than [Session.Stat] takes. Nil: Stat has
// to be asked, as it has where this is not what was expected.
func After(ctx context.Context, r io.Reader) *Entry {
	v, ok := r.(interface{ After(context.Context) *Entry })
	if !ok {
		return nil
	}
	e := v.After(ctx)
	if e != nil {
		*e = Storable(*e)
	}
	return e
}

// resuming is a strict session that can resume.
type resuming struct {
	strict
	Resumer
}

// checked is a session as callers get it, with the abilities that it has.
func checked(s Session) Session {
	r, resumes := s.(Resumer)
	c, asks := s.(Conditional)
	switch {
	case resumes && asks:
		return revisiting{resuming{strict{s}, r}, c}
	case resumes:
		return resuming{strict{s}, r}
	}
	return strict{s}
}

// NotResumed says why a file must be opened from its beginning.
func NotResumed(p, format string, args ...any) error {
	return &Error{Op: "resume", Path: p, Class: Unclassified, Err: fmt.Errorf("%w: %w", ErrNotResumed, fmt.Errorf(format, args...))}
}
