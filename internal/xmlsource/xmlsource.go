// Package xmlsource turns an XML document's bytes into the UTF-8 that the
// validator and the inserter read, while they are read.
//
// Both must see the same characters at the same places, so both read through
// Reader. It accepts UTF-8 with or without a byte order mark, UTF-16 of either
// byte order (told by its mark, or by the bytes of its first two characters),
// ISO-8859-1 and US-ASCII. Anything else, and bytes that the encoding doesn't
// have, is an *EncodingError.
//
// Lines and columns stay those of the document: a byte order mark has no
// width, and where the XML declaration names an encoding that isn't UTF-8, the
// naming is overwritten with as many spaces. Columns count bytes of the UTF-8
// form.
package xmlsource

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxDeclaration is the longest XML declaration, in bytes of UTF-8, that is
// understood. A longer one is refused, because its encoding can't be known
// without reading an unbounded part of the document.
const MaxDeclaration = 1024

// EncodingError says that a document isn't in an encoding that can be read.
// Its message speaks to the document's producer.
type EncodingError struct {
	// Message says what was found and what is accepted.
	Message string
}

func (e *EncodingError) Error() string { return e.Message }

// accepted ends the messages of an EncodingError about the encoding itself.
const accepted = "use UTF-8 (or UTF-16, ISO-8859-1 or US-ASCII)"

func refuse(format string, args ...any) error {
	return &EncodingError{Message: fmt.Sprintf(format, args...)}
}

// Reader returns a reader of r's document as UTF-8 without a byte order mark.
// It reads the XML declaration at once, up to MaxDeclaration bytes, and the
// rest as the result is read. Bytes already in UTF-8 are handed on unchanged,
// without being checked: that is the parser's work. Errors of r are returned
// as they are.
func Reader(r io.Reader) (io.Reader, error) {
	h := &head{r: r}
	if err := h.fill(4); err != nil {
		return nil, err
	}
	form, mark, err := sniff(h.bytes())
	if err != nil {
		return nil, err
	}
	h.off += mark
	if form == formUTF16LE || form == formUTF16BE {
		// The declaration is read from the decoded text.
		h = &head{r: newUTF16(h, form == formUTF16BE)}
	}
	if err := h.fill(3); err != nil {
		return nil, err
	}
	if mark > 0 && bytes.HasPrefix(h.bytes(), []byte("\uFEFF")) {
		// Some parsers pass over one more mark, others don't.
		return nil, refuse("the document begins with two byte order marks: leave one out, or both")
	}
	decl, err := h.declaration()
	if err != nil {
		return nil, err
	}
	return declared(h, decl, form, mark > 0)
}

// form is what the first bytes of a document say about its encoding.
type form int

const (
	formBytes form = iota // ASCII-compatible: the declaration tells
	formUTF16LE
	formUTF16BE
)

// sniff judges a document by its first bytes, as appendix F of the XML
// recommendation describes, and returns the length of its byte order mark.
func sniff(b []byte) (form, int, error) {
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE, 0, 0}), bytes.HasPrefix(b, []byte{0, 0, 0xFE, 0xFF}),
		bytes.HasPrefix(b, []byte{'<', 0, 0, 0}), bytes.HasPrefix(b, []byte{0, 0, 0, '<'}):
		return 0, 0, refuse("the document is in UTF-32, which is not accepted: %s", accepted)
	case bytes.HasPrefix(b, []byte{0x4C, 0x6F, 0xA7, 0x94}):
		return 0, 0, refuse("the document is in an EBCDIC encoding, which is not accepted: %s", accepted)
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return formBytes, 3, nil
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		return formUTF16LE, 2, nil
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return formUTF16BE, 2, nil
	case len(b) >= 4 && b[0] == '<' && b[1] == 0 && b[3] == 0:
		return formUTF16LE, 0, nil
	case len(b) >= 4 && b[0] == 0 && b[1] == '<' && b[2] == 0:
		return formUTF16BE, 0, nil
	}
	return formBytes, 0, nil
}

