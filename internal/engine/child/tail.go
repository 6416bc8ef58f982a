package child

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	tailLines   = 20
	maxLineSize = 4 << 10
)

// Tail hands each line that a child writes to a function and keeps the last
// lines for error messages. It is an [io.Writer] that never fails and never
// holds more than 20 lines of 4 KiB.
type Tail struct {
	mu    sync.Mutex
	each  func(line string)
	part  []byte
	lines []string
}

// NewTail returns a Tail that calls each (which may be nil) for every line, in
// order, from the goroutine that writes.
func NewTail(each func(line string)) *Tail { return &Tail{each: each} }

// Write takes in p. Lines beyond 4 KiB are cut.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			t.part = append(t.part, p[:min(len(p), maxLineSize)]...)
			if len(t.part) >= maxLineSize {
				t.line()
			}
			break
		}
		t.part = append(t.part, p[:min(i, maxLineSize)]...)
		t.line()
		p = p[i+1:]
	}
	return n, nil
}

func (t *Tail) line() {
	line := strings.TrimRight(string(t.part), "\r")
	t.part = t.part[:0]
	if line == "" {
		return
	}
	if len(t.lines) == tailLines {
		copy(t.lines, t.lines[1:])
		t.lines = t.lines[:tailLines-1]
	}
	t.lines = append(t.lines, line)
	if t.each != nil {
		t.each(line)
	}
}

// String returns the last lines, joined by newlines.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// Copy feeds r to the Tail until r ends.
func (t *Tail) Copy(r io.Reader) {
	_, _ = io.Copy(t, bufio.NewReader(r))
}
