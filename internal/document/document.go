// Package document opens documents by their references. A document is a range
// of its archive's blob: no bytes are stored twice.
package document

import (
	"context"
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

// Read lets f judge a document's bytes, and compares them with the size, the
// checksum and the hash of its reference afterwards, also where f has not read
// them all. If they are not the right ones, what f said is not believed: the
// error is blob.ErrDamaged, or fs.ErrNotExist, if the archive's stored bytes are
// to blame, and archive.ErrDamaged if these are as they were, so that the
// reference is wrong. Progress is told of every read, and may be nil.
func Read(ctx context.Context, store blob.Store, r schemas.DocumentRef, progress func(), f func(io.Reader) error) error {
	b, err := store.Open(ctx, r.Archive)
	if err != nil {
		return fmt.Errorf("document %s: %w", r.Entry, err)
	}
	defer b.Close()
	m, err := archive.OpenMember(b, archive.Member{
		Name: r.Entry, Ordinal: int(r.Ordinal), Document: true, Offset: r.Offset, CompressedSize: r.Packed, Size: r.Size,
		Method: uint16(r.Method), CRC32: uint32(r.CRC32), SHA256: r.SHA256, MD5: r.MD5,
	})
	if err != nil {
		return fmt.Errorf("document %s: %w", r.Entry, err)
	}
	defer m.Close()
	return blob.Document(ctx, store, b, r.Archive, &watched{m, progress}, r.SHA256, archive.ErrDamaged, f)
}

// watched tells of every read.
type watched struct {
	io.Reader
	progress func()
}

func (w *watched) Read(p []byte) (int, error) {
	if w.progress != nil {
		w.progress()
	}
	return w.Reader.Read(p)
}
