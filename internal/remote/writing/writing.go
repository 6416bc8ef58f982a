// Package writing is the ability to change what is on a server: to delete, move and
// mark files. Sources are read-only to all of the program but the one package that
// does what is ordered once files are inserted, and that is held by who may import this
// one (test/floors): without a [Permit] package remote gives no [Writer].
package writing

import (
	"context"
	"errors"
)

// Writer changes what is on the server of a session. Paths are those of the session.
// Each method does one thing that the server does at once, or says why it is not done.
type Writer interface {
	// Remove deletes a file. One that is not there is an error that matches
	// fs.ErrNotExist.
	Remove(ctx context.Context, path string) error
	// Move gives a file another path, in a directory that is there. What is there
	// already is never replaced: the error matches fs.ErrExist then. A copy of the very
	// file that an earlier call left there is taken for it.
	Move(ctx context.Context, from, to string) error
	// Mark makes an empty file. One that is there already stays as it is.
	Mark(ctx context.Context, path string) error
	// MakeDirectory makes a directory, in one that is there, unless it is there already.
	MakeDirectory(ctx context.Context, path string) error
}

// ErrUnsupported is matched by the errors of sessions whose protocol can't change
// anything.
var ErrUnsupported = errors.New("files can't be deleted, moved or marked over this protocol")

// Permit is the leave to change what is on servers. The zero Permit gives none.
type Permit struct{ given bool }

// Permitted gives leave.
func Permitted() Permit { return Permit{true} }

// Given tells whether there is leave.
func (p Permit) Given() bool { return p.given }
