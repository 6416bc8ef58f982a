package pgdoor

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// session is a client that has logged in, and Postgres' process that serves it.
type session struct {
	door           *Door
	client, server net.Conn
	fromClient     *bufio.Reader
	fromServer     *bufio.Reader
	pid            uint32
	key            []byte
}

// relay passes on what both sides say until one of them ends.
func (s *session) relay() error {
	defer context.AfterFunc(s.door.entrance.Context(), func() { _ = s.server.Close() })()
	if err := errors.Join(s.client.SetDeadline(time.Time{}), s.server.SetDeadline(time.Time{})); err != nil {
		return err
	}
	s.touch()
	errs := [2]error{}
	var both sync.WaitGroup
	both.Go(func() {
		errs[0] = s.toServer()
		_ = s.server.Close() // the other direction ends by it
	})
	both.Go(func() {
		errs[1] = s.toClient()
		_ = s.client.Close()
	})
	both.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return nil
}

// touch lets the connection be idle for as long as one may be from now on.
func (s *session) touch() {
	until := time.Now().Add(idleTime)
	_ = s.client.SetReadDeadline(until) // a connection that is closed needs none
	_ = s.server.SetReadDeadline(until)
}

// toServer passes on what the client says, message by message.
func (s *session) toServer() error {
	for {
		kind, body, err := readMessage(s.fromClient, maxMessage)
		if err != nil {
			var r *refusal
			if errors.As(err, &r) {
				_ = s.client.SetWriteDeadline(time.Now().Add(writeTime))
				return errors.Join(err, r.answer(s.client))
			}
			return err
		}
		s.touch()
		if err := s.server.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		if _, err := s.server.Write(message(kind, judged(kind, body))); err != nil {
			return err
		}
	}
}

// toClient passes on what Postgres says.
func (s *session) toClient() error {
	b := make([]byte, 32<<10)
	for {
		n, err := s.fromServer.Read(b)
		if err != nil {
			return err
		}
		s.touch()
		if err := s.client.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		if _, err := s.client.Write(b[:n]); err != nil {
			return err
		}
	}
}

// end forgets the session, and cancels what Postgres may still be doing for it:
// a process that computes doesn't notice that nobody listens any more.
func (s *session) end() {
	s.door.mu.Lock()
	delete(s.door.keys, s.pid)
	s.door.mu.Unlock()
	_ = s.server.Close()
	s.door.sendCancel(s.pid, s.key)
}

// forwardCancel passes a request to cancel on if it is for a session of this
// door: Postgres' other processes are not this user's to guess at.
func (d *Door) forwardCancel(rest []byte) {
	if len(rest) < 8 {
		return
	}
	pid, key := binary.BigEndian.Uint32(rest), rest[4:]
	d.mu.Lock()
	known, served := d.keys[pid]
	d.mu.Unlock()
	if served && subtle.ConstantTimeCompare(known, key) == 1 {
		d.sendCancel(pid, key)
	}
}

// sendCancel asks Postgres to cancel what a process does, and waits until it has
// been asked.
func (d *Door) sendCancel(pid uint32, key []byte) {
	c, err := d.dial()
	if err != nil {
		return // it does not run, or the door is being closed
	}
	defer c.Close()
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(key)))
	b = binary.BigEndian.AppendUint32(b, codeCancel)
	b = append(binary.BigEndian.AppendUint32(b, pid), key...)
	if _, err := c.Write(b); err == nil {
		_, _ = io.Copy(io.Discard, c) // it says nothing, and closes
	}
}
