// Package original shows what was received as it was received: the lines of a
// document around places in it, and the bytes of a document or of a whole file. It
// reads the blob store, and changes nothing there.
package original

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/schemas"
)

// ErrTooLarge says that a document is larger than who asks wants to read.
var ErrTooLarge = errors.New("the document is too large")

// errElsewhere says that an archive has no such document where it is looked for.
var errElsewhere = errors.New("the archive has no such document at its place")

// Reader reads originals.
type Reader struct {
	Blobs blob.Store
	// Limits are those of archives, as the role unzip has them.
	Limits archive.Limits
}

// Document says which document of which archive is meant.
type Document struct {
	Archive string // sha256 of the archive
	Ordinal int    // its place in the archive's directory, from 0
	SHA256  string // of its own bytes; empty: not known, and not compared
}

// Copy writes a document's bytes to the result of begin, which is told their number. An
// error of another kind than begin's or the writer's means that the bytes are not there,
// or not the right ones: Words says so to people. What was written must not be believed then.
func (r *Reader) Copy(ctx context.Context, d Document, begin func(size int64) (io.Writer, error)) error {
	ref, err := r.locate(ctx, d)
	if err != nil {
		return err
	}
	return document.Read(ctx, r.Blobs, ref, nil, func(in io.Reader) error {
		to, err := begin(ref.Size)
		if err == nil {
			_, err = io.Copy(to, in)
		}
		return err
	})
}

// CopyFile is Copy of a whole file, of the version that has this sha256.
func (r *Reader) CopyFile(ctx context.Context, sha256 string, begin func(size int64) (io.Writer, error)) error {
	b, err := r.Blobs.Open(ctx, sha256)
	if err != nil {
		return err
	}
	defer b.Close()
	return blob.Document(ctx, r.Blobs, b, sha256, io.NewSectionReader(b, 0, b.Size()), sha256, blob.ErrDamaged, func(in io.Reader) error {
		to, err := begin(b.Size())
		if err == nil {
			_, err = io.Copy(to, in)
		}
		return err
	})
}

// locate finds a document where its archive's directory says that it lies: events tell
// that too, but no projection that pages read keeps it, and the directory is at hand.
func (r *Reader) locate(ctx context.Context, d Document) (schemas.DocumentRef, error) {
	b, err := r.Blobs.Open(ctx, d.Archive)
	if err != nil {
		return schemas.DocumentRef{}, err
	}
	defer b.Close()
	a, err := archive.Open(b, b.Size(), r.Limits)
	if err != nil {
		return schemas.DocumentRef{}, fmt.Errorf("the archive can't be read: %w", err)
	}
	all := a.Members()
	if d.Ordinal < 0 || d.Ordinal >= len(all) || !all[d.Ordinal].Document {
		return schemas.DocumentRef{}, fmt.Errorf("entry %d: %w", d.Ordinal, errElsewhere)
	}
	m := all[d.Ordinal]
	m.SHA256 = d.SHA256
	return document.Ref("", d.Archive, m), nil
}

// Words says to people why an original can't be shown, by the error of a Reader.
func Words(err error) string {
	var refused *archive.RefusedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Its bytes are not in the blob store any more. What a source still shows is fetched again by tributary blobs verify --repair."
	case errors.Is(err, blob.ErrDamaged), errors.Is(err, archive.ErrDamaged), errors.Is(err, errElsewhere), errors.As(err, &refused):
		return "Its stored bytes are not those that were received, so they are not shown. What a source still shows is fetched again by tributary blobs verify --repair."
	case errors.Is(err, blob.ErrNotMarked):
		return "The blob store is not where it should be: is its disk mounted?"
	case errors.Is(err, ErrTooLarge):
		return "The document is too large to be read for a page."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "Reading the stored bytes took too long."
	}
	return "The blob store does not answer."
}
