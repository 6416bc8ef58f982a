package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read opens and verifies b and returns its documents.
func read(b []byte, l Limits) ([]Member, error) {
	a, err := Open(bytes.NewReader(b), int64(len(b)), l)
	if err != nil {
		return nil, err
	}
	if err := a.Verify(context.Background()); err != nil {
		return nil, err
	}
	return documents(a), nil
}

func documents(a *Archive) (docs []Member) {
	for _, m := range a.Members() {
		if m.Document {
			docs = append(docs, m)
		}
	}
	return docs
}

func doc(name string) part {
	return part{name: name, data: []byte("<a>" + name + "</a>"), method: methodDeflate}
}

func TestRefusals(t *testing.T) {
	zeros := make([]byte, 4<<20)
	ok := doc("ok.xml")
	payload := []byte("<payload>0123456789</payload>")
	// As zbsm does it: the inner entry lies in the stored bytes of the outer.
	inner := layout{parts: []part{doc("inner.xml")}}.bytes(t)
	kernel := inner[:bytes.Index(inner, []byte("PK\x01\x02"))]
	whole := layout{parts: []part{ok, doc("second.xml")}}.bytes(t)
	big := make([]part, 5)
	for i := range big {
		big[i] = doc(fmt.Sprintf("%d.xml", i))
	}
	cases := []struct {
		name, want string
		l          layout
		raw        []byte
		limits     Limits
	}{
		{name: "empty file", want: NotAnArchive, raw: []byte{}},
		{name: "html page", want: NotAnArchive, raw: []byte("<html>404 there is no such file here, sorry</html>")},
		{name: "bytes after", want: NotAnArchive, l: layout{parts: []part{ok}, suffix: []byte("junk")}},
		{name: "bytes before", want: NotAnArchive, l: layout{parts: []part{ok}, prefix: []byte("#!/bin/sh\n")}},
		{name: "end record in a comment", want: NotAnArchive, l: layout{parts: []part{ok}, comment: append([]byte("PK\x05\x06"), make([]byte, 18)...)}},
		{name: "count too low", want: NotAnArchive, l: layout{parts: []part{ok, doc("b.xml")}, entries: ptr(uint16(1))}},
		{name: "count too high", want: NotAnArchive, l: layout{parts: []part{ok, {name: strings.Repeat("n", 90)}}, entries: ptr(uint16(3))}},
		{name: "count impossible", want: Truncated, l: layout{parts: []part{ok}, entries: ptr(uint16(60000))}},
		{name: "cut in the data", want: Truncated, raw: whole[:40]},
		{name: "cut in the directory", want: Truncated, raw: whole[:len(whole)-60]},
		{name: "cut in the end record", want: Truncated, raw: whole[:len(whole)-5]},
		{name: "cut in the comment", want: Truncated, raw: func() []byte {
			b := layout{parts: []part{ok}, comment: []byte("a longer comment")}.bytes(t)
			return b[:len(b)-4]
		}()},
		{name: "hole in the middle", want: Truncated, raw: append(append([]byte{}, whole[:10]...), whole[30:]...)},
		{name: "no entry where one should be", want: Truncated, l: layout{parts: []part{ok, {name: "x.xml", data: payload, at: ptr(uint32(3))}}}},
		{name: "name beyond the directory", want: Truncated, raw: func() []byte {
			b := layout{parts: []part{{name: "x.xml", data: payload}}}.bytes(t)
			b[bytes.LastIndex(b, []byte("PK\x01\x02"))+28]++
			return b
		}()},
		{name: "split over two disks", want: NotAnArchive, raw: func() []byte {
			b := layout{parts: []part{ok}}.bytes(t)
			b[len(b)-lenEnd+4] = 1
			return b
		}()},
		{name: "two counts", want: NotAnArchive, raw: func() []byte {
			b := layout{parts: []part{ok}}.bytes(t)
			b[len(b)-lenEnd+8]++
			return b
		}()},
		{name: "damaged directory", want: Truncated, raw: bytes.Replace(whole, []byte("PK\x01\x02"), []byte("PK\x01\x03"), 1)},
		{name: "encrypted", want: Encrypted, l: layout{parts: []part{ok, {name: "x.xml", data: payload, flags: 1}}}},
		{name: "encrypted by AES", want: Encrypted, l: layout{parts: []part{ok, {name: "x.xml", data: payload, method: 99}}}},
		{name: "encrypted by its own header only", want: Encrypted, l: layout{parts: []part{{name: "x.xml", data: payload, localFlags: ptr(uint16(1))}}}},
		{name: "masked headers", want: Encrypted, l: layout{parts: []part{ok, {name: "x.xml", data: payload, flags: flagMasked}}}},
		{name: "deflate64", want: UnsupportedMethod, l: layout{parts: []part{ok, {name: "x.xml", data: payload, method: 9}}}},
		{name: "bzip2", want: UnsupportedMethod, l: layout{parts: []part{ok, {name: "x.xml", data: payload, method: 12}}}},
		{name: "another method in its own header", want: UnsupportedMethod, l: layout{parts: []part{{name: "x.xml", data: payload, localMethod: ptr(uint16(8))}}}},
		{name: "slip", want: PathSlip, l: layout{parts: []part{ok, {name: "../x.xml", data: payload}}}},
		{name: "slip inside", want: PathSlip, l: layout{parts: []part{ok, {name: "a/../../x.xml", data: payload}}}},
		{name: "absolute", want: PathAbsolute, l: layout{parts: []part{ok, {name: "/etc/x.xml", data: payload}}}},
		{name: "drive", want: PathAbsolute, l: layout{parts: []part{ok, {name: "C:x.xml", data: payload}}}},
		{name: "backslash", want: PathBackslash, l: layout{parts: []part{ok, {name: `..\x.xml`, data: payload}}}},
		{name: "symlink", want: Symlink, l: layout{parts: []part{ok, {name: "x.xml", data: []byte("/etc/passwd"), mode: 0o120777}}}},
		{name: "device", want: Symlink, l: layout{parts: []part{ok, {name: "x.xml", mode: 0o020666}}}},
		{name: "duplicate", want: DuplicateEntry, l: layout{parts: []part{ok, ok}}},
		{name: "duplicate by path", want: DuplicateEntry, l: layout{parts: []part{ok, doc("./ok.xml")}}},
		{name: "duplicate of a folder", want: DuplicateEntry, l: layout{parts: []part{ok, doc("a"), {name: "a/"}}}},
		{name: "overlap as in zbsm", want: OverlappingEntries, l: layout{parts: []part{
			{name: "outer.xml", data: kernel},
			{name: "inner.xml", data: []byte("<a>inner.xml</a>"), method: methodDeflate, at: ptr(uint32(lenLocal + len("outer.xml")))},
		}}},
		{name: "overlap with the directory", want: OverlappingEntries, l: layout{parts: []part{ok, {name: "x.xml", data: payload, at: ptr(uint32(100000))}}}},
		{name: "data reach into the directory", want: OverlappingEntries, l: layout{parts: []part{{name: "x.xml", data: payload, localExtra: make([]byte, 4)}}, dirOff: ptr(uint32(0))},
			raw: func() []byte {
				b := layout{parts: []part{{name: "x.xml", data: payload}}}.bytes(t)
				binary.LittleEndian.PutUint16(b[28:], 3) // the data begin three bytes later
				return b
			}()},
		{name: "too many by the count", want: TooManyEntries, l: layout{parts: big}, limits: Limits{MaxEntries: 4}},
		{name: "too many by the directory", want: TooManyEntries, l: layout{parts: big, entries: ptr(uint16(2))}, limits: Limits{MaxEntries: 4}},
		{name: "too large", want: TooLarge, l: layout{parts: []part{ok, {name: "x.xml", data: zeros[:3000]}}}, limits: Limits{MaxTotal: 3000}},
		{name: "directory too large", want: TooLarge, l: layout{parts: big}, limits: Limits{MaxDirectory: 100}},
		{name: "ratio", want: Ratio, l: layout{parts: []part{{name: "x.xml", data: zeros, method: methodDeflate}}}},
		{name: "ratio of all together", want: Ratio, l: layout{parts: []part{
			{name: "1.xml", data: zeros[:1<<20], method: methodDeflate}, {name: "2.xml", data: zeros[:1<<20], method: methodDeflate}, {name: "3.xml", data: zeros[:1<<20], method: methodDeflate}}}},
		{name: "nested", want: Nested, l: layout{parts: []part{ok, {name: "x.ZIP", data: payload}}}},
		{name: "nested in a folder", want: Nested, l: layout{parts: []part{ok, {name: "a/b.tar.gz", data: payload}}}},
		{name: "crc", want: CRCMismatch, l: layout{parts: []part{ok, {name: "x.xml", data: payload, crc: ptr(uint32(7))}}}},
		{name: "crc of what is no document", want: CRCMismatch, l: layout{parts: []part{ok, {name: "a/x.png", data: payload, crc: ptr(uint32(7))}}}},
		{name: "crc of the record after the data", want: CRCMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, flags: flagDescriptor, descriptor: descriptor([]byte("<payload>9876543210</payload>"), len(payload))}}}},
		{name: "crc in its own header", want: CRCMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, localCRC: ptr(uint32(7))}}}},
		{name: "streamed, crc in its own header", want: CRCMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, flags: flagDescriptor, early: true,
			localCRC: ptr(uint32(7)), descriptor: descriptor(payload, len(payload))}}}},
		{name: "damaged stream", want: CRCMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, packed: []byte{7, 0xff, 0xff, 0xff}}}}},
		{name: "stream ends early", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, packed: deflated(t, payload)[:5]}}}},
		{name: "stream leaves bytes over", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, packed: append(deflated(t, payload), 1, 2, 3)}}}},
		{name: "holds more than said", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: zeros, method: methodDeflate, size: ptr(uint64(10))}}}},
		{name: "holds less than said", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, size: ptr(uint64(99))}}}},
		{name: "stored with two sizes", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, size: ptr(uint64(99))}}}},
		{name: "another size in its own header", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, localSize: ptr(uint32(99))}}}},
		{name: "streamed, another size in its own header", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, flags: flagDescriptor, early: true,
			localSize: ptr(uint32(99)), descriptor: descriptor(payload, len(payload))}}}},
		{name: "no record after the data", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, flags: flagDescriptor, descriptor: []byte{}}}}},
		{name: "zip64 sizes missing", want: SizeMismatch, l: layout{parts: []part{{name: "x.xml", data: payload, method: methodDeflate, size: ptr(uint64(math.MaxUint32))}}}},
		{name: "folder with content", want: SizeMismatch, l: layout{parts: []part{ok, {name: "a/", data: payload}}}},
		{name: "another name in its own header", want: NameMismatch, l: layout{parts: []part{{name: "x.xml", localName: "y.xml", data: payload}}}},
		{name: "no name", want: NameInvalid, l: layout{parts: []part{ok, {name: "", data: payload}}}},
		{name: "NUL in a name", want: NameInvalid, l: layout{parts: []part{ok, {name: "a\x00.xml", data: payload}}}},
		{name: "line feed in a name", want: NameInvalid, l: layout{parts: []part{ok, {name: "a\n.xml", data: payload}}}},
		{name: "long name", want: NameInvalid, l: layout{parts: []part{ok, {name: strings.Repeat("n", 1025), data: payload}}}},
		{name: "no entries", want: NoDocuments, l: layout{}},
		{name: "documents in folders or in capitals only", want: NoDocuments, l: layout{parts: []part{doc("a/x.xml"), doc("X.XML")}}},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := c.raw
			if b == nil {
				b = c.l.bytes(t)
			}
			_, err := read(b, c.limits)
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if refused.Exception != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if refused.Message == "" {
				t.Error("no message for people")
			}
		})
		seen[c.want] = true
	}
	for _, name := range []string{NotAnArchive, Truncated, Encrypted, UnsupportedMethod, PathSlip, PathAbsolute, PathBackslash, Symlink,
		DuplicateEntry, OverlappingEntries, TooManyEntries, TooLarge, Ratio, Nested, CRCMismatch, SizeMismatch, NameMismatch, NameInvalid, NoDocuments} {
		if !seen[name] {
			t.Errorf("no case for %s", name)
		}
	}
}

