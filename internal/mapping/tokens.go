package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Limits of one document beyond which it is refused; validation has lower ones.
const (
	maxTag   = 4 << 20 // bytes of one tag
	maxValue = 4 << 20 // bytes of one value, or of all of a list
	maxDepth = 1024
)

// SyntaxError says where a document can't be read as XML. What it doesn't
// notice, validation has refused before.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// token is what tokens.next found.
type token int

const (
	tokenStart token = iota
	tokenEnd
	tokenText
	tokenEOF
)

// attribute is one of the current start tag; both slices are valid until the
// next token.
type attribute struct {
	name []byte // local
	raw  []byte // value, not yet decoded
}

// tokens splits a document into tags and text. It is several times faster than
// encoding/xml because it decodes only what is asked for and allocates nothing
// per token. Documents reach it after validation, so it checks what reading
// needs and no more: nesting, references, that there is no DTD.
type tokens struct {
	r        io.Reader
	buf      []byte
	pos, end int
	eof      bool

	dropped int64 // bytes before buf[0]
	line    int   // of buf[pos]
	lineOff int   // offset of the line's first byte relative to buf[0]; may be negative

	name      []byte // local name of the current tag
	attrs     []attribute
	text      []byte // raw text, valid until the next token
	cdata     bool   // text is literal
	selfClose bool
	tagLine   int // where the current tag begins
	tagColumn int
	tagOffset int64

	open  []byte // names of the open elements, one after another
	marks []int
	roots int
}

// newTokens reads through buf, which it may replace by a longer one.
func newTokens(r io.Reader, buf []byte) *tokens {
	return &tokens{r: r, buf: buf, line: 1}
}

func (t *tokens) column() int { return t.pos - t.lineOff + 1 }

// offset is that of buf[pos] in the document's UTF-8 form.
func (t *tokens) offset() int64 { return t.dropped + int64(t.pos) }

func (t *tokens) wrong(format string, args ...any) error {
	return &SyntaxError{Line: t.line, Column: t.column(), Message: fmt.Sprintf(format, args...)}
}

