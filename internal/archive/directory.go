package archive

import (
	"bufio"
	"encoding/binary"
	"hash/maphash"
	"io"
	"math"

	"tributary/internal/twin"
)

// Signatures and lengths of the records, from the format's specification.
const (
	sigLocal      = 0x04034b50
	sigCentral    = 0x02014b50
	sigEnd        = 0x06054b50
	sigEnd64      = 0x06064b50
	sigEnd64Loc   = 0x07064b50
	sigDescriptor = 0x08074b50

	lenLocal    = 30
	lenCentral  = 46
	lenEnd      = 22
	lenEnd64    = 56
	lenEnd64Loc = 20

	maxComment = math.MaxUint16
)

// Bits of the general purpose flag.
const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
	flagStrong     = 1 << 6
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13
)

// methodAES marks WinZip's AES encryption in place of the method.
const methodAES = 99

// readDirectory streams the central directory; only what passes is kept. The
// entries point to the members.
func readDirectory(r io.ReaderAt, e end, l Limits) ([]Member, []entry, error) {
	if e.entries > uint64(l.MaxEntries) {
		return nil, nil, refuse(TooManyEntries, "", "%d entries, the limit is %d", e.entries, l.MaxEntries)
	}
	if e.size > l.MaxDirectory {
		return nil, nil, refuse(TooLarge, "", "its directory has %d bytes, the limit is %d", e.size, l.MaxDirectory)
	}
	if e.entries > uint64(e.size)/lenCentral {
		return nil, nil, refuse(Truncated, "", "its directory of %d bytes is too small for %d entries", e.size, e.entries)
	}
	in := bufio.NewReaderSize(&exact{r: r, off: e.directory, left: e.size}, int(min(e.size, bufferSize)))
	counted := int(e.entries)
	members, entries := make([]Member, counted), make([]entry, counted)
	seen := newNames(counted)
	var extra []byte
	// The count of the plain end record wraps at 65,536, so it is the
	// directory's size that ends the loop, and the limit that bounds it.
	n := 0
	for left := e.size; left > 0; n++ {
		if n == l.MaxEntries {
			return nil, nil, refuse(TooManyEntries, "", "more entries than the limit of %d", l.MaxEntries)
		}
		x := entry{Member: new(Member)}
		if n < counted {
			x.Member = &members[n]
		}
		x.Ordinal = n
		length, err := readCentral(in, left, l, &x, &extra)
		if err != nil {
			return nil, nil, err
		}
		left -= length
		if err := seen.add(x.Name, members[:min(n, counted)]); err != nil {
			return nil, nil, err
		}
		if n < counted {
			entries[n] = x
		}
	}
	if n != counted {
		return nil, nil, refuse(NotAnArchive, "", "its end record counts %d entries, its directory has %d", e.entries, n)
	}
	return members, entries, nil
}

// names are the names that an archive has given to its entries: digests of
// them, under a key that nobody knows, since an archive may have very many.
// What seems to be there twice is looked up among the members.
type names struct {
	seed  maphash.Seed
	clean map[uint64]struct{}
	// folded has what may be a document only: README and readme harm nobody,
	// but of two documents that are one for some programs one is lost there.
	folded map[uint64]struct{}
}

func newNames(n int) names {
	return names{seed: maphash.MakeSeed(), clean: make(map[uint64]struct{}, n), folded: map[uint64]struct{}{}}
}

// add takes the next member's name; before are those that were taken.
func (s names) add(name string, before []Member) error {
	clean := cleanName(name)
	if s.known(s.clean, clean) {
		for i := range before {
			if cleanName(before[i].Name) == clean {
				return refuse(DuplicateEntry, name, "there are two entries of this name")
			}
		}
	}
	fold := twin.Fold(clean)
	if isDocument(fold) && s.known(s.folded, fold) {
		for i := range before {
			if other := cleanName(before[i].Name); twin.Fold(other) == fold {
				return refuse(DuplicateEntry, name, "%s and it are one name where case, or how accents are written, does not count", Quote(other))
			}
		}
	}
	return nil
}

