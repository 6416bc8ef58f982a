package sftp

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"tributary/internal/remote"
)

// readFrame reads one SFTP packet with its length and kind, into buf if that
// has room. Every packet of every channel is read here, and none is longer than
// maxPacket.
func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], 5)[:4]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(buf)
	if n < 1 {
		return nil, errMalformed
	}
	if n > maxPacket {
		return nil, remote.Broken("reply_too_long", "an SFTP packet has %d bytes, and %d are allowed", n, maxPacket)
	}
	buf = slices.Grow(buf, int(n))[:4+n]
	_, err := io.ReadFull(r, buf[4:])
	return buf, err
}

// frameReader passes packets to the library that reads files. That library
// trusts their lengths, also where a panic would end the process, takes success
// for what it has asked for, though nothing came with it, and keeps a whole
// directory in memory. So packets are judged here, and those with names counted.
type frameReader struct {
	r io.Reader
	// own gets what answers our own requests.
	own       requests
	buf, rest []byte
	// held is how much memory the names since it was last set to 0 may take.
	held atomic.Int64
	// changing lets success pass, for sessions that change files: that is all that a
	// server answers to that.
	changing atomic.Bool
	// spares is memory of packets that were kept and given back, for those that come.
	spares sync.Pool
	// end is why there are no more packets. The library keeps it to itself.
	end atomic.Pointer[error]
}

// Read reads what is left of a packet, or the next one.
func (f *frameReader) Read(b []byte) (int, error) {
	if end := f.end.Load(); end != nil {
		return 0, *end
	}
	for len(f.rest) == 0 {
		if err := f.next(); err != nil {
			f.end.Store(&err)
			f.own.fail()
			return 0, err
		}
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *frameReader) next() (err error) {
	if f.buf, err = readFrame(f.r, f.buf); err != nil {
		return err
	}
	if !wellFormed(f.buf[4], f.buf[5:]) {
		return remote.Broken("protocol_error", "%w: type %d, %d bytes", errMalformed, f.buf[4], len(f.buf)-5)
	}
	if body := f.buf[5:]; f.buf[4] != fxpVersion && body[0]&(ownID>>24) != 0 {
		kept, err := f.own.answered(binary.BigEndian.Uint32(body), reply{f.buf[4], body[4:], f.buf})
		if kept {
			f.buf = f.spare()
		}
		return err
	}
	f.rest = f.buf
	switch f.buf[4] {
	case fxpStatus:
		// Only closing succeeds without more, and of that nobody asks the outcome.
		if code := f.buf[9:13]; binary.BigEndian.Uint32(code) == statusOK && !f.changing.Load() {
			binary.BigEndian.PutUint32(code, statusBadMessage)
		}
		return nil
	case fxpName:
	default:
		return nil
	}
	// A packet without a name counts as one, or there could be any number.
	count := 1 + int64(binary.BigEndian.Uint32(f.buf[9:]))
	if f.held.Add(attributeCost*int64(len(f.buf))+count*remote.EntryCost) > remote.MaxHeld {
		return remote.TooLong("more than %d MiB of its entries would have to be kept in memory, since the server allows one channel only", remote.MaxHeld>>20)
	}
	return nil
}

// spare is memory for the next packet, where there is some.
func (f *frameReader) spare() []byte {
	b, _ := f.spares.Get().(*[]byte)
	if b == nil {
		return nil
	}
	return *b
}

// give gives the memory of an answer back that was kept.
func (f *frameReader) give(a reply) { f.spares.Put(&a.frame) }

// wellFormed reports whether a packet of a server has what its type says, as far
// as the library reads it. Types that it does not know it refuses itself.
func wellFormed(kind byte, body []byte) bool {
	if kind == fxpVersion {
		return len(body) >= 4
	}
	if len(body) < 4 {
		return false
	}
	body = body[4:] // behind the id
	ok := true
	switch kind {
	case fxpStatus:
		ok = len(body) >= 4 // older servers say nothing more
	case fxpHandle, fxpData:
		_, ok = passString(body)
	case fxpAttrs:
		_, ok = cutAttributes(body, "", &remote.Entry{})
	case fxpName:
		_, err := eachName(body, func(remote.Entry) error { return nil })
		ok = err == nil
	}
	return ok
}

// maxPacket is how long an SFTP packet may be. It is fixed: OpenSSH, and
// the library that reads files, refuse longer ones as well.
const maxPacket = 256 << 10

// attributeCost is how much more memory than bytes on the wire the SFTP
// library needs for the attributes that a server invents: 32 bytes for 8.
const attributeCost = 4
