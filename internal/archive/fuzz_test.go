package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// checkArchive holds that any bytes are either refused or read, never worse,
// that what is read is what another reader of the format finds in it, and that
// it accounts for every byte of the file.
func checkArchive(t *testing.T, b []byte, limits Limits) (accepted bool) {
	docs, err := read(b, limits)
	var refused *RefusedError
	if err != nil {
		if !errors.As(err, &refused) {
			t.Fatalf("bad input gave a plain error: %v", err)
		}
		if refused.Exception == "" || refused.Message == "" || len(refused.Error()) > 2000 || strings.ContainsAny(refused.Error(), "\x00\x1b\n\u202e") {
			t.Fatalf("a message that nobody can read: %q", refused.Error())
		}
		return false
	}
	other, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("accepted what archive/zip does not open: %v", err)
	}
	packed := int64(0)
	for _, x := range other.File {
		packed += int64(x.CompressedSize64)
	}
	if packed > int64(len(b)) {
		t.Fatalf("%d bytes are packed in a file of %d", packed, len(b))
	}
	names := map[string]bool{}
	for _, m := range docs {
		if names[m.Name] || strings.Contains(m.Name, "/") || !strings.HasSuffix(m.Name, ".xml") {
			t.Fatalf("a document is named %q", m.Name)
		}
		names[m.Name] = true
		got := checkMember(t, b, m)
		x := other.File[m.Ordinal]
		if m.Charset == charsetUTF8 && x.Name != m.Name {
			t.Fatalf("entry %d is %q here and %q there", m.Ordinal, m.Name, x.Name)
		}
		if x.CRC32 != crc32.ChecksumIEEE(got) {
			t.Fatalf("entry %q has another checksum there", m.Name)
		}
		// Descriptors are read more strictly there only when signed, so
		// compare the bytes, not the error.
		r, err := x.Open()
		if err != nil {
			t.Fatalf("entry %q does not open there: %v", m.Name, err)
		}
		want, _ := io.ReadAll(r)
		if !bytes.Equal(want, got) {
			t.Fatalf("entry %q has other bytes there", m.Name)
		}
	}
	return true
}

// FuzzArchive reads any bytes.
func FuzzArchive(f *testing.F) {
	data := bytes.Repeat([]byte("<a>text</a>"), 9)
	two := layout{parts: []part{doc("a.xml"), {name: "b.xml", data: data}, {name: "d/"}}}
	f.Add(two.bytes(f))
	f.Add(zip64(two.bytes(f), nil))
	f.Add(layout{parts: []part{{name: "a.xml", data: data, method: methodDeflate, flags: flagDescriptor,
		descriptor: descriptor(data, len(deflated(f, data)))}}, comment: []byte("PK")}.bytes(f))
	f.Add(layout{parts: []part{doc("a.xml"), doc("a.xml")}}.bytes(f))
	f.Add(layout{parts: []part{{name: "\x93\xfa.xml", data: data, centralExtra: unicodeField("\x93\xfa.xml", "\u65e5.xml")}}}.bytes(f))
	f.Add(adjusted("junk", part{name: "a.xml", data: data}).bytes(f))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkArchive(t, b, Limits{MaxEntries: 100, MaxTotal: 1 << 20, MaxDirectory: 1 << 16})
	})
}

// FuzzLayout reads archives that are right but for what the fuzzer turns in
// their headers, which bytes at random seldom reach. An archive in which
// nothing was turned is read.
func FuzzLayout(f *testing.F) {
	f.Add("a.xml", "b.xml", []byte("<a/>"), uint8(0), uint16(0), uint32(0), uint32(0), uint32(0), []byte(nil), uint8(0), int64(0))
	f.Add("a.xml", "a.XML", []byte("<a/>"), uint8(1), uint16(8), uint32(0), uint32(0), uint32(0), []byte("junk"), uint8(7), int64(40))
	f.Add("../a.xml", "b", []byte{}, uint8(3), uint16(1), uint32(1), uint32(1<<31), uint32(9), unicodeField("b", "c.xml"), uint8(255), int64(-30))
	f.Fuzz(func(t *testing.T, first, second string, data []byte, shape uint8, flags uint16, crc, size, at uint32, extra []byte, where uint8, patch int64) {
		if len(first) > 300 || len(second) > 300 || len(data) > 4096 || len(extra) > 1000 {
			t.Skip("large")
		}
		a, b := part{name: first, data: data}, part{name: second, data: data}
		if shape&1 != 0 {
			a.method = methodDeflate
		}
		if shape&2 != 0 {
			packed := len(data)
			if a.method == methodDeflate {
				packed = len(deflated(t, data))
			}
			a.flags, a.descriptor = flagDescriptor, descriptor(data, packed)
			if shape&4 != 0 {
				a.descriptor = a.descriptor[4:]
			}
		}
		turned := false
		turn := func(bit uint8, do func()) {
			if where&bit != 0 {
				turned = true
				do()
			}
		}
		l := layout{}
		turn(1, func() { b.flags ^= flags })
		turn(2, func() { b.crc = ptr(crc) })
		turn(4, func() { b.localSize = ptr(size) })
		turn(8, func() { b.at = ptr(at) })
		turn(16, func() { b.centralExtra = extra })
		turn(32, func() { b.localExtra = extra })
		turn(64, func() { l.comment = extra })
		l.parts = []part{a, b}
		raw := l.bytes(t)
		if shape&8 != 0 {
			raw = zip64(raw, nil)
		}
		turn(128, func() {
			// One byte, counted from the front or from the end.
			i := patch % int64(len(raw))
			if i < 0 {
				i += int64(len(raw))
			}
			raw[i] ^= byte(1 + flags%255)
		})
		accepted := checkArchive(t, raw, Limits{MaxTotal: 1 << 20})
		plain := func(name string) bool {
			return strings.HasSuffix(name, ".xml") && strings.Trim(name[:len(name)-4], "abcdefghijklmnopqrstuvwxyz") == "" && len(name) > 4
		}
		if !accepted && !turned && plain(first) && plain(second) && first != second {
			_, err := read(raw, Limits{MaxTotal: 1 << 20})
			t.Fatalf("an honest archive is refused: %v", err)
		}
	})
}

// FuzzMember opens references that are not those of the archive: they may not
// read, but never more than they say, and never wrongly to the end.
func FuzzMember(f *testing.F) {
	data := bytes.Repeat([]byte("<a>text</a>"), 9)
	raw := layout{parts: []part{{name: "a.xml", data: data, method: methodDeflate}, {name: "b.xml", data: data}}}.bytes(f)
	docs, err := read(raw, Limits{})
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range docs {
		f.Add(raw, m.Offset, m.CompressedSize, m.Size, m.Method, m.CRC32)
	}
	f.Add(raw, int64(-1), int64(1)<<62, int64(1)<<62, uint16(8), uint32(0))
	f.Fuzz(func(t *testing.T, raw []byte, offset, packed, size int64, method uint16, crc uint32) {
		m := Member{Name: "a.xml", Offset: offset, CompressedSize: packed, Size: min(size, 1<<20), Method: method, CRC32: crc}
		r, err := OpenMember(bytes.NewReader(raw), m)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%+v: %v", m, err)
			}
			return
		}
		got, err := io.ReadAll(r)
		if cerr := r.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if int64(len(got)) > m.Size {
			t.Fatalf("%d bytes of %d", len(got), m.Size)
		}
		if err == nil && (int64(len(got)) != m.Size || crc32.ChecksumIEEE(got) != m.CRC32) {
			t.Fatalf("%d bytes of another checksum than %08x read as whole", len(got), m.CRC32)
		}
	})
}
