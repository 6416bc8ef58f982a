package xmlsource

import (
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// chunk is how many bytes of a document a decoder holds at once.
const chunk = 16 << 10

// utf16Reader decodes UTF-16. It is strict: half a character is an error and
// never a replacement character, which would hide what a producer must mend.
type utf16Reader struct {
	r     io.Reader
	big   bool
	err   error
	in    [chunk]byte
	inEnd int
	inOff int
	out   [utf8.UTFMax]byte // a character that didn't fit the last Read
	rest  []byte
	read  int64 // code units decoded, for messages
}

func newUTF16(r io.Reader, big bool) *utf16Reader { return &utf16Reader{r: r, big: big} }

func (u *utf16Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	for n < len(p) {
		c, ok := u.next(n == 0)
		if !ok {
			break
		}
		if c < utf8.RuneSelf {
			p[n] = byte(c)
			n++
			continue
		}
		size := utf8.EncodeRune(u.out[:], c)
		took := copy(p[n:], u.out[:size])
		n += took
		u.rest = u.out[took:size]
	}
	if n > 0 {
		return n, nil
	}
	return 0, u.err
}

// next returns the next character. If wait is false it returns what is there
// without reading more than it must.
func (u *utf16Reader) next(wait bool) (rune, bool) {
	if !u.need(2, wait) {
		return 0, false
	}
	c := u.unit(u.inOff)
	if !utf16.IsSurrogate(c) {
		u.inOff += 2
		u.read++
		return c, true
	}
	if !u.need(4, true) {
		if errors.Is(u.err, io.EOF) {
			u.err = refuse("the UTF-16 text ends within a character")
		}
		return 0, false
	}
	full := utf16.DecodeRune(c, u.unit(u.inOff+2))
	if full == utf8.RuneError {
		u.err = refuse("the UTF-16 text has half a character (a lone surrogate %#x) at code unit %d", c, u.read+1)
		return 0, false
	}
	u.inOff += 4
	u.read += 2
	return full, true
}

func (u *utf16Reader) unit(i int) rune {
	if u.big {
		return rune(u.in[i])<<8 | rune(u.in[i+1])
	}
	return rune(u.in[i+1])<<8 | rune(u.in[i])
}

// need reads until n bytes are in the buffer and reports whether they are.
func (u *utf16Reader) need(n int, wait bool) bool {
	if u.inEnd-u.inOff >= n {
		return true
	}
	if !wait {
		return false
	}
	u.inEnd = copy(u.in[:], u.in[u.inOff:u.inEnd])
	u.inOff = 0
	for empty := 0; u.inEnd < n && u.err == nil; {
		var got int
		got, u.err = u.r.Read(u.in[u.inEnd:])
		u.inEnd += got
		if got > 0 {
			empty = 0
		} else if empty++; empty == 100 && u.err == nil {
			u.err = io.ErrNoProgress
		}
	}
	if u.inEnd >= n {
		return true
	}
	if u.inEnd == 1 && errors.Is(u.err, io.EOF) {
		u.err = refuse("the UTF-16 text ends within a character: it has an odd number of bytes")
	}
	return false
}

// narrow decodes the encodings of one byte a character whose bytes are code
// points: ISO-8859-1, or US-ASCII, which has only the lower half.
type narrow struct {
	r      io.Reader
	latin1 bool
	err    error
	in     [chunk]byte
	inOff  int
	inEnd  int
	rest   [1]byte // second byte of a character that didn't fit the last Read
	held   bool
	read   int64
}

func (d *narrow) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := 0
	if d.held {
		p[0], d.held = d.rest[0], false
		n = 1
	}
	for empty := 0; d.inOff == d.inEnd && n == 0 && d.err == nil; empty++ {
		d.inOff = 0
		d.inEnd, d.err = d.r.Read(d.in[:])
		if empty == 100 && d.inEnd == 0 && d.err == nil {
			d.err = io.ErrNoProgress
		}
	}
	for n < len(p) && d.inOff < d.inEnd {
		b := d.in[d.inOff]
		if b < utf8.RuneSelf {
			p[n] = b
			n++
			d.inOff++
			d.read++
			continue
		}
		if !d.latin1 {
			d.err = refuse("the document declares US-ASCII, but its byte %d is %#x: declare what it is, or %s", d.read+1, b, accepted)
			d.inEnd = d.inOff
			break
		}
		p[n] = 0xC0 | b>>6
		n++
		d.inOff++
		d.read++
		low := 0x80 | b&0x3F
		if n == len(p) {
			d.rest[0], d.held = low, true
			break
		}
		p[n] = low
		n++
	}
	if n > 0 {
		return n, nil
	}
	return 0, d.err
}