// declared chooses the reader for what the declaration names. Where the bytes
// themselves leave no doubt, which is UTF-16 and a UTF-8 mark, they win over a
// declaration that a transcoding tool forgot to change.
func declared(h *head, decl []byte, f form, mark bool) (io.Reader, error) {
	start, end, name := encodingOf(decl)
	canonical := strings.ToUpper(name)
	wide := f == formUTF16LE || f == formUTF16BE
	if name == "" || !wide && canonical == "UTF-8" {
		return h, nil
	}
	blank := func() {
		for i := start; i < end; i++ {
			if !space(decl[i]) { // a line break stays one
				decl[i] = ' '
			}
		}
	}
	switch canonical {
	case "UTF-8", "UTF8":
		blank()
		return h, nil
	case "UTF-16", "UTF-16LE", "UTF-16BE", "UTF16", "ISO-10646-UCS-2":
		if !wide {
			return nil, refuse("the document declares encoding %s, but its bytes are not UTF-16: declare what it is, or %s", quote(name), accepted)
		}
		blank()
		return h, nil
	case "ISO-8859-1", "ISO_8859-1", "ISO8859-1", "ISO_8859-1:1987", "ISO-IR-100", "LATIN1", "LATIN-1", "L1", "CP819", "IBM819":
		blank()
		if wide || mark {
			return h, nil
		}
		return &narrow{r: h, latin1: true}, nil
	case "US-ASCII", "ASCII", "ISO646-US", "ISO-IR-6", "ANSI_X3.4-1968":
		blank()
		if wide || mark {
			return h, nil
		}
		return &narrow{r: h}, nil
	}
	return nil, refuse("the document declares encoding %s, which is not accepted: %s", quote(name), accepted)
}

// quote quotes a name that a document brought, in no more than 40 of its bytes.
func quote(name string) string {
	if len(name) > 40 {
		return fmt.Sprintf("%q...", name[:40])
	}
	return fmt.Sprintf("%q", name)
}

// head gives back the beginning of a stream, which has been looked at, and
// then the rest of it.
type head struct {
	r   io.Reader
	off int
	end int
	err error // of r, to be returned after buf
	buf [MaxDeclaration]byte
}

// bytes returns what has been read ahead.
func (h *head) bytes() []byte { return h.buf[h.off:h.end] }

// fill reads ahead until n bytes are there, the stream ends, or the buffer is
// full. The end of the stream is not an error here.
func (h *head) fill(n int) error {
	for empty := 0; h.end-h.off < n && h.end < len(h.buf) && h.err == nil; {
		var got int
		got, h.err = h.r.Read(h.buf[h.end:])
		h.end += got
		if got > 0 {
			empty = 0
		} else if empty++; empty == 100 && h.err == nil {
			h.err = io.ErrNoProgress
		}
	}
	if h.err != nil && !errors.Is(h.err, io.EOF) {
		return h.err
	}
	return nil
}

// declaration returns the document's XML declaration from the buffer, or nil
// if it has none.
func (h *head) declaration() ([]byte, error) {
	if err := h.fill(6); err != nil {
		return nil, err
	}
	b := h.bytes()
	if len(b) < 6 || string(b[:5]) != "<?xml" || !space(b[5]) {
		return nil, nil
	}
	for {
		b = h.bytes()
		if i := bytes.Index(b, []byte("?>")); i >= 0 {
			return b[:i+2], nil
		}
		if h.err != nil {
			// Cut off within the declaration: the parser says so.
			return nil, nil //nolint:nilerr // cut off, not failed
		}
		if h.end == len(h.buf) {
			return nil, refuse("the XML declaration does not end within %d bytes", MaxDeclaration)
		}
		if err := h.fill(len(b) + 1); err != nil {
			return nil, err
		}
	}
}

func (h *head) Read(p []byte) (int, error) {
	if h.off < h.end {
		n := copy(p, h.buf[h.off:h.end])
		h.off += n
		return n, nil
	}
	if h.err != nil {
		return 0, h.err
	}
	return h.r.Read(p)
}
