//go:build !race

package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
	"tributary/sql/control"
)

// given gives an acquisition a priority of its own.
func given(a *control.Acquisition, priority int) *control.Acquisition {
	a.Priority = &priority
	return a
}

// oneSession is a server with one session, whose sources have the given priorities,
// or 5.
type oneSession struct {
	*World
	p          *Planner
	priorities map[string]int
	stand      map[string]*control.Turn
	name       map[string]string // of files
}

func newSession(t testing.TB, priorities map[string]int) *oneSession {
	return &oneSession{World: newWorld(t), p: newPlanner(), priorities: priorities, name: map[string]string{}}
}

func (s *oneSession) wanted(name, source string, size int64, alone bool) *control.Acquisition {
	a := wanted(s.World, source, "a:22", size, alone)
	s.name[a.File] = name
	return a
}

// give gives the next job, and returns its files, by name.
func (s *oneSession) give() []string { return slices.Concat(s.giveAll(1)...) }

// giveAll gives as many jobs at once, and returns their files.
func (s *oneSession) giveAll(credit int) (jobs [][]string) {
	turns := turnsOf(s.World) // read anew, as by each turn of the dispatcher
	for source, t := range turns {
		if p, ok := s.priorities[source]; ok {
			t.Priority = p
		}
		if before := s.stand[source]; before != nil {
			t.Last, t.Jobs = before.Last, before.Jobs
		}
	}
	s.stand = turns
	for _, j := range s.p.gather(s.World, map[string]int{"a:22": credit}, turns) {
		var files []string
		for _, it := range j.items {
			files = append(files, s.name[it.file.ID])
			it.a.State = control.Requested
		}
		jobs = append(jobs, files)
	}
	return jobs
}

// A file that a person has given a higher priority goes before all others of its
// source, also if it is a replay, and one with a lower priority after them, each in
// jobs of their own.
func TestPrioritiesWithinASource(t *testing.T) {
	s := newSession(t, nil)
	for i, name := range []string{"a", "b", "c"} {
		s.wanted(name, "s1", int64(i+1), false)
	}
	given(s.wanted("last", "s1", 0, false), 4)
	given(s.wanted("first", "s1", 1000, false), 9)
	given(s.wanted("beside it", "s1", 2000, false), 9)
	given(s.wanted("as the source", "s1", 0, false), 5)
	given(s.wanted("replay", "s1", 3000, false), 6).Run = "11111111-1111-5111-9111-111111111111"
	want := [][]string{{"first", "beside it"}, {"replay"}, {"as the source", "a", "b", "c"}, {"last"}, nil}
	for _, files := range want {
		if diff := cmp.Diff(files, s.give()); diff != "" {
			t.Errorf("a job (-want +got):\n%s", diff)
		}
	}
}

// A source is given the job of such a file by the file's priority, and its others by
// its own.
func TestPrioritiesAmongSources(t *testing.T) {
	for priority, want := range map[int]int{0: 10, 4: 2, 9: 1} {
		s := newSession(t, map[string]int{"busy": 9, "slow": 0})
		for range 40 {
			s.wanted("busy", "busy", 1, true)
			s.wanted("slow", "slow", 1, true)
		}
		next := func() (file string, before int) {
			for file = s.give()[0]; file == "busy"; file = s.give()[0] {
				before++
			}
			return file, before
		}
		next() // its share begins here
		given(s.wanted("urgent", "slow", 1<<20, true), priority)
		if got, before := next(); before != want || priority > 0 && got != "urgent" {
			t.Errorf("priority %d: %s is given after %d jobs of the other source, want %d", priority, got, before, want)
		}
		if _, before := next(); before != 10 {
			t.Errorf("priority %d: the next is given after %d jobs of the other source, want 10", priority, before)
		}
	}
}

// So it is whether sessions come free one by one or at once.
func TestPrioritiesOfJobsThatAreGivenAtOnce(t *testing.T) {
	jobs := func(atOnce int) (got []string) {
		s := newSession(t, map[string]int{"busy": 9, "slow": 0})
		for range 40 {
			s.wanted("busy", "busy", 1, true)
			s.wanted("slow", "slow", 1, true)
		}
		given(s.wanted("urgent", "slow", 1, true), 9)
		for len(got) < 30 {
			for _, files := range s.giveAll(atOnce) {
				got = append(got, files...)
			}
		}
		return got
	}
	if diff := cmp.Diff(jobs(1), jobs(30)); diff != "" {
		t.Errorf("jobs (-one by one +at once):\n%s", diff)
	}
}

// However low its priority, and however many others come, a file waits for no more
// than ten jobs of its source.
func TestNoFileOfALowPriorityStarves(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSession(t, nil)
		last := given(s.wanted("last", "s1", 1<<30, true), rapid.IntRange(0, 5).Draw(r, "priority"))
		for n := 0; last.State == control.Wanted; n++ {
			if n == aged {
				r.Fatalf("it waits for %d jobs", n)
			}
			s.now = s.now.Add(time.Second)
			given(s.wanted("urgent", "s1", 1, true), control.MostPriority)
			s.give()
		}
	})
}

// A file's priority ends once bytes of it have come, or it has ended for good; what
// begins anew before that has it too.
func TestAFileKeepsItsPriorityUntilItIsFetched(t *testing.T) {
	nine := 9
	for _, tt := range []struct {
		name string
		then func(s *scene)
		want bool
	}{
		{"a new version comes", func(s *scene) { s.show(own, 11) }, true},
		{"it fails and is tried again", func(s *scene) { s.fails(s.from(own), schemas.Download, "timed_out") }, true},
		{"no source can be fetched from", func(s *scene) { s.hosting(own).State = "maintenance"; s.request() }, true},
		{"the source is removed", func(s *scene) { s.hosting(own).State = "removed"; s.request() }, false},
		{"it is fetched", func(s *scene) { s.complete(s.from(own), "sha-1") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.show(own, 10)
			s.f.Prioritise(control.Urgency{Priority: &nine, PriorityBy: "ann"})
			tt.then(s)
			if got := s.f.Priority != nil; got != tt.want {
				t.Errorf("it has the priority: %v, want %v", got, tt.want)
			}
			for _, a := range s.f.Acquisitions {
				if a.Run == schemas.LiveRun && (a.Priority == nil || *a.Priority != nine) {
					t.Errorf("it is fetched with %v", a.Priority)
				}
			}
		})
	}
}
