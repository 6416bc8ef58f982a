package broker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// guarded is a connection as the library sees it: what it reads are whole
// requests that were judged. What is refused is answered here, in its turn.
// The library reads from one goroutine and writes from another.
type guarded struct {
	net.Conn
	door  *door
	role  *role
	where string // of the other side, for people
	free  func() // gives the connection's place to another

	rest []byte // of a judged request, not read yet; the reader's

	mu       sync.Mutex
	answered *sync.Cond
	pending  int  // requests that the library has and has not answered
	closed   bool // guarded by mu
}

func (d *door) guard(c net.Conn, r *role, where string, free func()) *guarded {
	g := &guarded{Conn: c, door: d, role: r, where: where, free: free}
	g.answered = sync.NewCond(&g.mu)
	return g
}

// Read gives the library the next bytes of requests that may reach it.
func (g *guarded) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		g.rest = nil
		if err := g.next(); err != nil {
			g.door.entrance.TurnAway(g.role.name, g.where, err)
			return 0, errors.Join(io.EOF, g.Close())
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// next judges the next request, and answers it unless the library is to.
func (g *guarded) next() error {
	if err := g.await(); err != nil {
		return err
	}
	size, err := readSize(g.Conn)
	if err != nil {
		return err
	}
	if err := g.Conn.SetReadDeadline(time.Now().Add(frameTime)); err != nil {
		return err
	}
	raw, err := readRaw(g.Conn, size, g.role.largest)
	if err != nil {
		return err
	}
	f, err := decode(raw, g.role.keys)
	if err != nil {
		return err
	}
	resp, err := g.door.judge(g.role, f)
	if err != nil {
		return err
	}
	if resp != nil {
		return g.answer(response(f.corr, resp))
	}
	g.rest = f.raw
	if expectsAnswer(f.req) {
		g.mu.Lock()
		g.pending++
		g.mu.Unlock()
	}
	return nil
}

// await waits for the first byte of a request no longer than a connection may
// be idle, which it is not while an answer is owed to it.
func (g *guarded) await() error {
	peek, ok := g.Conn.(*peeked)
	if !ok {
		return errors.New("a connection that can't be waited for")
	}
	for {
		if err := g.Conn.SetReadDeadline(time.Now().Add(idleTime)); err != nil {
			return err
		}
		_, err := peek.buffered.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) && g.owes() {
			continue
		}
		return err
	}
}

func (g *guarded) owes() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pending > 0
}

// answer writes an answer of the door's own, once those before it are written.
func (g *guarded) answer(b []byte) error {
	g.mu.Lock()
	for g.pending > 0 && !g.closed {
		g.answered.Wait()
	}
	g.mu.Unlock()
	return g.write(b)
}

// Write sends one answer of the library's.
func (g *guarded) Write(p []byte) (int, error) {
	err := g.write(p)
	g.mu.Lock()
	g.pending--
	g.answered.Broadcast()
	g.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (g *guarded) write(p []byte) error {
	if err := g.Conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := g.Conn.Write(p); err != nil {
		return fmt.Errorf("an answer of %d bytes that was not taken: %w", len(p), err)
	}
	return nil
}

// Close ends the connection and gives its place to another. Closing again is
// harmless.
func (g *guarded) Close() error {
	g.mu.Lock()
	was := g.closed
	g.closed = true
	g.answered.Broadcast()
	g.mu.Unlock()
	if was {
		return nil
	}
	g.free()
	return g.Conn.Close()
}
