package xsdcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// source counts what is read of a document, ends it when ctx does, and keeps
// the error of the document's reader apart from errors about its content.
type source struct {
	ctx   context.Context
	r     io.Reader
	bytes int64
	err   error
}

// maxEmptyReads is how often a reader may return nothing and no error in a row.
const maxEmptyReads = 100

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	for range maxEmptyReads {
		if err := s.ctx.Err(); err != nil {
			s.err = err
			return 0, err
		}
		n, err := s.r.Read(p)
		s.bytes += int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			s.err = err
			return n, err
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	s.err = io.ErrNoProgress
	return 0, s.err
}

// text follows where in the document reading is, for what the engine finds
// without saying where: what is wrong at the very end, or before the start. It
// keeps the beginning, for messages.
type text struct {
	r            io.Reader
	err          error // of r
	line, column int   // both from 0, of what comes next
	kept         []byte
	guard        guard
}

// Read fills p unless the document ends. The engine's places of what isn't
// well-formed depend on the pieces that it reads, and a document's errors are
// not to depend on how it comes here.
func (t *text) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && t.err == nil {
		var got int
		got, t.err = t.r.Read(p[n:])
		n += got
	}
	if n > 0 {
		var err error
		if n, err = t.guard.advance(p[:n]); err != nil {
			t.err = err
		}
		t.took(p[:n])
		return n, nil
	}
	return 0, t.err
}

func (t *text) took(b []byte) {
	t.kept = append(t.kept, b[:min(len(b), keep-len(t.kept))]...)
	if last := bytes.LastIndexByte(b, '\n'); last >= 0 {
		t.line += bytes.Count(b[:last+1], []byte{'\n'})
		t.column = len(b) - last - 1
	} else {
		t.column += len(b)
	}
}

// place completes the errors that have no position, where there is one: text
// that ends too early is wrong at its end, and what kept the document from
// being begun is wrong at its beginning.
func (t *text) place(found []finding) {
	for i := range found {
		e := &found[i].Error
		if engine := found[i].engine; engine != nil && notUTF8(engine) {
			t.placeBytes(e)
		}
		if e.Line > 0 {
			continue
		}
		switch e.Exception {
		case NotWellFormed, OverLimit:
			e.Line, e.Column = t.line+1, max(t.column, 1)
		case BadEncoding, BadVersion:
			e.Line, e.Column = 1, 1
		}
	}
}

// placeBytes finds the first bytes that are not UTF-8, of which the engine only
// says in which piece of text they are.
func (t *text) placeBytes(e *Error) {
	for i := 0; i < len(t.kept); {
		if t.kept[i] < utf8.RuneSelf {
			i++
			continue
		}
		c, size := utf8.DecodeRune(t.kept[i:])
		if c == utf8.RuneError && size == 1 {
			if !utf8.FullRune(t.kept[i:]) && len(t.kept) == keep {
				return // the rest of it was not kept
			}
			e.Line, e.Column = lineAndColumn(t.kept, i)
			e.Message = fmt.Sprintf("the byte 0x%X is not UTF-8: if the document is in another encoding, its XML declaration must say so", t.kept[i])
			return
		}
		i += size
	}
}
