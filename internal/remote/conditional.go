package remote

import (
	"context"
	"errors"
)

// Conditional is a [Session] that asks a server whether what it lists is another than
// before, which costs no more than the question.
type Conditional interface {
	// ListIf is List, unless the listing still is the version that an earlier one of
	// the same directory was: then its error matches [ErrUnchanged], and nothing is
	// yielded. An empty version is none. It returns the version of what it yields,
	// empty where the server names none.
	ListIf(ctx context.Context, dir, version string, yield func(Entry) error) (is string, err error)
}

// ErrUnchanged is matched by the errors of listings that are as they were.
var ErrUnchanged = errors.New("the listing is as it was")

// revisiting is a session that resumes, and can be asked whether listings are others.
type revisiting struct {
	resuming
	c Conditional
}

// ListIf passes each entry on as it may be stored.
func (s revisiting) ListIf(ctx context.Context, dir, version string, yield func(Entry) error) (string, error) {
	return s.c.ListIf(ctx, dir, version, func(e Entry) error { return yield(Storable(e)) })
}
