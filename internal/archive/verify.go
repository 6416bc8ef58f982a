package archive

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// Verify inflates every entry, documents and others, and checks sizes and
// checksums by the bytes themselves, writing nothing. After a document was
// checked, each is called with it, its hashes set, in archive order. A caller
// must keep what it does in each to itself until Verify has returned nil: a
// later entry may still fail the archive.
//
// A *RefusedError is about the archive; an error of each is returned as it is;
// the context's error when it ends; any other is a failure to read.
func (a *Archive) Verify(ctx context.Context, each func(Member) error) error {
	v, err := newVerifier()
	if err != nil {
		return err
	}
	defer v.inflater.free()
	for i := range a.members {
		m := &a.members[i]
		if err := v.check(ctx, a.r, m); err != nil {
			return err
		}
		if m.Document && each != nil {
			if err := each(*m); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifier holds what is used again for every entry.
type verifier struct {
	inflater *inflater
	sha, md5 hash.Hash
}

func newVerifier() (*verifier, error) {
	in, err := newInflater(nil)
	if err != nil {
		return nil, err
	}
	return &verifier{inflater: in, sha: sha256.New(), md5: md5.New()}, nil
}

func (v *verifier) check(ctx context.Context, r io.ReaderAt, m *Member) error {
	src := &exact{r: r, off: m.Offset, left: m.CompressedSize}
	if err := v.inflater.reset(src); err != nil {
		return err
	}
	body := io.Reader(v.inflater.in)
	if m.Method == methodDeflate && !(m.Directory && m.CompressedSize == 0) {
		body = v.inflater
	}
	crc := crc32.NewIEEE()
	out := io.Writer(crc)
	if m.Document {
		v.sha.Reset()
		v.md5.Reset()
		out = io.MultiWriter(crc, v.sha, v.md5)
	}
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := body.Read(v.inflater.read[:])
		size += int64(n)
		if size > m.Size {
			return refuse(SizeMismatch, m.Name, "it holds more than the %d bytes that its header says", m.Size)
		}
		_, _ = out.Write(v.inflater.read[:n]) // hashes never fail
		if errors.Is(err, io.EOF) && src.err == nil {
			break
		}
		if err != nil {
			return broken(src, m, size, err)
		}
	}
	if size != m.Size {
		return refuse(SizeMismatch, m.Name, "it holds %d bytes, its header says %d", size, m.Size)
	}
	if rest := src.left + int64(v.inflater.in.Buffered()); rest != 0 {
		return refuse(SizeMismatch, m.Name, "its data ends %d bytes before its header says", rest)
	}
	if sum := crc.Sum32(); sum != m.CRC32 {
		return refuse(CRCMismatch, m.Name, "its checksum is %08x, its header says %08x", sum, m.CRC32)
	}
	if m.Document {
		m.SHA256 = hex.EncodeToString(v.sha.Sum(nil))
		m.MD5 = hex.EncodeToString(v.md5.Sum(nil))
	}
	return nil
}

// broken tells a failure to read from a damaged stream.
func broken(src *exact, m *Member, size int64, err error) error {
	if src.err != nil {
		return fmt.Errorf("entry %q: %w", m.Name, src.err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(SizeMismatch, m.Name, "its compressed data ends after %d of %d bytes", size, m.Size)
	}
	return refuse(CRCMismatch, m.Name, "its compressed data is damaged after %d of %d bytes (%v)", size, m.Size, err)
}
