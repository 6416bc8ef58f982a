//go:build !race

package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
	"tributary/sql/control"
)

// queue is what waits at one server: as many files, each a job, of each source.
type queue struct {
	sources []*control.Turn
	waiting map[string]int
	clock   int64
}

func newQueue(priorities ...int) *queue {
	q := &queue{waiting: map[string]int{}}
	for i, p := range priorities {
		q.sources = append(q.sources, &control.Turn{Source: fmt.Sprintf("s%02d", i), Server: "a:22", Priority: p})
	}
	return q
}

// give gives the next job, and returns the source that has it; nil where none waits.
func (q *queue) give() *control.Turn {
	t := next(q.sources, q.clock, func(s string) bool { return q.waiting[s] > 0 })
	if t != nil {
		q.waiting[t.Source]--
		q.clock = t.Give(q.clock)
	}
	return t
}

// mostBetween is how many jobs another source is given at most while one waits.
func mostBetween(one, other *control.Turn) int { return (other.Priority+1)/(one.Priority+1) + 1 }

// Whoever waits is served: while it does, another source of its server is given no
// more jobs than (its priority + 1) / (one's own + 1), rounded down, and one,
// whatever comes and goes, and whatever people make of the priorities of others
// before.
func TestNoSourceStarves(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := newQueue(rapid.SliceOfN(rapid.IntRange(0, control.MostPriority), 2, 12).Draw(r, "priorities")...)
		between := map[string]map[string]int{} // of a source that waits: jobs of others meanwhile
		for range 400 {
			s := rapid.SampledFrom(q.sources).Draw(r, "source")
			q.waiting[s.Source] += rapid.SampledFrom([]int{0, 0, 1, 100}).Draw(r, "files")
			for _, t := range q.sources {
				if q.waiting[t.Source] > 0 && between[t.Source] == nil {
					between[t.Source] = map[string]int{}
				}
			}
			given := q.give()
			if given == nil {
				continue
			}
			delete(between, given.Source)
			for _, one := range q.sources {
				if between[one.Source] == nil {
					continue
				}
				if between[one.Source][given.Source]++; between[one.Source][given.Source] > mostBetween(one, given) {
					r.Fatalf("%d jobs of a source of priority %d while one of priority %d waits; at most %d", between[one.Source][given.Source], given.Priority, one.Priority, mostBetween(one, given))
				}
			}
		}
	})
}

// Sources that always have files share a server by priority + 1, to within one job
// each.
func TestSourcesShareByPriority(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := newQueue(rapid.SliceOfN(rapid.IntRange(0, control.MostPriority), 2, 6).Draw(r, "priorities")...)
		weights, given := 0, map[string]int{}
		for _, t := range q.sources {
			q.waiting[t.Source] = 1 << 30
			weights += t.Priority + 1
		}
		q.clock = rapid.Int64Range(0, 1<<40).Draw(r, "clock")
		rounds := rapid.IntRange(1, 40).Draw(r, "rounds")
		for range rounds * weights {
			given[q.give().Source]++
		}
		for _, t := range q.sources {
			if want := rounds * (t.Priority + 1); given[t.Source] < want-len(q.sources) || given[t.Source] > want+len(q.sources) {
				r.Errorf("priority %d has %d jobs of %d, not %d", t.Priority, given[t.Source], rounds*weights, want)
			}
		}
	})
}

// A source that was idle is owed nothing, and waits for one job: the next is its own,
// whatever its priority, and the other goes on after it.
func TestASingleFileWaitsForNoMoreThanOneJob(t *testing.T) {
	for priority := range control.MostPriority + 1 {
		for _, before := range []int{0, 3} { // jobs that it was given long ago
			q := newQueue(5, priority)
			many, one := q.sources[0], q.sources[1]
			q.waiting[one.Source] = before
			for range before {
				q.give()
			}
			q.waiting[many.Source] = 100_000
			for range 100 {
				q.give()
			}
			q.waiting[one.Source] = 1
			if got := q.give(); got != one {
				t.Errorf("priority %d, %d jobs before: the next job is of %s", priority, before, got.Source)
			}
			if got := q.give(); got != many {
				t.Errorf("priority %d, %d jobs before: the job after is of %s", priority, before, got.Source)
			}
		}
	}
}

