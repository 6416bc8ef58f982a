package badinput

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

const other = "readme.txt"

// passes is an archive that looks odd, but is one.
func passes(name string, write func(io.Writer) error) bad {
	return bad{name: "zip: " + name + " passes", write: write, end: end{"upload", ""}}
}

func zipCases() []bad {
	var out []bad
	for _, group := range [][]bad{truncated(), damaged(), contradictory(), features(), misplaced(), pathCases(), bombs(), oddButGood()} {
		out = append(out, group...)
	}
	return out
}

// whole is a good archive of two documents, with a comment.
func whole() []byte {
	return layout{parts: []part{good(specimen), good(experiment)}, comment: []byte("from the lab")}.bytes()
}

// truncated cuts a good archive in each of its regions.
func truncated() []bad {
	b := whole()
	second := bytes.LastIndex(b, []byte("PK\x03\x04"))
	directory := bytes.Index(b, []byte("PK\x01\x02"))
	secondHeader := bytes.LastIndex(b, []byte("PK\x01\x02"))
	last := bytes.LastIndex(b, []byte("PK\x05\x06"))
	streamed := streamedPart(specimen)
	withDescriptor := layout{parts: []part{streamed}}.bytes()
	record := bytes.Index(withDescriptor, streamed.descriptor)
	wide := layout{parts: []part{good(specimen)}, wide: true}.bytes()
	cut := func(where string, b []byte, at int) bad {
		return refusedZip("cut in "+where, raw(b[:at:at]), "zip_truncated")
	}
	return []bad{
		refusedZip("cut to nothing", raw(nil), "zip_not_an_archive", "empty"),
		refusedZip("cut to two bytes", raw(b[:2]), "zip_not_an_archive"),
		cut("the first local header", b, 12),
		cut("the first name", b, 30+10),
		cut("the first data", b, 30+len(specimen)+20),
		cut("the record after the data", withDescriptor, record+9),
		cut("the second local header", b, second+4),
		cut("the second data", b, directory-5),
		cut("the first header of the directory", b, directory+20),
		cut("a name in the directory", b, directory+50),
		cut("the second header of the directory", b, secondHeader+7),
		cut("the end record", b, last+11),
		cut("the comment", b, len(b)-4),
		cut("the zip64 end record", wide, bytes.Index(wide, []byte("PK\x06\x06"))+30),
		cut("the zip64 locator", wide, bytes.Index(wide, []byte("PK\x06\x07"))+10),
		refusedZip("a hole in the middle", raw(append(bytes.Clone(b[:40]), b[80:]...)), "zip_truncated"),
		refusedZip("the beginning is missing", raw(b[40:]), "zip_truncated"),
		refusedZip("html instead", raw([]byte("<!DOCTYPE html><html><body>404 not found</body></html>")), "zip_not_an_archive", "not a zip file"),
		refusedZip("gzip instead", raw([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03some bytes that follow")), "zip_not_an_archive"),
		refusedZip("zeros instead", raw(make([]byte, 100_000)), "zip_not_an_archive"),
	}
}

// streamedPart is an entry as streaming writers make it.
func streamedPart(name string) part {
	p := good(name)
	p.packed = deflated(p.data)
	p.flags, p.descriptor = flagDescriptor, descriptor(p.data, len(p.packed))
	return p
}

// damaged are bytes that are not those that were packed.
func damaged() []bad {
	spoiled := func(method uint16, at int) []byte {
		p := good(specimen)
		p.method = method
		b := layout{parts: []part{p}}.bytes()
		b[30+len(specimen)+at] ^= 0x10
		return b
	}
	with := func(change func(p *part)) func(io.Writer) error {
		p := good(experiment)
		change(&p)
		return entries(good(specimen), p)
	}
	ascii := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	noisy := layout{parts: []part{good(specimen), {name: other, data: noise}}}.bytes()
	return []bad{
		refusedZip("a flipped bit of stored data", raw(spoiled(store, 50)), "zip_crc_mismatch", specimen),
		refusedZip("a flipped bit of deflated data", raw(spoiled(deflate, 2)), "zip_crc_mismatch", specimen),
		refusedZip("checksum wrong in both headers", with(func(p *part) { p.crc = ptr(uint32(7)) }), "zip_crc_mismatch", experiment, "00000007"),
		refusedZip("checksum wrong of what is no document", entries(good(specimen), part{name: "a/x.png", data: []byte("png"), crc: ptr(uint32(7))}), "zip_crc_mismatch", "a/x.png"),
		refusedZip("ASCII mode transfer", raw(ascii(noisy)), "zip_not_an_archive"),
		refusedZip("deflate stream of nonsense", with(func(p *part) { p.packed = []byte{7, 0xff, 0xff, 0xff} }), "zip_crc_mismatch", experiment),
		refusedZip("deflate stream ends early", with(func(p *part) { p.packed = deflated(p.data)[:40] }), "zip_size_mismatch", experiment),
		refusedZip("bytes after the deflate stream", with(func(p *part) { p.packed = append(deflated(p.data), 1, 2, 3) }), "zip_size_mismatch", "3 bytes"),
		refusedZip("deflate stream of a block without end", with(func(p *part) { p.packed = bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1000) }), "zip_size_mismatch", experiment),
	}
}

// contradictory are archives in which two places say different things, so that
// programs differ in what they find.
func contradictory() []bad {
	one := func(change func(p *part)) func(io.Writer) error {
		p := good(specimen)
		change(&p)
		return entries(p)
	}
	inner := layout{parts: []part{good(experiment)}}.bytes()
	two := layout{parts: []part{good(specimen)}, comment: layout{parts: []part{good(experiment)}, offset: ptr(uint32(0))}.bytes()}
	wrongWide := func(change func(rec []byte)) func(io.Writer) error {
		b := layout{parts: []part{good(specimen)}, wide: true}.bytes()
		change(b[bytes.Index(b, []byte("PK\x06\x06")):])
		return raw(b)
	}
	return []bad{
		refusedZip("name differs in its own header", one(func(p *part) { p.localName = ptr(experiment) }), "zip_name_mismatch", specimen),
		refusedZip("name differs in length in its own header", one(func(p *part) { p.localName = ptr("x.xml") }), "zip_name_mismatch"),
		refusedZip("name differs in a Unicode field", one(func(p *part) { p.centralExtra = unicodePath(specimen, experiment) }), "zip_name_mismatch", "experiment"),
		refusedZip("name differs in a Unicode field of its own header", one(func(p *part) { p.localExtra = unicodePath(specimen, experiment) }), "zip_name_mismatch", "experiment"),
		refusedZip("size differs in its own header", one(func(p *part) { p.localSize = ptr(uint32(9)) }), "zip_size_mismatch", specimen),
		refusedZip("checksum differs in its own header", one(func(p *part) { p.localCRC = ptr(uint32(9)) }), "zip_crc_mismatch", specimen),
		refusedZip("method differs in its own header", one(func(p *part) { p.localMethod = ptr(uint16(store)) }), "zip_unsupported_method", specimen),
		refusedZip("encrypted in its own header only", one(func(p *part) { p.localFlags = ptr(uint16(flagEncrypted)) }), "zip_encrypted"),
		refusedZip("holds more than it says", one(func(p *part) { p.size = ptr(uint32(10)) }), "zip_size_mismatch", "more than the 10 bytes"),
		refusedZip("holds less than it says", one(func(p *part) { p.size = ptr(uint32(100_000)) }), "zip_size_mismatch", "100000"),
		refusedZip("stored in two sizes", one(func(p *part) { p.method, p.size = store, ptr(uint32(99)) }), "zip_size_mismatch"),
		refusedZip("record after the data lacks", one(func(p *part) { p.flags, p.descriptor = flagDescriptor, []byte{} }), "zip_size_mismatch"),
		refusedZip("record after the data of other sizes", one(func(p *part) { p.flags, p.descriptor = flagDescriptor, descriptor(p.data, 3) }), "zip_size_mismatch"),
		refusedZip("record after the data of another checksum", one(func(p *part) {
			p.flags, p.descriptor = flagDescriptor, fields(nil, sigDesc, 7, uint32(len(deflated(p.data))), uint32(len(p.data)))
		}), "zip_crc_mismatch"),
		refusedZip("zip64 sizes missing", one(func(p *part) { p.size = ptr(uint32(0xffffffff)) }), "zip_size_mismatch", "zip64"),
		refusedZip("zip64 directory beyond the file", wrongWide(func(rec []byte) { copy(rec[48:], "\xff\xff\xff\xff\xff\xff\xff\x7f") }), "zip_truncated"),
		refusedZip("zip64 counts differ", wrongWide(func(rec []byte) { rec[24]++ }), "zip_not_an_archive"),
		refusedZip("zip64 count of 2^40", wrongWide(func(rec []byte) { rec[29], rec[37] = 1, 1 }), "zip_too_many_entries", "65535"),
		refusedZip("count too low", zipped(layout{parts: []part{good(specimen), good(experiment)}, count: ptr(uint16(1))}), "zip_not_an_archive", "counts 1 entries", "has 2"),
		refusedZip("count too high", zipped(layout{parts: []part{good(specimen)}, count: ptr(uint16(60000))}), "zip_truncated", "60000"),
		refusedZip("two end records", zipped(two), "zip_not_an_archive", "two end records"),
		refusedZip("end record of nothing in the comment", zipped(layout{parts: []part{good(specimen)}, comment: layout{}.bytes()}), "zip_not_an_archive", "two end records"),
		refusedZip("two archives one after the other", raw(append(layout{parts: []part{good(specimen)}}.bytes(), inner...)), "zip_not_an_archive"),
		refusedZip("one part of several", func(w io.Writer) error {
			b := whole()
			b[bytes.LastIndex(b, []byte("PK\x05\x06"))+4] = 1
			return raw(b)(w)
		}, "zip_not_an_archive", "several files"),
	}
}

// features are those that are not read.
func features() []bad {
	var out []bad
	for name, method := range map[string]uint16{"shrink": 1, "implode": 6, "deflate64": 9, "bzip2": 12, "lzma": 14, "zstd": 93, "xz": 95, "ppmd": 98} {
		out = append(out, refusedZip("packed by "+name, entries(good(specimen), part{name: experiment, data: []byte("x"), method: method}),
			"zip_unsupported_method", experiment, fmt.Sprint(method)))
	}
	protected := func(what string, change func(p *part)) bad {
		p := good(experiment)
		change(&p)
		return refusedZip(what, entries(good(specimen), p), "zip_encrypted", experiment, "password")
	}
	return append(out,
		protected("encrypted", func(p *part) { p.flags = flagEncrypted }),
		protected("encrypted by AES", func(p *part) { p.method = 99; p.packed = p.data }),
		protected("strongly encrypted", func(p *part) { p.flags = flagEncrypted | flagStrong }),
		protected("with masked headers", func(p *part) { p.flags = flagMasked }),
	)
}

// misplaced are bytes where none should be, and entries in one another.
func misplaced() []bad {
	inner := layout{parts: []part{good(experiment)}}.bytes()
	kernel := inner[:bytes.Index(inner, []byte("PK\x01\x02"))]
	shared := good(specimen)
	twin := shared
	twin.name, twin.at = experiment, ptr(uint32(0))
	nested := good(experiment)
	nested.at = ptr(uint32(30 + len(specimen)))
	far := good(experiment)
	far.at = ptr(uint32(1 << 20))
	mid := good(experiment)
	mid.at = ptr(uint32(5))
	return []bad{
		refusedZip("junk before", zipped(layout{prefix: []byte("#!/bin/sh\n"), parts: []part{good(specimen)}}), "zip_not_an_archive", "10 bytes"),
		refusedZip("junk before that the directory knows", zipped(layout{prefix: []byte("MZ self-extracting"), aware: true, parts: []part{good(specimen)}}), "zip_not_an_archive", "18 bytes"),
		refusedZip("junk after", zipped(layout{parts: []part{good(specimen)}, suffix: []byte("\r\n")}), "zip_not_an_archive", "2 bytes"),
		refusedZip("a megabyte after", zipped(layout{parts: []part{good(specimen)}, suffix: make([]byte, 1<<20)}), "zip_truncated"),
		refusedZip("bytes between entries", entries(good(specimen), part{name: experiment, data: []byte(run("")), before: make([]byte, 7)}), "zip_not_an_archive", "7 bytes", experiment),
		refusedZip("an entry that the directory hides", raw(hidden()), "zip_not_an_archive", "not part of the archive"),
		refusedZip("one entry in another's data", entries(part{name: specimen, data: kernel}, nested), "zip_overlapping_entries", experiment),
		refusedZip("two entries of one header", entries(shared, twin), "zip_name_mismatch", experiment),
		refusedZip("many entries of one header", kernels(2000), "zip_overlapping_entries"),
		refusedZip("an entry beyond the directory", entries(good(specimen), far), "zip_overlapping_entries", experiment),
		refusedZip("an entry where none is", entries(good(specimen), mid), "zip_truncated", experiment),
		refusedZip("data that reach into the directory", func(w io.Writer) error {
			b := layout{parts: []part{{name: specimen, data: []byte(mouse("", "", ""))}}}.bytes()
			b[28] = 200 // its own header says that 200 bytes more come before the data
			return raw(b)(w)
		}, "zip_overlapping_entries", specimen),
	}
}

// hidden is an archive whose directory leaves out its first entry.
func hidden() []byte {
	first, second := good(specimen), good(experiment)
	b := layout{parts: []part{first}}.bytes()
	b = b[:bytes.Index(b, []byte("PK\x01\x02"))]
	return layout{prefix: b, aware: true, parts: []part{second}}.bytes()
}

// kernels is a bomb of the kind in which n entries share one body.
func kernels(n int) func(io.Writer) error {
	var l layout
	zeros := deflated(make([]byte, 1<<20))
	for i := range n {
		p := part{name: fmt.Sprintf("%06d.xml", i), method: deflate, size: ptr(uint32(1 << 20)), packed: []byte{}}
		if i == n-1 {
			p.packed = zeros
		}
		l.parts = append(l.parts, p)
	}
	b := l.bytes()
	// The directory lets each reach from its own header over all that follow.
	directory := bytes.Index(b, []byte("PK\x01\x02"))
	for i, at := 0, directory; i < n; i++ {
		from := i * (30 + 10)
		packed := uint32(directory - from - 40)
		copy(b[at+20:], fields(nil, packed))
		copy(b[from+18:], fields(nil, packed))
		at += 46 + 10
	}
	return raw(b)
}

// pathCases are names that lead somewhere, or that programs read differently.
func pathCases() []bad {
	name := func(what, name, exception string, says ...string) bad {
		return refusedZip(what, entries(good(specimen), part{name: name, data: []byte("x")}), exception, says...)
	}
	special := func(what string, mode uint32) bad {
		return refusedZip(what, entries(good(specimen), part{name: experiment, data: []byte("/etc/passwd"), mode: mode}), "zip_symlink", experiment, "special file")
	}
	twins := func(what, a, b string, says ...string) bad {
		return refusedZip(what, entries(part{name: a, data: []byte("a")}, part{name: b, data: []byte("b")}), "zip_duplicate_entry", says...)
	}
	return []bad{
		name("slip", "../"+experiment, "zip_path_slip", "../H."),
		name("slip inside", "a/../../x.txt", "zip_path_slip"),
		name("slip that leads back", "a/../"+experiment, "zip_path_slip"),
		name("absolute", "/etc/cron.d/x", "zip_path_absolute", "/etc/cron.d/x"),
		name("drive", `C:/x.xml`, "zip_path_absolute"),
		name("drive without a path", "c:x.xml", "zip_path_absolute"),
		name("backslash", `sub\x.xml`, "zip_path_backslash"),
		name("server's share", `\\host\share\x.xml`, "zip_path_backslash"),
		name("slip by backslash", `..\..\x.xml`, "zip_path_backslash"),
		name("NUL in a name", "H.xml\x00.txt", "zip_name_invalid", `\x00`),
		name("line feed in a name", "a\nb.txt", "zip_name_invalid", `\n`),
		name("escape sequence in a name", "\x1b]0;x\x07.txt", "zip_name_invalid", `\x1b`),
		name("no name", "", "zip_name_invalid"),
		name("4096 bytes of name", strings.Repeat("n/", 2048), "zip_name_invalid", "4096 bytes", "1024"),
		name("65535 bytes of name", strings.Repeat("n", 65535), "zip_name_invalid", "65535"),
		refusedZip("flagged UTF-8 that is not", entries(good(specimen), part{name: "\x93\xfa.txt", flags: flagUTF8}), "zip_name_invalid", "UTF-8"),
		special("symbolic link", 0o120777),
		special("device", 0o020666),
		special("pipe", 0o010666),
		special("socket", 0o140666),
		twins("duplicate document", specimen, specimen, specimen),
		twins("duplicate by path", "a.txt", "./a.txt", "./a.txt"),
		refusedZip("file and folder of one name", entries(good(specimen), part{name: "a"}, part{name: "a/"}), "zip_duplicate_entry", "a/"),
		twins("twins by case", specimen, strings.ToLower(specimen), "case"),
		twins("twins by the case of the extension", "H.xml", "H.XML", "case"),
		twins("twins by accents", "\u00fc.xml", "u\u0308.xml", "accents"),
		refusedZip("folder with content", entries(good(specimen), part{name: "a/", data: []byte("x")}), "zip_size_mismatch", "folder"),
		refusedZip("no entries", zipped(layout{}), "no_documents", "0 entries"),
		refusedZip("documents in a folder only", entries(part{name: "H/"}, good("H/"+specimen), good("H/"+experiment)), "no_documents", "folder"),
		refusedZip("documents in capitals only", entries(good(strings.ToUpper(specimen))), "no_documents", ".xml"),
		refusedZip("no documents", entries(part{name: other, data: []byte("x")}), "no_documents"),
	}
}
