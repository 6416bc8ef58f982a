package e2e

import (
	"strings"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// serverLimit is how many sessions each server of the test allows.
const serverLimit = 2

// Four members download, files come one to a job, every source is listed every
// second, and members leave and join in the middle of it: no server ever has more
// sessions than it allows, by its own count.
func TestServersLimitHolds(t *testing.T) {
	t.Parallel()
	long(t, "TestPollsAndJobsShareTheCredit", "TestTheLastSessionIsGivenOnce")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Counted: true, Extra: strings.Replace(withPlan("  job_files: 1\n  max_sessions: 2\n"), "interval: 3s", "interval: 1s", 1)})
	s.engines(func(engine.Endpoints) {
		rest := s.start(strings.Fields("run schedule poll plan publish unzip validate sequence insert tracker history")...)
		polls := s.start("run", "poll", "plan")
		var members []*process
		for range 4 {
			members = append(members, s.start("run", "download"))
		}
		for range 5 {
			// The next one leaves when something is under way.
			eventually(t, wait.Patience(), func() string {
				for _, server := range s.rig.Servers() {
					if open, _, _ := server.Sessions(); open > 0 {
						return ""
					}
				}
				return "no session is open"
			})
			members = append(members, s.start("run", "download"))
			members[0].stop()
			members = members[1:]
			if err := s.corpus.Add(9); err != nil {
				t.Fatal(err)
			}
			if err := s.rig.Update(); err != nil {
				t.Fatal(err)
			}
		}
		s.settled(append(members, rest, polls)...)
		for _, p := range append(members, polls, rest) {
			p.stop()
		}
	})
	reached := 0
	hungUp(t, s.rig.Servers())
	for id, server := range s.rig.Servers() {
		_, most, total := server.Sessions()
		if most > serverLimit {
			t.Errorf("the server of %s had %d sessions at once, and allows %d", id, most, serverLimit)
		}
		if most == serverLimit {
			reached++
		}
		t.Logf("the server of %s had %d sessions, at most %d at once", id, total, most)
	}
	if reached == 0 {
		t.Error("no server's limit was reached: the test shows nothing")
	}
	s.once()
	s.expect(false)
}