func TestAccepted(t *testing.T) {
	data := []byte("<a>x.xml</a>")
	wide := binary.LittleEndian.AppendUint32(nil, sigDescriptor)
	wide = append(wide, descriptor(data, len(deflated(t, data)))[4:8]...)
	wide = binary.LittleEndian.AppendUint64(wide, uint64(len(deflated(t, data))))
	wide = binary.LittleEndian.AppendUint64(wide, uint64(len(data)))
	streamed := part{name: "x.xml", data: data, method: methodDeflate, flags: flagDescriptor, descriptor: descriptor(data, len(deflated(t, data)))}
	unsigned, wider := streamed, streamed
	unsigned.descriptor = streamed.descriptor[4:]
	wider.descriptor = wide
	zip64 := binary.LittleEndian.AppendUint16(nil, 1)
	zip64 = binary.LittleEndian.AppendUint16(zip64, 8)
	zip64 = binary.LittleEndian.AppendUint64(zip64, uint64(len(data)))
	cases := []struct {
		name string
		l    layout
		want []string
	}{
		{name: "stored", l: layout{parts: []part{{name: "x.xml", data: data}}}, want: []string{"x.xml"}},
		{name: "empty document", l: layout{parts: []part{{name: "x.xml"}}}, want: []string{"x.xml"}},
		{name: "comment", l: layout{parts: []part{doc("x.xml")}, comment: bytes.Repeat([]byte("c"), 65535)}, want: []string{"x.xml"}},
		{name: "others ignored", l: layout{parts: []part{{name: "d/"}, doc("d/y.xml"), doc("x.xml"), doc("README"), doc("b.xml")}}, want: []string{"x.xml", "b.xml"}},
		{name: "streamed", l: layout{parts: []part{streamed, doc("y.xml")}}, want: []string{"x.xml", "y.xml"}},
		{name: "streamed without signature", l: layout{parts: []part{unsigned, doc("y.xml")}}, want: []string{"x.xml", "y.xml"}},
		{name: "streamed with wide sizes", l: layout{parts: []part{wider, doc("y.xml")}}, want: []string{"x.xml", "y.xml"}},
		{name: "streamed with early values", l: layout{parts: []part{{name: "x.xml", data: data, flags: flagDescriptor, early: true, descriptor: descriptor(data, len(data))}}}, want: []string{"x.xml"}},
		{name: "zip64 size", l: layout{parts: []part{{name: "x.xml", data: data, method: methodDeflate, size: ptr(uint64(math.MaxUint32)), localExtra: zip64, centralExtra: zip64}}}, want: []string{"x.xml"}},
		{name: "cp437 name", l: layout{parts: []part{{name: "M\x81ller.xml", data: data}}}, want: []string{"Müller.xml"}},
		{name: "executable mode", l: layout{parts: []part{{name: "x.xml", data: data, mode: 0o100755}}}, want: []string{"x.xml"}},
		{name: "dots that lead nowhere", l: layout{parts: []part{doc("..x.xml"), doc("a..b.xml")}}, want: []string{"..x.xml", "a..b.xml"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := c.l.bytes(t)
			docs, err := read(b, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range docs {
				got = append(got, m.Name)
				checkMember(t, b, m)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// checkMember reads m again by its reference and compares the hashes.
func checkMember(t testing.TB, b []byte, m Member) []byte {
	t.Helper()
	r, err := OpenMember(bytes.NewReader(b), m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	sha, sum := sha256.Sum256(got), md5.Sum(got)
	if m.SHA256 != hex.EncodeToString(sha[:]) || m.MD5 != hex.EncodeToString(sum[:]) {
		t.Fatalf("%s: hashes of Verify are not those of the bytes", m.Name)
	}
	return got
}

func TestLibraryArchives(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 70 {
		f, err := w.Create(fmt.Sprintf("%d.xml", i))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "<n>%d</n>", i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	docs, err := read(b.Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 70 {
		t.Fatalf("%d documents, want 70", len(docs))
	}
	for i, m := range docs {
		if want, got := fmt.Sprintf("<n>%d</n>", i), string(checkMember(t, b.Bytes(), m)); got != want || m.Ordinal != i {
			t.Fatalf("ordinal %d: %q, want %q at %d", m.Ordinal, got, want, i)
		}
	}
}

// zip64 with a 64-bit count: 65,536 entries, one more than the limit, and the
// same read when the limit is raised.
func TestManyEntries(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 65536 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.xml", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if _, err := read(b.Bytes(), Limits{}); !errors.As(err, &refused) || refused.Exception != TooManyEntries {
		t.Fatalf("got %v, want %s", err, TooManyEntries)
	}
	docs, err := read(b.Bytes(), Limits{MaxEntries: 65536})
	if err != nil || len(docs) != 65536 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
}

func TestMemberOfDamagedArchive(t *testing.T) {
	for _, method := range []uint16{methodStore, methodDeflate} {
		b := layout{parts: []part{{name: "x.xml", data: []byte(strings.Repeat("<a>some text</a>", 50)), method: method}}}.bytes(t)
		docs, err := read(b, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m := docs[0]
		for i := range m.CompressedSize {
			bad := bytes.Clone(b)
			bad[m.Offset+i] ^= 0x10
			r, err := OpenMember(bytes.NewReader(bad), m)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("method %d, byte %d damaged: got %v, want ErrDamaged", method, i, err)
			}
			if n > m.Size {
				t.Fatalf("method %d, byte %d damaged: %d bytes out of %d", method, i, n, m.Size)
			}
		}
	}
}

type failing struct {
	io.ReaderAt
	after int64
	err   error
}

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > f.after {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestReadErrorsAreNotRefusals(t *testing.T) {
	big := make([]byte, 300<<10)
	for i := range big {
		big[i] = byte(i * i >> 7)
	}
	b := layout{parts: []part{{name: "x.xml", data: big}}}.bytes(t)
	broken := errors.New("disk gone")
	_, err := Open(failing{bytes.NewReader(b), 0, broken}, int64(len(b)), Limits{})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v, want the reader's own error", err)
	}
	a, err := Open(bytes.NewReader(b), int64(len(b)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a.r = failing{bytes.NewReader(b), 100 << 10, broken}
	if err := a.Verify(context.Background()); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the reader's own error", err)
	}
	r, err := OpenMember(a.r, a.Members()[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
		t.Fatalf("got %v, want the reader's own error", err)
	}
	// A file that is shorter than its size says is a failure to read as well.
	_, err = Open(bytes.NewReader(b[:len(b)-1]), int64(len(b)), Limits{})
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) {
		t.Fatalf("got %v, want a plain error", err)
	}
}

func TestVerifyStops(t *testing.T) {
	b := layout{parts: []part{doc("a.xml"), doc("b.xml")}}.bytes(t)
	a, err := Open(bytes.NewReader(b), int64(len(b)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
}
