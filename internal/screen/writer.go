package screen

import (
	"bufio"
	"fmt"
	"io"
)

// Writer writes lines for people and keeps the first error.
type Writer struct {
	*bufio.Writer
	Err error
}

// NewWriter returns a Writer; Flush ends it.
func NewWriter(w io.Writer) *Writer { return &Writer{Writer: bufio.NewWriterSize(w, 64<<10)} }

// Line writes one line; strings among the arguments are made safe to print.
func (p *Writer) Line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = Line(s)
		}
	}
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.Writer, format+"\n", args...)
	}
}

// Flush writes what is left, and returns the first error of all.
func (p *Writer) Flush() error {
	if p.Err == nil {
		p.Err = p.Writer.Flush()
	}
	if p.Err != nil {
		return fmt.Errorf("write: %w", p.Err)
	}
	return nil
}
