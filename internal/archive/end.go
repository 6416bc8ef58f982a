package archive

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

// end is what the end record says, resolved for zip64.
type end struct {
	entries   uint64
	wide      bool  // entries is a 64-bit count
	directory int64 // offset of the central directory
	size      int64 // its size in bytes
}

// readEnd finds the one end record that closes the file exactly.
func readEnd(r io.ReaderAt, size int64) (end, error) {
	if size < lenEnd {
		return end{}, missingEnd(r, size)
	}
	tail := make([]byte, min(size, lenEnd+maxComment))
	base := size - int64(len(tail))
	if err := readFull(r, tail, base); err != nil {
		return end{}, err
	}
	found, loose := -1, -1
	sig := binary.LittleEndian.AppendUint32(nil, sigEnd)
	for i := bytes.LastIndex(tail, sig); i >= 0; i = bytes.LastIndex(tail[:i], sig) {
		if len(tail)-i < lenEnd {
			continue
		}
		comment := int(binary.LittleEndian.Uint16(tail[i+20:]))
		switch {
		case i+lenEnd+comment != len(tail):
			if loose < 0 {
				loose = i
			}
		case found >= 0:
			return end{}, refuse(NotAnArchive, "", "it has two end records, and programs differ in which one they follow")
		default:
			found = i
		}
	}
	if found < 0 {
		if loose < 0 {
			return end{}, missingEnd(r, size)
		}
		comment := int(binary.LittleEndian.Uint16(tail[loose+20:]))
		if surplus := len(tail) - loose - lenEnd - comment; surplus > 0 {
			return end{}, refuse(NotAnArchive, "", "%d bytes that are not part of it follow its end record", surplus)
		}
		return end{}, refuse(Truncated, "", "the file ends inside its end record")
	}
	return parseEnd(r, tail[found:], base+int64(found))
}

// missingEnd tells an archive cut short from a file that never was one.
func missingEnd(r io.ReaderAt, size int64) error {
	if size == 0 {
		return refuse(NotAnArchive, "", "the file is empty")
	}
	head := make([]byte, min(size, 4))
	if err := readFull(r, head, 0); err != nil {
		return err
	}
	if len(head) == 4 && binary.LittleEndian.Uint32(head) == sigLocal {
		return refuse(Truncated, "", "it begins as a zip file of which the end is missing")
	}
	return refuse(NotAnArchive, "", "it is not a zip file")
}

func parseEnd(r io.ReaderAt, b []byte, at int64) (end, error) {
	le := binary.LittleEndian
	disk, start := le.Uint16(b[4:]), le.Uint16(b[6:])
	here, all := le.Uint16(b[8:]), le.Uint16(b[10:])
	size, offset := le.Uint32(b[12:]), le.Uint32(b[16:])
	usize, uoffset, entries := uint64(size), uint64(offset), uint64(all)
	wide := false
	closes := at // where the central directory must end
	if all == math.MaxUint16 || here == math.MaxUint16 || size == math.MaxUint32 || offset == math.MaxUint32 || disk == math.MaxUint16 {
		pos, rec, err := readEnd64(r, at)
		if err != nil {
			return end{}, err
		}
		if rec != nil {
			if le.Uint32(rec[16:]) != 0 || le.Uint32(rec[20:]) != 0 || le.Uint64(rec[24:]) != le.Uint64(rec[32:]) {
				return end{}, errSplit()
			}
			entries, usize, uoffset = le.Uint64(rec[32:]), le.Uint64(rec[40:]), le.Uint64(rec[48:])
			wide, closes, disk, start, here = true, pos, 0, 0, all
		}
	}
	if disk != 0 || start != 0 || here != all {
		return end{}, errSplit()
	}
	if usize > uint64(closes) || uoffset > uint64(closes)-usize {
		return end{}, refuse(Truncated, "", "its directory of %d bytes should begin at %d, but the file has only %d bytes before the end record", usize, uoffset, closes)
	}
	if surplus := uint64(closes) - usize - uoffset; surplus != 0 {
		return end{}, refuse(NotAnArchive, "", "%d bytes that are not part of it stand before it or before its end record", surplus)
	}
	return end{entries: entries, wide: wide, directory: int64(uoffset), size: int64(usize)}, nil
}

func errSplit() error {
	return refuse(NotAnArchive, "", "it is one part of an archive split over several files")
}

// readEnd64 returns the zip64 end record and its offset, or nil when there is
// none and the values of the plain record are meant as they stand.
func readEnd64(r io.ReaderAt, at int64) (int64, []byte, error) {
	if at < lenEnd64Loc+lenEnd64 {
		return 0, nil, nil
	}
	le := binary.LittleEndian
	loc := make([]byte, lenEnd64Loc)
	if err := readFull(r, loc, at-lenEnd64Loc); err != nil {
		return 0, nil, err
	}
	if le.Uint32(loc) != sigEnd64Loc {
		return 0, nil, nil
	}
	if le.Uint32(loc[4:]) != 0 || le.Uint32(loc[16:]) != 1 {
		return 0, nil, errSplit()
	}
	pos := le.Uint64(loc[8:])
	if pos > uint64(at-lenEnd64Loc-lenEnd64) {
		return 0, nil, refuse(Truncated, "", "its zip64 end record should be at %d, but the file is shorter", pos)
	}
	rec := make([]byte, lenEnd64)
	if err := readFull(r, rec, int64(pos)); err != nil {
		return 0, nil, err
	}
	if le.Uint32(rec) != sigEnd64 {
		return 0, nil, refuse(Truncated, "", "its zip64 end record is not where its locator says")
	}
	if le.Uint64(rec[4:]) != uint64(at)-lenEnd64Loc-pos-12 {
		return 0, nil, refuse(NotAnArchive, "", "its zip64 end record does not reach to the locator")
	}
	return int64(pos), rec, nil
}
