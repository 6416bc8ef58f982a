package remote

import (
	"errors"
	"io"
)

// Heads are what was said before a file's bytes, for people who look into a transfer:
// each one line of at most 1,000 bytes without secrets. They are empty where a protocol
// has none.
type Heads struct{ Request, Response string }

// HeadsOf returns the heads that came before what a reader of [Session.Open] brings.
func HeadsOf(r io.Reader) Heads {
	if h, ok := r.(interface{ Heads() Heads }); ok {
		return h.Heads()
	}
	return Heads{}
}

// HeadsOfError returns the heads of the answer by which a server refused a file.
func HeadsOfError(err error) Heads {
	var e *Error
	if errors.As(err, &e) {
		return e.Heads
	}
	return Heads{}
}
