package lineage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/google/uuid"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/document"
	"tributary/internal/mapping"
	"tributary/internal/xmlsource"
	"tributary/schemas"
)

// maxExcerpt is how much of a record's element is kept, in bytes.
const maxExcerpt = 4 << 10

// Verification is what came of reading a claim's document again.
type Verification struct {
	OK             bool   `json:"ok"`
	DocumentSHA256 string `json:"document_sha256"` // of the bytes read; empty if they could not be
	ElementSHA256  string `json:"element_sha256"`  // of the record's bytes, in UTF-8
	Excerpt        string `json:"excerpt"`         // how these begin
	// Differences say what is not as the warehouse has it.
	Differences []string `json:"differences"`
}

func (v *Verification) differ(format string, args ...any) {
	v.Differences = append(v.Differences, fmt.Sprintf(format, args...))
}

// Verify reads the document of a claim again from the blob store and holds it
// against the warehouse: the document's size and hash, the place of the
// record's element, its key and its fingerprint. What differs is in the result;
// an error means that it could not be found out.
func (r *Reader) Verify(ctx context.Context, blobs blob.Store, c *Claim) (*Verification, error) {
	return verify(ctx, blobs, c, hashDocument, hashElement, r.readRecord)
}

// VerifyDocument is Verify for a document of which only size and hash are
// known.
func VerifyDocument(ctx context.Context, blobs blob.Store, d *Document) (*Verification, error) {
	return verify(ctx, blobs, &Claim{Document: *d}, hashDocument)
}

// step is a part of a verification, with a reader of the document.
type step func(io.Reader, *Claim, *Verification) error

func verify(ctx context.Context, blobs blob.Store, c *Claim, steps ...step) (*Verification, error) {
	v := &Verification{Differences: []string{}}
	for _, step := range steps {
		err := document.Read(ctx, blobs, c.Document.ref(), nil, func(in io.Reader) error { return step(in, c, v) })
		switch {
		case err == nil:
			continue
		case errors.Is(err, fs.ErrNotExist):
			v.differ("the archive %s is not in the blob store: tributary blobs verify --repair has it fetched again", c.Document.Version)
		case blob.Unusable(err):
			// What was read of it is not what was loaded, whatever it says.
			v.DocumentSHA256, v.ElementSHA256, v.Excerpt, v.Differences = "", "", "", []string{}
			v.differ("%s; tributary blobs verify --repair has it fetched again", err)
		case errors.Is(err, archive.ErrDamaged):
			v.differ("%s", err)
		default:
			return nil, fmt.Errorf("read %s in %s: %w", c.Document.Entry, c.Document.File, err)
		}
		break
	}
	v.OK = len(v.Differences) == 0
	return v, nil
}

// ref is the reference to the document in its archive. The hash is compared by
// a step, so that a difference is told as one.
func (d *Document) ref() schemas.DocumentRef {
	return schemas.DocumentRef{Entry: d.Entry, Ordinal: d.ordinal, Archive: d.Version, Offset: d.offset, Packed: d.pack, Size: d.Size,
		Method: d.method, CRC32: d.crc32}
}

func hashDocument(in io.Reader, c *Claim, v *Verification) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	v.DocumentSHA256 = hex.EncodeToString(sum.Sum(nil))
	if v.DocumentSHA256 != c.Document.SHA256 {
		v.differ("the document's bytes have the sha256 %s, but %s was loaded", v.DocumentSHA256, c.Document.SHA256)
	}
	return nil
}

func hashElement(in io.Reader, c *Claim, v *Verification) error {
	utf8, err := xmlsource.Reader(in)
	if encoding := (*xmlsource.EncodingError)(nil); errors.As(err, &encoding) {
		v.differ("the document can't be decoded: %s", encoding.Message)
		return nil
	}
	if err != nil {
		return err
	}
	ended := func() { v.differ("the document ends before byte %d", c.ByteTo) }
	if _, err := io.CopyN(io.Discard, utf8, c.ByteFrom); errors.Is(err, io.EOF) {
		ended()
		return nil
	} else if err != nil {
		return err
	}
	sum, excerpt := sha256.New(), &limited{max: maxExcerpt}
	if _, err := io.CopyN(io.MultiWriter(sum, excerpt), utf8, c.ByteTo-c.ByteFrom); errors.Is(err, io.EOF) {
		ended()
		return nil
	} else if err != nil {
		return err
	}
	v.ElementSHA256, v.Excerpt = hex.EncodeToString(sum.Sum(nil)), string(bytes.ToValidUTF8(excerpt.b, nil))
	return nil
}

// limited keeps the first bytes written to it.
type limited struct {
	b   []byte
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	l.b = append(l.b, p[:min(len(p), l.max-len(l.b))]...)
	return len(p), nil
}

// errFound ends the reading of a document once its record has been read.
var errFound = errors.New("the record was found")

// finder is a sink that waits for one record.
type finder struct {
	ordinal int32
	found   *mapping.Record
}

func (f *finder) Row(*mapping.Row) error { return nil }

func (f *finder) Record(r *mapping.Record) error {
	if r.Ordinal < f.ordinal {
		return nil
	}
	if r.Ordinal == f.ordinal {
		kept := *r
		f.found = &kept
	}
	return errFound
}

// readRecord reads the record anew, by the profile as it is now.
func (r *Reader) readRecord(in io.Reader, c *Claim, v *Verification) error {
	f := &finder{ordinal: c.Ordinal}
	err := r.Mapping.Read(in, mapping.Document{Kind: c.Document.Kind, Centre: c.Document.Centre, Position: c.Position}, f)
	if wrong := (*mapping.DocumentError)(nil); errors.As(err, &wrong) {
		v.differ("the document can't be read any more: %s", wrong)
		return nil
	}
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	if f.found == nil {
		v.differ("the document has no record %d", c.Ordinal)
		return nil
	}
	got := f.found
	if got.Table.Name != c.table {
		v.differ("record %d is of the table %s, but was loaded as one of %s", c.Ordinal, got.Table.Name, c.table)
	}
	if id := uuid.UUID(got.Claim).String(); id != c.id {
		v.differ("the natural key is %s, but %s was loaded", keyText(got.Key), keyText(c.key))
	}
	if fingerprint := uuid.UUID(got.Fingerprint).String(); fingerprint != c.Fingerprint {
		note := ""
		if now := r.Mapping.Name + "@" + r.Mapping.Version; now != c.Document.Profile {
			note = fmt.Sprintf("; it was loaded with the profile %s, and read with %s", c.Document.Profile, now)
		}
		v.differ("the content has the fingerprint %s, but %s was loaded%s", fingerprint, c.Fingerprint, note)
	}
	if got.Line != c.Line || got.Column != c.Column {
		v.differ("the element is at line %d, column %d, but was loaded from line %d, column %d", got.Line, got.Column, c.Line, c.Column)
	}
	if got.ByteFrom != c.ByteFrom || got.ByteTo != c.ByteTo {
		v.differ("the element is at bytes %d to %d, but was loaded from bytes %d to %d", got.ByteFrom, got.ByteTo, c.ByteFrom, c.ByteTo)
	}
	return nil
}

// keyText is a key for people.
func keyText(key []*string) string {
	var b bytes.Buffer
	for i, k := range key {
		if i > 0 {
			b.WriteString(", ")
		}
		if k == nil {
			b.WriteString("(none)")
		} else {
			fmt.Fprintf(&b, "%q", *k)
		}
	}
	return b.String()
}
