package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
)

func refusedAs(t *testing.T, err error, want string) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Exception != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

// noise is data that deflate cannot shrink.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// What a limit refuses is refused before it costs anything: the reader fails
// the test if more is read than needed for the verdict.
func TestRefusedBeforeItIsRead(t *testing.T) {
	unread := errors.New("this should not have been read")
	b := layout{parts: []part{{name: "x.xml", data: noise(1 << 20), method: methodDeflate, size: ptr(uint64(10))}}}.bytes(t)
	a, err := Open(bytes.NewReader(b), int64(len(b)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a.r = failing{bytes.NewReader(b), 256 << 10, unread}
	refusedAs(t, a.Verify(context.Background()), SizeMismatch)

	// The directory lies before the last 64 KiB, which are always read.
	many := layout{comment: make([]byte, 60000)}
	for range 3000 {
		many.parts = append(many.parts, part{name: "x.xml"})
	}
	b = many.bytes(t)
	r := onlyTail{bytes.NewReader(b), int64(len(b)) - lenEnd - maxComment, unread}
	_, err = Open(r, int64(len(b)), Limits{MaxEntries: 2999})
	refusedAs(t, err, TooManyEntries)
	_, err = Open(r, int64(len(b)), Limits{MaxDirectory: 3000})
	refusedAs(t, err, TooLarge)
	if _, err = Open(r, int64(len(b)), Limits{}); !errors.Is(err, unread) {
		t.Fatalf("got %v: the directory was not where this test thinks", err)
	}
}

type onlyTail struct {
	io.ReaderAt
	from int64
	err  error
}

func (o onlyTail) ReadAt(b []byte, off int64) (int, error) {
	if off < o.from {
		return 0, o.err
	}
	return o.ReaderAt.ReadAt(b, off)
}

func TestStructureIsRefusedByOpen(t *testing.T) {
	zeros := make([]byte, 2<<20)
	cases := []struct {
		name, want string
		l          layout
	}{
		// Beside enough that does not shrink, the archive's own ratio is fine.
		{"one bomb among others", Ratio, layout{parts: []part{{name: "x.xml", data: zeros, method: methodDeflate}, {name: "y.xml", data: noise(1 << 20)}}}},
		{"stored with two sizes", SizeMismatch, layout{parts: []part{{name: "x.xml", data: []byte("abc"), size: ptr(uint64(4))}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := c.l.bytes(t)
			_, err := Open(bytes.NewReader(b), int64(len(b)), Limits{})
			refusedAs(t, err, c.want)
		})
	}
}

// zip64 rewrites an archive so that its end record is a zip64 one, and lets
// spoil change that record and its locator.
func zip64(b []byte, spoil func(record, locator []byte)) []byte {
	le := binary.LittleEndian
	plain := bytes.Clone(b[len(b)-lenEnd:])
	b = bytes.Clone(b[:len(b)-lenEnd])
	at := len(b)
	rec := make([]byte, lenEnd64)
	le.PutUint32(rec, sigEnd64)
	le.PutUint64(rec[4:], lenEnd64-12)
	le.PutUint64(rec[24:], uint64(le.Uint16(plain[8:])))
	le.PutUint64(rec[32:], uint64(le.Uint16(plain[10:])))
	le.PutUint64(rec[40:], uint64(le.Uint32(plain[12:])))
	le.PutUint64(rec[48:], uint64(le.Uint32(plain[16:])))
	loc := make([]byte, lenEnd64Loc)
	le.PutUint32(loc, sigEnd64Loc)
	le.PutUint64(loc[8:], uint64(at))
	le.PutUint32(loc[16:], 1)
	if spoil != nil {
		spoil(rec, loc)
	}
	le.PutUint32(plain[16:], math.MaxUint32)
	return append(append(append(b, rec...), loc...), plain...)
}

func TestZip64End(t *testing.T) {
	le := binary.LittleEndian
	b := layout{parts: []part{doc("a.xml"), doc("b.xml")}}.bytes(t)
	if docs, err := read(zip64(b, nil), Limits{}); err != nil || len(docs) != 2 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	cases := []struct {
		name, want string
		spoil      func(record, locator []byte)
	}{
		{"too many", TooManyEntries, func(r, _ []byte) { le.PutUint64(r[24:], 1<<40); le.PutUint64(r[32:], 1<<40) }},
		{"directory beyond the file", Truncated, func(r, _ []byte) { le.PutUint64(r[48:], 1<<62) }},
		{"directory of impossible size", Truncated, func(r, _ []byte) { le.PutUint64(r[40:], math.MaxUint64) }},
		{"record beyond the file", Truncated, func(_, l []byte) { le.PutUint64(l[8:], math.MaxUint64) }},
		{"record elsewhere", Truncated, func(_, l []byte) { le.PutUint64(l[8:], 0) }},
		{"record of another length", NotAnArchive, func(r, _ []byte) { le.PutUint64(r[4:], 100) }},
		{"two counts", NotAnArchive, func(r, _ []byte) { le.PutUint64(r[24:], 1) }},
		{"another disk", NotAnArchive, func(r, _ []byte) { le.PutUint32(r[16:], 1) }},
		{"no locator", Truncated, func(_, l []byte) { le.PutUint32(l, 0) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(zip64(b, c.spoil), Limits{})
			refusedAs(t, err, c.want)
		})
	}
}

func TestMemberOfWrongReference(t *testing.T) {
	b := layout{parts: []part{{name: "x.xml", data: bytes.Repeat([]byte("<a/>"), 40), method: methodDeflate}}}.bytes(t)
	docs, err := read(b, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Member){
		"size more":       func(m *Member) { m.Size++ },
		"size less":       func(m *Member) { m.Size-- },
		"checksum":        func(m *Member) { m.CRC32++ },
		"offset":          func(m *Member) { m.Offset++ },
		"negative offset": func(m *Member) { m.Offset = -1 },
		"packed less":     func(m *Member) { m.CompressedSize -= 4 },
		"method":          func(m *Member) { m.Method = 99 },
		"stored":          func(m *Member) { m.Method = methodStore },
	} {
		t.Run(name, func(t *testing.T) {
			m := docs[0]
			spoil(&m)
			r, err := OpenMember(bytes.NewReader(b), m)
			if err == nil {
				var n int64
				if n, err = io.Copy(io.Discard, r); n > m.Size {
					t.Errorf("%d bytes of %d", n, m.Size)
				}
			}
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("got %v, want ErrDamaged", err)
			}
		})
	}
}

func TestMemberAfterClose(t *testing.T) {
	b := layout{parts: []part{doc("x.xml")}}.bytes(t)
	docs, err := read(b, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenMember(bytes.NewReader(b), docs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 4)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("read %d bytes and %v after close", n, err)
	}
}
