package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"testing"
)

// FuzzArchive holds that any bytes are either refused or read, never worse,
// and that what is read is what another reader of the format finds in it.
func FuzzArchive(f *testing.F) {
	data := bytes.Repeat([]byte("<a>text</a>"), 9)
	f.Add(layout{parts: []part{doc("a.xml"), {name: "b.xml", data: data}, {name: "d/"}}}.bytes(f))
	f.Add(layout{parts: []part{{name: "a.xml", data: data, method: methodDeflate, flags: flagDescriptor,
		descriptor: descriptor(data, len(deflated(f, data)))}}, comment: []byte("PK")}.bytes(f))
	f.Add(layout{parts: []part{doc("a.xml"), doc("a.xml")}}.bytes(f))
	f.Add([]byte("PK\x05\x06"))
	limits := Limits{MaxEntries: 100, MaxTotal: 1 << 20, MaxDirectory: 1 << 16}
	f.Fuzz(func(t *testing.T, b []byte) {
		docs, err := read(b, limits)
		var refused *RefusedError
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("bad input gave a plain error: %v", err)
			}
			return
		}
		other, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("accepted what archive/zip does not open: %v", err)
		}
		for _, m := range docs {
			got := checkMember(t, b, m)
			x := other.File[m.Ordinal]
			if m.Charset == "utf-8" && x.Name != m.Name {
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
	})
}