// Of sources that come at once, the one of the higher priority is first.
func TestTheHigherPriorityComesFirst(t *testing.T) {
	w := newWorld(t)
	for _, s := range []string{"s1", "s2", "s3"} {
		wanted(w, s, "a:22", 1000, false)
	}
	turns := turnsOf(w)
	turns["s1"].Priority, turns["s2"].Priority = 0, 9
	var got []string
	for _, j := range newPlanner().gather(w, map[string]int{"a:22": 9}, turns) {
		got = append(got, j.source)
	}
	if fmt.Sprint(got) != "[s2 s3 s1]" {
		t.Errorf("jobs of %v", got)
	}
}

// Within a source new files go first, then what has failed before, then replays, a
// run after the other; and every tenth job goes to the file that waits longest.
func TestNewFilesGoFirst(t *testing.T) {
	const replay, later = "11111111-1111-5111-9111-111111111111", "22222222-2222-5222-9222-222222222222"
	w := newWorld(t)
	name := map[string]string{}
	add := func(what string, change func(*control.Acquisition)) {
		a := wanted(w, "s1", "a:22", int64(1000-len(w.files)), true) // a job of its own; the later ones are smaller
		a.NotBefore = noon.Add(time.Duration(len(w.files)-100) * time.Minute)
		change(a)
		name[a.File] = what
	}
	add("later replay", func(a *control.Acquisition) { a.Run = later })
	add("replay", func(a *control.Acquisition) { a.Run = replay })
	add("retried", func(a *control.Acquisition) { a.Retries = 1 })
	add("failed", func(a *control.Acquisition) { a.Exception = "too_slow" })
	add("damaged", func(a *control.Acquisition) { a.Message = "zip_damaged: no end" })
	add("no room", func(a *control.Acquisition) { a.Tried["s1"] = control.Tried{NoRoom: 1} })
	for range 11 {
		add("new", func(*control.Acquisition) {})
	}
	p, turns := newPlanner(), turnsOf(w)
	var got []string
	for range len(w.files) {
		for _, j := range p.gather(w, map[string]int{"a:22": 1}, turns) {
			got = append(got, name[j.items[0].file.ID])
			j.items[0].a.State = control.Requested
		}
	}
	want := []string{"new", "new", "new", "new", "new", "new", "new", "new", "new", "later replay",
		"new", "new", "no room", "damaged", "failed", "retried", "replay"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// A file waits for no more than ten jobs of its source for each file that has waited
// longer, and ten for itself, however many newer and smaller ones come.
func TestNoFileStarves(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		p := newPlanner()
		p.cfg.JobFiles = rapid.IntRange(1, 3).Draw(r, "files of a job")
		add := func(run string, size int64) *control.Acquisition {
			a := wanted(w, "s1", "a:22", size, false)
			a.Run = run
			return a
		}
		for range rapid.IntRange(0, 4).Draw(r, "older") {
			add(schemas.LiveRun, 10)
		}
		older := len(w.files)
		last := add(rapid.SampledFrom([]string{schemas.LiveRun, "11111111-1111-5111-9111-111111111111"}).Draw(r, "run"), 1<<30)
		turns := turnsOf(w)
		turns["s1"].Jobs = rapid.Int64Range(0, 9).Draw(r, "jobs")
		for n := 0; last.State == control.Wanted; n++ {
			if n == aged*(older+1) {
				r.Fatalf("it waits for %d jobs, behind %d older files", n, older)
			}
			w.now = w.now.Add(time.Second)
			for range p.cfg.JobFiles {
				add(schemas.LiveRun, 1)
			}
			for _, j := range p.gather(w, map[string]int{"a:22": 1}, turns) {
				for _, it := range j.items {
					it.a.State = control.Requested
				}
			}
		}
	})
}
