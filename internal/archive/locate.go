package archive

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// locate reads every entry's own header, sets the offset of its data, and
// refuses entries that disagree with the directory, share bytes with one
// another, or reach into the directory. It refuses bytes between them, too:
// programs that read from the front find other entries in them.
func locate(r io.ReaderAt, entries []entry, directory int64) error {
	type span struct {
		from, to int64
		at       int // index into entries
	}
	spans := make([]span, len(entries))
	near := &window{r: r, end: directory}
	var buf []byte
	for i := range entries {
		e := &entries[i]
		to, err := readLocal(near, e, directory, &buf)
		if err != nil {
			return err
		}
		spans[i] = span{from: e.header, to: to, at: i}
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return compare(a.from, b.from)
		}
		return compare(int64(a.at), int64(b.at))
	})
	var free int64 // where the entries so far end
	for i, x := range spans {
		if x.from < free {
			return refuse(OverlappingEntries, entries[x.at].Name, "it shares bytes with entry %s", Quote(entries[spans[i-1].at].Name))
		}
		if x.from > free {
			return refuse(NotAnArchive, entries[x.at].Name, "%d bytes that are not part of the archive stand before it", x.from-free)
		}
		free = x.to
	}
	if free < directory {
		return refuse(NotAnArchive, "", "%d bytes that are not part of it stand before its directory", directory-free)
	}
	return nil
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// usualExtra is how many bytes of extra fields are read with a local header;
// it is what common writers put there at most.
const usualExtra = 64

// readLocal checks one local header and returns where the entry ends.
func readLocal(r io.ReaderAt, e *entry, directory int64, buf *[]byte) (int64, error) {
	le := binary.LittleEndian
	want := int64(lenLocal + len(e.raw))
	if e.header > directory-want {
		return 0, refuse(OverlappingEntries, e.Name, "its header at %d reaches into the directory at %d", e.header, directory)
	}
	// What mostly follows the name is read along.
	h := grow(buf, int(min(want+usualExtra, directory-e.header)))
	if err := readFull(r, h, e.header); err != nil {
		return 0, err
	}
	if le.Uint32(h) != sigLocal {
		return 0, refuse(Truncated, e.Name, "there is no entry at %d, where the directory says", e.header)
	}
	flags, method := le.Uint16(h[6:]), le.Uint16(h[8:])
	crc, packed, size := le.Uint32(h[14:]), le.Uint32(h[18:]), le.Uint32(h[22:])
	nameLen, extraLen := int(le.Uint16(h[26:])), int(le.Uint16(h[28:]))
	if nameLen != len(e.raw) || string(h[lenLocal:want]) != e.raw {
		return 0, refuse(NameMismatch, e.Name, "its own header names it differently than the directory")
	}
	if err := checkFlags(e.Name, flags, method); err != nil {
		return 0, err
	}
	if method != e.Method {
		return 0, refuse(UnsupportedMethod, e.Name, "method %d in the directory, %d in its own header", e.Method, method)
	}
	e.Offset = e.header + want + int64(extraLen)
	// The sizes are compared without adding them up, so that none overflows.
	if e.Offset > directory || e.CompressedSize > directory-e.Offset {
		return 0, refuse(OverlappingEntries, e.Name, "its %d bytes at %d reach into the directory at %d", e.CompressedSize, e.Offset, directory)
	}
	extra := h[want:]
	if extraLen > len(extra) {
		extra = make([]byte, extraLen)
		if err := readFull(r, extra, e.header+want); err != nil {
			return 0, err
		}
	}
	extra = extra[:extraLen]
	if other, has := unicodePath(extra, e.raw); has && other != e.Name {
		return 0, refuse(NameMismatch, e.Name, "the Unicode name in its own header is another: %s", Quote(other))
	}
	ends := e.Offset + e.CompressedSize
	if flags&flagDescriptor != 0 {
		// The values follow the data; what a writer has put here all the same
		// must not contradict them, as some readers go by it.
		if differs(packed, e.CompressedSize) || differs(size, e.Size) {
			return 0, sameAs(e, crc, uint64(packed), uint64(size))
		}
		if crc != 0 && crc != e.CRC32 {
			return 0, sameAs(e, crc, uint64(e.CompressedSize), uint64(e.Size))
		}
		n, err := readDescriptor(r, e, ends, directory)
		return ends + n, err
	}
	w := widths{size: uint64(size), packed: uint64(packed)}
	if size == math.MaxUint32 || packed == math.MaxUint32 {
		if !w.widen(extra) {
			return 0, refuse(SizeMismatch, e.Name, "the zip64 sizes of its own header are missing")
		}
	}
	return ends, sameAs(e, crc, w.packed, w.size)
}

