package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// entry is a member together with what only the structure checks need.
type entry struct {
	*Member
	raw    string // name as stored
	flags  uint16
	header int64 // offset of the local header
}

// readFull reads len(b) bytes at off. A shortage is an I/O error: callers only
// ask for bytes that the size they were given promises.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes of the archive at %d: %w", len(b), off, err)
}

// widths are the three values that zip64 moves into an extra field.
type widths struct{ size, packed, offset uint64 }

// widen replaces what is marked as too large for 32 bits by its value from the
// zip64 field, and reports whether all such values were there.
func (w *widths) widen(extra []byte) bool {
	wanted := []*uint64{}
	for _, v := range []*uint64{&w.size, &w.packed, &w.offset} {
		if *v == math.MaxUint32 {
			wanted = append(wanted, v)
		}
	}
	if len(wanted) == 0 {
		return true
	}
	const tagZip64 = 1
	field, has := fieldOf(extra, tagZip64)
	if !has {
		return false
	}
	for _, v := range wanted {
		if len(field) < 8 {
			return false
		}
		*v, field = binary.LittleEndian.Uint64(field), field[8:]
	}
	return true
}

// fieldOf finds the first extra field of a tag. Fields that reach beyond the
// end count as none, and so do those after them.
func fieldOf(extra []byte, tag uint16) ([]byte, bool) {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		found, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return nil, false
		}
		if found == tag {
			return extra[:n], true
		}
		extra = extra[n:]
	}
	return nil, false
}

// exact reads left bytes from off on; their absence is an I/O error, since the
// size that the caller gave promised them.
type exact struct {
	r         io.ReaderAt
	off, left int64
	err       error // of the underlying reader, to tell it from a bad stream
}

func (x *exact) Read(b []byte) (int, error) {
	if x.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), x.left)]
	n, err := x.r.ReadAt(b, x.off)
	x.off += int64(n)
	x.left -= int64(n)
	switch {
	case n == len(b):
		return n, nil
	case err == nil || errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	x.err = fmt.Errorf("read the archive at %d: %w", x.off, err)
	return n, x.err
}
