package badinput

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// bombs are small files that are large for those who open them.
func bombs() []bad {
	zeros := make([]byte, 20<<20)
	var nested []bad
	for _, extension := range []string{".zip", ".ZIP", ".jar", ".7z", ".tar.gz", ".xml.bz2", ".rar", ".zst"} {
		nested = append(nested, refusedZip("nested "+extension, entries(good(specimen), part{name: "deeper" + extension, data: whole()}), "zip_nested", extension))
	}
	spread := layout{}
	for i := range 20 {
		spread.parts = append(spread.parts, part{name: fmt.Sprintf("%d.xml", i), data: zeros[:1<<20], method: deflate})
	}
	beside := layout{parts: []part{{name: specimen, data: zeros, method: deflate}, {name: "a.bin", data: make([]byte, 4<<20)}}}
	copy(beside.parts[1].data, whole())
	return append(nested,
		refusedZip("ratio", entries(part{name: specimen, data: zeros, method: deflate}), "zip_ratio", specimen, "20971520"),
		refusedZip("ratio spread over entries", zipped(spread), "zip_ratio"),
		refusedZip("ratio beside ballast", zipped(beside), "zip_ratio", specimen),
		refusedZip("4 GiB in one entry", func(w io.Writer) error {
			return entries(part{name: specimen, method: deflate, packed: deflated(zeros), size: ptr(uint32(0xfffffffe))})(w)
		}, "zip_ratio", "4294967294"),
		refusedZip("5 GiB of a zip64 size", wideSize(5<<30), "zip_too_large", "4294967296"),
		refusedZip("2^63 bytes of a zip64 size", wideSize(1<<63), "zip_size_mismatch", "impossible"),
		refusedZip("65,536 entries", func(w io.Writer) error { return crowd(w, 65536, 8) }, "zip_too_many_entries", "65536", "65535"),
		refusedZip("65,536 entries counted as 0", func(w io.Writer) error {
			var b bytes.Buffer
			if err := crowd(&b, 65536, 8); err != nil {
				return err
			}
			return raw(narrow(b.Bytes()))(w)
		}, "zip_too_many_entries", "65535"),
		refusedZip("a directory of 64 MiB", func(w io.Writer) error { return crowd(w, 65535, 1000) }, "zip_too_large", "8388608"),
		refusedZip("65,535 entries, the last is bad", func(w io.Writer) error { return crowd(w, 65535, 8, "../x") }, "zip_path_slip"),
	)
}

// wideSize is an entry that says in a zip64 field that it holds size bytes.
func wideSize(size uint64) func(io.Writer) error {
	p := good(specimen)
	p.packed = deflated(p.data)
	p.size = ptr(uint32(0xffffffff))
	p.centralExtra = fields(nil, uint16(1), uint16(8), size)
	p.localExtra = p.centralExtra
	return entries(p)
}

// crowd writes n empty documents with names of about length bytes, and others.
func crowd(w io.Writer, n, length int, others ...string) error {
	z := zip.NewWriter(w)
	for i := range n - len(others) {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%0*d.xml", length-4, i)}); err != nil {
			return err
		}
	}
	for _, name := range others {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: name}); err != nil {
			return err
		}
	}
	return z.Close()
}

// narrow takes the zip64 end record away: the plain one counts to 65,535 only.
func narrow(b []byte) []byte {
	wide := bytes.LastIndex(b, []byte("PK\x06\x06"))
	size, offset := b[wide+40:wide+44], b[wide+48:wide+52]
	out := fields(bytes.Clone(b[:wide]), sigEnd, uint16(0), uint16(0), uint16(0), uint16(0))
	out = append(append(out, size...), offset...)
	return fields(out, uint16(0))
}

// oddButGood is what must pass although it looks odd.
func oddButGood() []bad {
	p := func(change func(p *part)) part {
		p := good(specimen)
		change(&p)
		return p
	}
	const announced = "each of 65,535 documents is announced"
	unsigned := streamedPart(specimen)
	unsigned.descriptor = unsigned.descriptor[4:]
	return []bad{
		passes("stored", entries(p(func(p *part) { p.method = store }))),
		passes("zip64", zipped(layout{parts: []part{good(specimen), good(experiment)}, wide: true})),
		passes("written as a stream", entries(streamedPart(specimen), streamedPart(experiment))),
		passes("written as a stream, unsigned", entries(unsigned, streamedPart(experiment))),
		passes("increments 1 and 01", entries(good(specimen), good(strings.Replace(specimen, ".1.", ".01.", 1)))),
		passes("centres H and h of two days", entries(good(specimen), good(strings.ToLower(strings.Replace(specimen, "-19", "-20", 1))))),
		passes("a comment of 64 kB", zipped(layout{parts: []part{good(specimen)}, comment: bytes.Repeat([]byte("c"), 65535)})),
		passes("dated 1980", entries(p(func(p *part) { p.date = 0x00210000 }))),
		passes("dated 2107", entries(p(func(p *part) { p.date = 0xff9fbf7d }))),
		passes("dated 31 February, 31:63:62", entries(p(func(p *part) { p.date = 0x5a5fffff }))),
		passes("others beside, in folders and in capitals", entries(part{name: "H/"}, good("H/"+experiment), good(specimen), part{name: other, data: []byte("x")}, part{name: "X.TXT"})),
		passes("readme twice but for case", entries(good(specimen), part{name: "README"}, part{name: "readme"})),
		passes("a folder with a name of RTL override", entries(good(specimen), part{name: "\u202e/x.txt"})),
		passes("a device's name of no document", entries(good(specimen), part{name: "aux"}, part{name: "con.txt"})),
		passes("cp437 name of no document", entries(good(specimen), part{name: "Z\x81rich.txt"})),
		passes("Shift-JIS name of no document, with its Unicode field", entries(good(specimen), part{name: "\x93\xfa.txt", centralExtra: unicodePath("\x93\xfa.txt", "\u65e5.txt")})),
		passes("65,534 deflated entries beside a document", func(w io.Writer) error {
			z := zip.NewWriter(w)
			for i := range 65535 {
				name, text := fmt.Sprintf("%06d.txt", i), "text"
				if i == 0 {
					name, text = specimen, mouse("", "", "")
				}
				f, err := z.Create(name)
				if err == nil {
					_, err = io.WriteString(f, text)
				}
				if err != nil {
					return err
				}
			}
			return z.Close()
		}),
		{name: "zip: 65,535 documents with names that break the form", write: func(w io.Writer) error { return crowd(w, 65535, 8) }, end: end{"xml_name", "document_name_pattern"}, large: announced},
		{name: "zip: 65,535 documents with names of 80 bytes", write: func(w io.Writer) error { return crowd(w, 65535, 80) }, end: end{"xml_name", "document_name_pattern"}, large: announced},
	}
}
