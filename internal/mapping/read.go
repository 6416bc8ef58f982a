package mapping

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strconv"

	"tributary/internal/xmlsource"
)

// maxPending bounds the rows that wait for the end of an enclosing element, and
// the values that an element gathers.
const (
	maxPending      = 200_000
	maxPendingBytes = 16 << 20
)

// Read reads a document and hands its rows and records to sink. A *DocumentError says what
// is wrong with the document; any other error is one of reading r or of the
// sink's.
func (m *Mapping) Read(r io.Reader, doc Document, sink Sink) error {
	k := m.kinds[doc.Kind]
	if k == nil {
		return &DocumentError{Exception: Unreadable, Message: fmt.Sprintf("documents of kind %q are not mapped", doc.Kind)}
	}
	src := &faithful{r: r}
	utf8, err := xmlsource.Reader(src)
	if err == nil {
		buf := m.buffer()
		x := &reading{tokens: newTokens(utf8, *buf), kind: k, doc: doc, sink: sink, hash: sha256.New(), position: strconv.AppendInt(nil, doc.Position, 10)}
		err = x.run()
		m.buffers.Put(buf)
	}
	if src.err != nil {
		return src.err // whatever the parser made of it
	}
	var syntax *SyntaxError
	var encoding *xmlsource.EncodingError
	switch {
	case errors.As(err, &syntax):
		return &DocumentError{Exception: Unreadable, Line: syntax.Line, Column: syntax.Column, Message: syntax.Message}
	case errors.As(err, &encoding):
		return &DocumentError{Exception: Unreadable, Message: encoding.Message}
	}
	return err
}

// buffer returns a buffer for the tokens of one document.
func (m *Mapping) buffer() *[]byte {
	if b, ok := m.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, tokenBuffer)
	return &b
}

// tokenBuffer is how much of a document is read at a time, in bytes.
const tokenBuffer = 64 << 10

// faithful remembers the error of the reader itself, so that it isn't taken for
// one of the document.
type faithful struct {
	r   io.Reader
	err error
}

func (s *faithful) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

type reading struct {
	tokens   *tokens
	kind     *kind
	doc      Document
	sink     Sink
	position []byte

	frames       []frame // by depth; buffers are used again
	depth        int     // open elements that matter
	skipped      int     // open elements that don't, below
	ordinal      int32
	waiting      int
	waitingBytes int

	row     Row
	line    []byte
	scratch []byte
	value   []byte
	own     pendingRow // of the element that ends

	record  Record
	hash    hash.Hash // of the open record
	prints  []byte    // not yet hashed
	layout  uint32    // of the open record
	sum     []byte
	hashed  []byte
	ends    []int
	subject string
}

func (x *reading) run() error {
	for {
		tok, err := x.tokens.next()
		if err != nil {
			return err
		}
		switch tok {
		case tokenStart:
			err = x.start()
		case tokenText:
			err = x.chars()
		case tokenEnd:
			err = x.end()
		case tokenEOF:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (x *reading) wrong(exception string, line, column int, format string, args ...any) error {
	return &DocumentError{Exception: exception, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

func (x *reading) start() error {
	if x.skipped > 0 {
		x.skipped++
		return nil
	}
	parent := x.kind.top
	if x.depth > 0 {
		parent = x.frames[x.depth-1].node
	}
	var n *node
	for _, c := range parent.children {
		if c.name == string(x.tokens.name) {
			n = c
			break
		}
	}
	if n == nil {
		if x.depth == 0 {
			return x.wrong(Unreadable, x.tokens.tagLine, x.tokens.tagColumn, "the root element is %s, not %s", x.tokens.name, parent.children[0].name)
		}
		x.skipped++
		return nil
	}
	if x.depth == len(x.frames) {
		x.frames = append(x.frames, frame{})
	}
	f := &x.frames[x.depth]
	x.depth++
	f.open(n, x.tokens)
	if n.rule != nil {
		if x.ordinal == math.MaxInt32 {
			return x.wrong(TooLarge, f.line, f.column, "the document has more than %d elements that make rows", math.MaxInt32)
		}
		x.ordinal++
		f.ordinal = x.ordinal
	}
	if len(n.attrs) == 0 {
		return nil
	}
	return x.attributes(f)
}

func (x *reading) attributes(f *frame) error {
	n := f.node
	centre := false
	for _, a := range x.tokens.attrs {
		for i := range n.attrs {
			c := &n.attrs[i]
			if c.name != string(a.name) {
				continue
			}
			var err error
			if x.scratch, err = x.tokens.decode(x.scratch[:0], a.raw, true, false); err != nil {
				return err
			}
			for _, to := range c.to {
				if err := x.store(to, x.scratch); err != nil {
					return err
				}
			}
			if c.centre {
				if centre = string(x.scratch) == x.doc.Centre; !centre {
					return x.wrong(CentreMismatch, f.line, f.column, "the document names centre %.40q, but its file is of centre %s", x.scratch, x.doc.Centre)
				}
			}
			break
		}
	}
	if n.centre && !centre {
		return x.wrong(CentreMismatch, f.line, f.column, "the document names no centre, but its file is of centre %s", x.doc.Centre)
	}
	return nil
}

// store keeps a value in its slot: the first one, or all of a list.
func (x *reading) store(c capture, text []byte) error {
	f := &x.frames[c.depth]
	v := &f.values[c.slot]
	list := f.node.lists[c.slot]
	if v.set && !list {
		return nil
	}
	if len(v.buf)+len(text) > maxValue {
		return x.wrong(TooLarge, x.tokens.line, x.tokens.column(), "a value of element %s takes more than %d bytes", f.node.name, maxValue)
	}
	v.set, v.buf = true, append(v.buf, text...)
	if list {
		v.buf = append(v.buf, 0)
	}
	return nil
}

func (x *reading) chars() error {
	if x.skipped > 0 || x.depth == 0 {
		return nil
	}
	f := &x.frames[x.depth-1]
	if len(f.node.text) == 0 {
		return nil
	}
	if len(f.text)+len(x.tokens.text) > maxValue {
		return x.wrong(TooLarge, f.line, f.column, "the text of element %s takes more than %d bytes", f.node.name, maxValue)
	}
	var err error
	f.text, err = x.tokens.decode(f.text, x.tokens.text, false, x.tokens.cdata)
	return err
}

func (x *reading) end() error {
	if x.skipped > 0 {
		x.skipped--
		return nil
	}
	f := &x.frames[x.depth-1]
	for _, c := range f.node.text {
		if err := x.store(c, f.text); err != nil {
			return err
		}
	}
	r := f.node.rule
	if r != nil {
		p := &x.own
		*p = pendingRow{rule: r, ordinal: f.ordinal, line: f.line, column: f.column}
		if r.parent != nil {
			p.parent = x.frames[r.parent.node.depth].ordinal
		}
		var err error
		if r.emit < f.node.depth {
			err = x.postpone(p)
		} else {
			err = x.emit(p)
		}
		if err != nil {
			return err
		}
	}
	for i := range f.pending {
		p := &f.pending[i]
		x.waiting--
		for _, v := range p.values {
			x.waitingBytes -= len(v)
		}
		if err := x.emit(p); err != nil {
			return err
		}
		*p = pendingRow{}
	}
	x.depth--
	if r != nil && r.table.Record {
		return x.endRecord(f, r)
	}
	return nil
}
