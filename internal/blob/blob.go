// Package blob keeps bytes under their SHA-256: what is stored twice is stored
// once, and what is there never changes. A blob is visible only when it is
// whole and on disk.
package blob

import (
	"context"
	"errors"
	"io"
)

// Ref names a blob and says what is known about it.
type Ref struct {
	// SHA256 and MD5 of the content, in lower-case hexadecimal. The first is
	// the key; the second is what publishers put beside their files.
	SHA256, MD5 string
	// Size in bytes.
	Size int64
}

// Store is a content-addressed store. All methods may be called from several
// goroutines and processes at once. A missing blob is an error that matches
// fs.ErrNotExist.
type Store interface {
	// Create begins a blob. The writer must be committed or aborted.
	Create(ctx context.Context) (Writer, error)
	// Open gives random access to a blob. It must be closed.
	Open(ctx context.Context, sha256 string) (Blob, error)
	// Stat returns the size in bytes.
	Stat(ctx context.Context, sha256 string) (int64, error)
	// List calls f for each blob, in no particular order, and stops at its
	// first error.
	List(ctx context.Context, f func(sha256 string, size int64) error) error
	// Remove deletes a blob; one that isn't there is no error.
	Remove(ctx context.Context, sha256 string) error
}

// Writer takes the bytes of a new blob. It is for one goroutine.
type Writer interface {
	io.Writer
	// Ref names what was written so far, whether or not it will be committed.
	Ref() Ref
	// Commit makes the blob durable and visible and returns its name. A
	// content that is there already is kept as it is.
	Commit() (Ref, error)
	// Abort throws away what was written; after Commit it does nothing, so it
	// can be deferred.
	Abort() error
}

// Blob is the content of one blob.
type Blob interface {
	io.ReaderAt
	io.Closer
	// Size in bytes.
	Size() int64
}

// ErrFull is matched by errors that mean that there is no room (or quota) left.
var ErrFull = errors.New("blob store is full")

// ErrDone is returned by a writer that was committed or aborted before.
var ErrDone = errors.New("blob was committed or aborted already")

// Valid reports whether a string is a lower-case hexadecimal SHA-256. Nothing
// else becomes part of a path.
func Valid(sha256 string) bool {
	if len(sha256) != 64 {
		return false
	}
	for _, c := range []byte(sha256) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Put stores what r has in one call.
func Put(ctx context.Context, s Store, r io.Reader) (Ref, error) {
	w, err := s.Create(ctx)
	if err != nil {
		return Ref{}, err
	}
	if _, err := io.Copy(w, r); err != nil {
		return Ref{}, errors.Join(err, w.Abort())
	}
	return w.Commit()
}