// differs reports whether an early value is there, fits, and is another.
func differs(early uint32, value int64) bool {
	return early != 0 && early != math.MaxUint32 && uint64(early) != uint64(value)
}

func sameAs(e *entry, crc uint32, packed, size uint64) error {
	if packed != uint64(e.CompressedSize) || size != uint64(e.Size) {
		return refuse(SizeMismatch, e.Name, "%d bytes packed into %d by the directory, %d into %d by its own header", e.Size, e.CompressedSize, size, packed)
	}
	if crc != e.CRC32 {
		return refuse(CRCMismatch, e.Name, "its checksum is %08x by the directory, %08x by its own header", e.CRC32, crc)
	}
	return nil
}

// readDescriptor finds the record that streaming writers put after the data.
// It comes with or without a signature and with 32- or 64-bit sizes; the one
// form that repeats the directory's values is taken. Folders may have none.
func readDescriptor(r io.ReaderAt, e *entry, at, directory int64) (int64, error) {
	var buf [24]byte
	b := buf[:min(int64(len(buf)), directory-at)]
	if err := readFull(r, b, at); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	var start int
	if len(b) >= 4 && le.Uint32(b) == sigDescriptor {
		start = 4
	}
	crcOnly := false
	for _, from := range []int{start, 0} {
		d := b[from:]
		if len(d) >= 20 && le.Uint64(d[4:]) == uint64(e.CompressedSize) && le.Uint64(d[12:]) == uint64(e.Size) {
			if le.Uint32(d) == e.CRC32 {
				return int64(from + 20), nil
			}
			crcOnly = true
		}
		if len(d) >= 12 && uint64(le.Uint32(d[4:])) == uint64(e.CompressedSize) && uint64(le.Uint32(d[8:])) == uint64(e.Size) {
			if le.Uint32(d) == e.CRC32 {
				return int64(from + 12), nil
			}
			crcOnly = true
		}
	}
	switch {
	case crcOnly:
		return 0, refuse(CRCMismatch, e.Name, "its checksum differs between the directory and the record after its data")
	case e.Directory && e.CompressedSize == 0:
		return 0, nil
	}
	return 0, refuse(SizeMismatch, e.Name, "its sizes differ between the directory and the record after its data")
}

func grow(buf *[]byte, n int) []byte {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}

// window reads a little ahead, because the headers of small entries lie close
// together and a system call for each costs more than all the rest.
type window struct {
	r     io.ReaderAt
	end   int64 // nothing is read from here on
	start int64 // of what buf holds
	n     int
	buf   [4096]byte
}

func (w *window) ReadAt(b []byte, off int64) (int, error) {
	if len(b) > len(w.buf) || off+int64(len(b)) > w.end {
		return w.r.ReadAt(b, off)
	}
	if off < w.start || off+int64(len(b)) > w.start+int64(w.n) {
		w.start, w.n = off, 0
		n, err := w.r.ReadAt(w.buf[:min(int64(len(w.buf)), w.end-off)], off)
		if n < len(b) {
			return copy(b, w.buf[:n]), err
		}
		w.n = n
	}
	return copy(b, w.buf[off-w.start:w.n]), nil
}
