package live

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// Stream is an answer of server-sent events that goes on.
type Stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

// Begin begins an answer of events, the first of which it sends.
func Begin(w http.ResponseWriter, first string) (*Stream, error) {
	s := &Stream{w, http.NewResponseController(w)}
	// The request has been read: the server's time for that must not end the answer.
	if err := s.c.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("let events go on: %w", err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects answers is asked not to
	return s, s.Send(first)
}

// Send writes to the reader, who has writeTime to read it.
func (s *Stream) Send(text string) error {
	if err := s.c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("bound how long a reader reads: %w", err)
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	if err := s.c.Flush(); err != nil {
		return err
	}
	return s.c.SetWriteDeadline(time.Time{}) // a stream over HTTP/2 would end with it also in silence
}

// Again ends a stream: its reader is told to ask for another one.
func (s *Stream) Again() error { return s.Send("event: again\ndata:\n\n") }