// fill reads more behind what is there. It returns io.EOF when there is none.
func (t *tokens) fill() error {
	if t.eof {
		return io.EOF
	}
	if t.pos > 0 {
		copy(t.buf, t.buf[t.pos:t.end])
		t.end -= t.pos
		t.lineOff -= t.pos
		t.dropped += int64(t.pos)
		t.pos = 0
	}
	if t.end == len(t.buf) {
		if len(t.buf) >= maxTag {
			return t.wrong("a tag, comment or reference does not end within %d bytes", maxTag)
		}
		t.buf = append(t.buf, make([]byte, len(t.buf))...)
	}
	for range 100 {
		n, err := t.r.Read(t.buf[t.end:])
		t.end += n
		switch {
		case errors.Is(err, io.EOF):
			t.eof = true
			if n == 0 {
				return io.EOF
			}
			return nil
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
	return io.ErrNoProgress
}

// advance moves to pos, counting lines.
func (t *tokens) advance(to int) {
	part := t.buf[t.pos:to]
	if n := bytes.Count(part, []byte{'\n'}); n > 0 {
		t.line += n
		t.lineOff = t.pos + bytes.LastIndexByte(part, '\n') + 1
	}
	t.pos = to
}

// find returns the index behind the first what at or after from bytes behind
// pos, reading more as needed.
func (t *tokens) find(from int, what []byte, inside string) (int, error) {
	for {
		if from <= t.end-t.pos {
			if i := bytes.Index(t.buf[t.pos+from:t.end], what); i >= 0 {
				return t.pos + from + i + len(what), nil
			}
			from = max(from, t.end-t.pos-len(what)+1)
		}
		if err := t.more(inside); err != nil {
			return 0, err
		}
	}
}

// more reads more, where the document must not end.
func (t *tokens) more(inside string) error {
	err := t.fill()
	if errors.Is(err, io.EOF) {
		return t.wrong("the document ends inside %s", inside)
	}
	return err
}

// next returns the next token. Comments and processing instructions are
// skipped.
func (t *tokens) next() (token, error) {
	if t.selfClose {
		t.selfClose = false
		return tokenEnd, t.pop(t.name)
	}
	for {
		if t.pos == t.end {
			if err := t.fill(); errors.Is(err, io.EOF) {
				return tokenEOF, t.ended()
			} else if err != nil {
				return 0, err
			}
			continue
		}
		if t.buf[t.pos] != '<' {
			got, err := t.takeText()
			if err != nil || got {
				return tokenText, err
			}
			continue
		}
		if t.end-t.pos < 9 && !t.eof {
			if err := t.fill(); err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			if t.end-t.pos < 9 && !t.eof {
				continue
			}
		}
		rest := t.buf[t.pos:t.end]
		switch {
		case bytes.HasPrefix(rest, []byte("<?")):
			if err := t.skip(2, "?>", "a processing instruction"); err != nil {
				return 0, err
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			if err := t.skip(4, "-->", "a comment"); err != nil {
				return 0, err
			}
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			if len(t.marks) == 0 {
				return 0, t.wrong("text outside of the root element")
			}
			to, err := t.find(9, []byte("]]>"), "a CDATA section")
			if err != nil {
				return 0, err
			}
			t.text, t.cdata = t.buf[t.pos+9:to-3], true
			t.advance(to)
			return tokenText, nil
		case bytes.HasPrefix(rest, []byte("<!")):
			return 0, t.wrong("a document type declaration is not accepted")
		case bytes.HasPrefix(rest, []byte("</")):
			return tokenEnd, t.endTag()
		default:
			return tokenStart, t.startTag()
		}
	}
}

// skip passes over a comment or an instruction, of any length, that begins with
// from bytes. Where it doesn't end, the error is at its beginning.
func (t *tokens) skip(from int, until, inside string) error {
	line, column := t.line, t.column()
	more := func() error {
		err := t.more(inside)
		if e := (*SyntaxError)(nil); errors.As(err, &e) {
			e.Line, e.Column = line, column
		}
		return err
	}
	for t.end-t.pos < from {
		if err := more(); err != nil {
			return err
		}
	}
	t.advance(t.pos + from)
	for {
		if i := bytes.Index(t.buf[t.pos:t.end], []byte(until)); i >= 0 {
			t.advance(t.pos + i + len(until))
			return nil
		}
		t.advance(max(t.pos, t.end-len(until)+1))
		if err := more(); err != nil {
			return err
		}
	}
}

func (t *tokens) ended() error {
	switch {
	case len(t.marks) > 0:
		return t.wrong("the document ends before its element %s does", t.open[t.marks[len(t.marks)-1]:])
	case t.roots == 0:
		return t.wrong("the document has no element")
	}
	return nil
}

// takeText sets text to what stands before the next tag, or a part of it that
// ends between two characters and references. It reports false where more must
// be read first.
func (t *tokens) takeText() (bool, error) {
	part := t.buf[t.pos:t.end]
	to := bytes.IndexByte(part, '<')
	if to < 0 && !t.eof {
		// Keep back what may be the beginning of something, a carriage
		// return included, whose line feed may follow.
		to = len(part)
		if i := bytes.LastIndexByte(part, '&'); i >= 0 && bytes.IndexByte(part[i:], ';') < 0 {
			to = i
		}
		for back := 1; back <= min(3, to); back++ {
			if c := part[to-back]; c == '\r' && back == 1 || utf8.RuneStart(c) && c >= utf8.RuneSelf && !utf8.FullRune(part[to-back:to]) {
				to -= back
				break
			}
		}
		if to == 0 {
			return false, t.refill()
		}
	} else if to < 0 {
		to = len(part)
	}
	t.text, t.cdata = part[:to], false
	if len(t.marks) == 0 && len(bytes.Trim(t.text, " \t\r\n")) > 0 {
		return false, t.wrong("text outside of the root element")
	}
	t.advance(t.pos + to)
	return true, nil
}

func (t *tokens) refill() error {
	if err := t.fill(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
