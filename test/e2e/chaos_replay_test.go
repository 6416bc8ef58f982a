package e2e

import (
	"testing"
	"time"

	"tributary/test/wait"
)

// replaysOf tells the runs in which files are replayed while faults go on: one in
// five, and one of the first three, which is all that some suites make.
func replaysOf(from uint64) bool { return from%5 == 2 }

// replaying asks for replays of all files that have come, while faults go on: a
// command that fails since something is away is given again, as people do.
type replaying struct {
	next  time.Time
	asked *process // not answered yet; nil: none
	done  int      // that were taken
}

// tickReplay does what is due.
func (c *chaos) tickReplay(now time.Time) {
	r := c.replays
	if r.asked != nil {
		select {
		case <-r.asked.done:
		default:
			return
		}
		r.next = now.Add(time.Second)
		if r.asked.err == nil {
			r.done++
			r.next = now.Add(5 * time.Second)
			c.f.say("a replay was taken: tributary %s", r.asked.name)
		}
		r.asked = nil
	}
	// Without engines that run the command would start its own, which is not what
	// people do beside a supervisor.
	if now.Before(r.next) || !c.f.engines().runs() || c.f.engines().not("engines are serving") != "" {
		return
	}
	// What can't change where a file ends, even while sources are cut off.
	phase := []string{"xsd", "unzip"}[r.done%2]
	r.asked = c.f.s.start("replay", "--from", phase, "--where", "version IS NOT NULL", "--reason", "chaos")
}

// someReplay sees to it that at least one replay was taken, and none is being
// asked for.
func (c *chaos) someReplay(t testing.TB) {
	t.Helper()
	left := c.f.wait(wait.Patience(), func() string {
		c.tickReplay(time.Now())
		if c.replays.done == 0 {
			return "no replay was taken"
		}
		if c.replays.asked != nil {
			return "a replay is being asked for"
		}
		return ""
	})
	if left != "" {
		t.Fatal(left)
	}
}

// replayed expects that all replays have ended, and well.
func (s *system) replayed() {
	s.t.Helper()
	for _, r := range s.replays() {
		if r.State != "done" || r.Waiting > 0 || r.Complete+r.Failed+r.Refused != r.Items {
			s.t.Errorf("replay %d is %+v", r.Replay, r)
		}
	}
}
