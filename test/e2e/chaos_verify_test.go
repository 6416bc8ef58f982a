package e2e

import (
	"strings"
	"time"

	"tributary/test/wait"
)

// proving has the program prove that tracker and history are what the log says,
// and the warehouse what the order and the blobs make. The engines must be
// serving, and nothing may be pending. What it returns waits for the answers: a
// suite of many runs has other questions meanwhile.
func (s *system) proving() (proven func()) {
	s.t.Helper()
	var all []*process
	for _, command := range []string{"tracker verify", "history verify --complete", "warehouse verify"} {
		all = append(all, s.start(strings.Fields(command)...))
	}
	return func() {
		s.t.Helper()
		began := time.Now()
		for _, p := range all {
			if code := p.code(wait.Patience()); code != 0 {
				s.t.Errorf("tributary %s: exit code %d\n%s%s", p.name, code, p.output(), p.tail())
			}
		}
		s.t.Logf("tracker, history and warehouse are proven; that was waited for %s", time.Since(began).Round(10*time.Millisecond))
	}
}

// proven does so at once.
func (s *system) proven() {
	s.t.Helper()
	s.proving()()
}
