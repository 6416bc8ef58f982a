package poll

import (
	"context"
	"sync"
)

// slots bound how many polls a member runs at once, and how many of these are of
// one server: at most half, so that a server which keeps its polls waiting, with
// however many sources, leaves the other half to the others.
type slots struct {
	free  chan struct{}
	share int // of one server

	mu   sync.Mutex
	busy map[string]int // polls that run, by server
}

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n), share: max(1, n/2), busy: map[string]int{}}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// wait waits for a slot, which is then the caller's; false if ctx ends first.
func (s *slots) wait(ctx context.Context) bool {
	select {
	case <-s.free:
		return true
	case <-ctx.Done():
		return false
	}
}

// release gives a slot back that was not used.
func (s *slots) release() { s.free <- struct{}{} }

// full are the servers that have their share.
func (s *slots) full() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var servers []string
	for server, n := range s.busy {
		if n >= s.share {
			servers = append(servers, server)
		}
	}
	return servers
}

// used tells whether a poll runs.
func (s *slots) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) > 0
}

// occupy uses the caller's slot for a server; end gives it back.
func (s *slots) occupy(server string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[server]++
	return func() {
		s.mu.Lock()
		if s.busy[server]--; s.busy[server] == 0 {
			delete(s.busy, server)
		}
		s.mu.Unlock()
		s.release()
	}
}
