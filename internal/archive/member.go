package archive

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrDamaged is returned when a member does not read as it did when it was
// verified: the stored archive has changed since, or the reference is wrong.
var ErrDamaged = errors.New("the stored archive is damaged")

// OpenMember reads one member from its archive's bytes by its reference alone.
// It never yields more than m.Size bytes, and returns io.EOF only if size and
// checksum are right; otherwise, also where r ends too early, an error that
// wraps ErrDamaged. A failure to read r is returned as such. Any number may be open at once over one r. The
// member's buffers take about 80 kB until Close.
func OpenMember(r io.ReaderAt, m Member) (io.ReadCloser, error) {
	if m.Offset < 0 || m.CompressedSize < 0 || m.Size < 0 || (m.Method == methodStore && m.Size != m.CompressedSize) {
		return nil, fmt.Errorf("entry %q: impossible offset or size in its reference: %w", m.Name, ErrDamaged)
	}
	x := &memberReader{m: m, src: &exact{r: r, off: m.Offset, left: m.CompressedSize}}
	switch m.Method {
	case methodStore:
		x.in = x.src
	case methodDeflate:
		var err error
		if x.inflater, err = newInflater(x.src); err != nil {
			return nil, fmt.Errorf("entry %q: %w", m.Name, err)
		}
		x.in = x.inflater
	default:
		return nil, fmt.Errorf("entry %q: compression method %d in its reference: %w", m.Name, m.Method, ErrDamaged)
	}
	return x, nil
}

type memberReader struct {
	m        Member
	src      *exact
	in       io.Reader
	inflater *inflater // nil for a stored member, and once closed
	crc      uint32
	size     int64
	err      error // sticky
}

func (x *memberReader) Read(b []byte) (int, error) {
	if x.err != nil {
		return 0, x.err
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, err := x.in.Read(b)
	if int64(n) > x.m.Size-x.size {
		n = int(x.m.Size - x.size)
		err = fmt.Errorf("entry %q: more than %d bytes: %w", x.m.Name, x.m.Size, ErrDamaged)
	}
	x.crc = crc32.Update(x.crc, crc32.IEEETable, b[:n])
	x.size += int64(n)
	switch {
	case err == nil, errors.Is(err, ErrDamaged):
	case errors.Is(x.src.err, io.ErrUnexpectedEOF):
		// The archive is shorter than the reference into it.
		err = fmt.Errorf("entry %q: %w: %w", x.m.Name, x.src.err, ErrDamaged)
	case x.src.err != nil:
		err = fmt.Errorf("entry %q: %w", x.m.Name, x.src.err)
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("entry %q: %w after %d bytes: %w", x.m.Name, err, x.size, ErrDamaged)
	case x.size != x.m.Size || x.crc != x.m.CRC32:
		err = fmt.Errorf("entry %q: %d bytes with checksum %08x, expected %d with %08x: %w",
			x.m.Name, x.size, x.crc, x.m.Size, x.m.CRC32, ErrDamaged)
	}
	x.err = err
	return n, err
}

// Close frees the member's buffers. It does not close the archive.
func (x *memberReader) Close() error {
	if x.err == nil {
		x.err = fmt.Errorf("entry %q: read after close", x.m.Name)
	}
	if x.inflater != nil {
		x.inflater.free()
		x.inflater = nil
	}
	return nil
}
