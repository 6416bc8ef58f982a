package xsdcheck

import (
	"bytes"
	"context"
	"errors"
	"io"
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
	line, column int // both from 0, of what comes next
	kept         []byte
}

func (t *text) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.kept = append(t.kept, p[:min(n, keep-len(t.kept))]...)
	if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
		t.line += bytes.Count(p[:last+1], []byte{'\n'})
		t.column = n - last - 1
	} else {
		t.column += n
	}
	return n, err
}

// place completes the errors that have no position, where there is one: text
// that ends too early is wrong at its end, and what kept the document from
// being begun is wrong at its beginning.
func (t *text) place(found []finding) {
	for i := range found {
		e := &found[i].Error
		if e.Line > 0 {
			continue
		}
		switch e.Exception {
		case NotWellFormed:
			e.Line, e.Column = t.line+1, max(t.column, 1)
		case BadEncoding, BadVersion:
			e.Line, e.Column = 1, 1
		}
	}
}
