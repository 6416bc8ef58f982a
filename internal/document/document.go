// Package document opens documents by their references. A document is a range
// of its archive's blob: no bytes are stored twice.
package document

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/schemas"
)

// Ref refers to a member of the archive with the given sha256.
func Ref(file, sha256 string, m archive.Member) schemas.DocumentRef {
	return schemas.DocumentRef{
		Document: schemas.DocumentID(file, m.Name), Entry: m.Name, Ordinal: int32(m.Ordinal), Archive: sha256,
		Offset: m.Offset, Packed: m.CompressedSize, Size: m.Size, Method: int32(m.Method), CRC32: int64(m.CRC32), SHA256: m.SHA256, MD5: m.MD5,
	}
}

// Open streams a document's bytes. At the end its size and checksum are
// compared: a difference is archive.ErrDamaged, damage to the store.
func Open(ctx context.Context, store blob.Store, r schemas.DocumentRef) (io.ReadCloser, error) {
	b, err := store.Open(ctx, r.Archive)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", r.Entry, err)
	}
	rc, err := archive.OpenMember(b, archive.Member{
		Name: r.Entry, Ordinal: int(r.Ordinal), Document: true, Offset: r.Offset, CompressedSize: r.Packed, Size: r.Size,
		Method: uint16(r.Method), CRC32: uint32(r.CRC32), SHA256: r.SHA256, MD5: r.MD5,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("document %s: %w", r.Entry, err), b.Close())
	}
	return &reader{ReadCloser: rc, blob: b}, nil
}

type reader struct {
	io.ReadCloser
	blob blob.Blob
}

func (r *reader) Close() error { return errors.Join(r.ReadCloser.Close(), r.blob.Close()) }