// known reports whether a name may be in a set, and puts it there.
func (s names) known(set map[uint64]struct{}, name string) bool {
	digest := maphash.String(s.seed, name)
	_, known := set[digest]
	set[digest] = struct{}{}
	return known
}

// readCentral reads one header of the directory into x and returns its length.
func readCentral(in *bufio.Reader, left int64, l Limits, x *entry, scratch *[]byte) (int64, error) {
	le := binary.LittleEndian
	var h [lenCentral]byte
	if left < lenCentral {
		return 0, errDirectory()
	}
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return 0, err
	}
	if le.Uint32(h[:]) != sigCentral {
		return 0, errDirectory()
	}
	nameLen, extraLen, commentLen := int(le.Uint16(h[28:])), int(le.Uint16(h[30:])), int(le.Uint16(h[32:]))
	n := int64(lenCentral + nameLen + extraLen + commentLen)
	if n > left {
		return 0, errDirectory()
	}
	if nameLen > l.MaxNameLength {
		return 0, refuse(NameInvalid, "", "a name has %d bytes, the limit is %d", nameLen, l.MaxNameLength)
	}
	b := grow(scratch, nameLen+extraLen)
	if _, err := io.ReadFull(in, b); err != nil {
		return 0, err
	}
	if _, err := in.Discard(commentLen); err != nil {
		return 0, err
	}
	x.raw, x.flags = string(b[:nameLen]), le.Uint16(h[8:])
	x.Method, x.CRC32 = le.Uint16(h[10:]), le.Uint32(h[16:])
	var err error
	if x.Name, x.Charset, err = decodeName(x.raw, x.flags, b[nameLen:]); err != nil {
		return 0, err
	}
	w := widths{size: uint64(le.Uint32(h[24:])), packed: uint64(le.Uint32(h[20:])), offset: uint64(le.Uint32(h[42:]))}
	if !w.widen(b[nameLen:]) || w.size > math.MaxInt64 || w.packed > math.MaxInt64 || w.offset > math.MaxInt64 {
		return 0, refuse(SizeMismatch, x.Name, "its zip64 sizes are missing or impossible")
	}
	if disk := le.Uint16(h[34:]); disk != 0 && disk != math.MaxUint16 {
		return 0, errSplit()
	}
	x.Size, x.CompressedSize, x.header = int64(w.size), int64(w.packed), int64(w.offset)
	return n, checkKind(x, le.Uint32(h[38:]))
}

func errDirectory() error {
	return refuse(Truncated, "", "its directory is damaged: a header does not begin or end where it should")
}

// checkKind refuses what is not a plain readable file or folder, and marks
// documents and folders.
func checkKind(x *entry, attributes uint32) error {
	if err := checkName(x.Name); err != nil {
		return err
	}
	// The upper half holds a Unix mode, whoever wrote it; zero means none.
	const typeMask, regular, folder = 0xf000, 0x8000, 0x4000
	if kind := (attributes >> 16) & typeMask; kind != 0 && kind != regular && kind != folder {
		return refuse(Symlink, x.Name, "it is a link or another special file (mode %#o)", attributes>>16)
	}
	if err := checkFlags(x.Name, x.flags, x.Method); err != nil {
		return err
	}
	x.Directory = x.Name[len(x.Name)-1] == '/'
	if x.Directory && x.Size != 0 {
		return refuse(SizeMismatch, x.Name, "a folder with %d bytes of content", x.Size)
	}
	if x.Method == methodStore && x.Size != x.CompressedSize {
		return refuse(SizeMismatch, x.Name, "stored without compression, but as %d bytes of %d", x.CompressedSize, x.Size)
	}
	x.Document = isDocument(x.Name)
	return nil
}

func checkFlags(name string, flags, method uint16) error {
	if flags&(flagEncrypted|flagStrong|flagMasked) != 0 || method == methodAES {
		return refuse(Encrypted, name, "it needs a password")
	}
	if flags&flagPatch != 0 || (method != methodStore && method != methodDeflate) {
		return refuse(UnsupportedMethod, name, "compression method %d, only 0 (stored) and 8 (deflate) are read", method)
	}
	return nil
}
