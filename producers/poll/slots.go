package poll

import (
	"context"
	"sync"
)

// slots bound how many polls a member runs at once, and how many of these are of
// one server: at most half, so that a server which keeps its polls waiting, with
// however many sources, leaves the other half to the others.
type slots struct {
	free    chan struct{}
	share   int               // of one server
	servers map[string]string // by source

	mu   sync.Mutex
	busy map[string]int // polls that run, by server
}

func newSlots(n int, servers map[string]string) *slots {
	s := &slots{free: make(chan struct{}, n), share: max(1, n/2), servers: servers, busy: map[string]int{}}
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

// open are the sources whose servers don't have their share yet.
func (s *slots) open() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.servers))
	for id, server := range s.servers {
		if s.busy[server] < s.share {
			ids = append(ids, id)
		}
	}
	return ids
}

// occupy uses the caller's slot for a source; end gives it back.
func (s *slots) occupy(source string) (end func()) {
	server := s.servers[source]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[server]++
	return func() {
		s.mu.Lock()
		s.busy[server]--
		s.mu.Unlock()
		s.release()
	}
}
