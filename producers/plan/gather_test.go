//go:build !race

package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/schemas"
	"tributary/sql/control"
)

// wanted adds a file that waits to be fetched from the given source, whose
// server is the given one.
func wanted(w *World, source, server string, size int64, alone bool) *control.Acquisition {
	name := fmt.Sprintf("%06d.zip", len(w.files))
	f := &File{File: &control.File{ID: schemas.FileID("add", name), Name: name, Action: "add", Centre: "H"}}
	f.hostings = []control.Hosting{{File: f.ID, Source: source, Server: server, SourceCentre: "H", Look: 1, Size: size, Present: true, Settled: true, State: "available"}}
	a := &control.Acquisition{ID: int64(len(w.files) + 1), Run: schemas.LiveRun, File: f.ID, Domain: "H", Source: source, Look: 1, Size: size, State: control.Wanted,
		NotBefore: w.now, Alone: alone, Tried: map[string]control.Tried{}}
	f.Acquisitions = []*control.Acquisition{a}
	w.files[f.ID] = f
	return a
}

// A server allowed K sessions is never given more than K jobs; a job is
// bounded by number and bytes, except that a larger file goes alone; what was
// poison goes alone; no file is in two jobs.
func TestJobsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &World{settings: settings{perHosting: 3}, now: noon, files: map[string]*File{}, attempts: map[control.AttemptKey]*control.Attempt{}}
		p := newPlanner()
		p.cfg.JobFiles = rapid.IntRange(1, 50).Draw(r, "files")
		p.cfg.JobBytes = config.Bytes(rapid.Int64Range(1, 64<<20).Draw(r, "bytes"))
		credits, limit := map[string]int{}, map[string]int{}
		server := map[string]string{"s1": "a:22", "s2": "a:22", "s3": "b:22"}
		for _, s := range []string{"a:22", "b:22"} {
			credits[s] = rapid.IntRange(-1, 6).Draw(r, "credit")
			limit[s] = max(0, credits[s])
		}
		all := map[string]*control.Acquisition{}
		for range rapid.IntRange(0, 200).Draw(r, "count") {
			source := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(r, "source")
			size := rapid.OneOf(rapid.Int64Range(0, 1<<16), rapid.Int64Range(0, 128<<20)).Draw(r, "size")
			a := wanted(w, source, server[source], size, rapid.IntRange(0, 9).Draw(r, "alone") == 0)
			all[a.File] = a
		}
		jobs := p.gather(w, credits, turnsOf(w))
		given := map[string]int{}
		seen := map[string]bool{}
		for _, j := range jobs {
			given[j.server]++
			var bytes int64
			for _, it := range j.items {
				if it.hosting.Source != j.source || it.hosting.Server != j.server {
					r.Fatalf("a file of %s on %s is in a job of %s on %s", it.hosting.Source, it.hosting.Server, j.source, j.server)
				}
				if seen[it.file.ID] {
					r.Fatalf("file %s is in two jobs", it.file.Name)
				}
				seen[it.file.ID] = true
				bytes += it.hosting.Size
				if it.a.Alone && len(j.items) > 1 {
					r.Fatalf("a file that was poison is in a job of %d", len(j.items))
				}
			}
			if len(j.items) == 0 || len(j.items) > p.cfg.JobFiles {
				r.Fatalf("a job of %d files; at most %d", len(j.items), p.cfg.JobFiles)
			}
			if small, large := sizes(j); small != large && large-small >= worthwhileBytes && large >= (alike+1)*small {
				r.Fatalf("a job has files of %d to %d bytes", small, large)
			}
			if len(j.items) > 1 && bytes > int64(p.cfg.JobBytes) {
				r.Fatalf("a job of %d files and %d bytes; at most %d", len(j.items), bytes, int64(p.cfg.JobBytes))
			}
		}
		for s, n := range given {
			if n > limit[s] {
				r.Fatalf("%s has %d jobs; %d sessions are free", s, n, limit[s])
			}
			if n < limit[s] {
				for id, a := range all {
					if !seen[id] && server[a.Source] == s {
						r.Fatalf("%s has %d of %d sessions in use, and a file waits", s, n, limit[s])
					}
				}
			}
		}
	})
}

// sizes are those of a job's smallest and of its largest file.
func sizes(j job) (small, large int64) {
	small = j.items[0].hosting.Size
	for _, it := range j.items {
		small, large = min(small, it.hosting.Size), max(large, it.hosting.Size)
	}
	return small, large
}

// A file that is more than a hundred times as large as others, by 8 MiB at least, goes
// apart from them, whoever comes first; sizes that differ by less go together.
func TestLikeSizesGoTogether(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, tt := range []struct {
		name  string
		sizes []int64
		byAge bool
		want  []int
	}{
		{"a large one after small ones", []int64{kib, kib, kib, 60 * mib}, false, []int{3, 1}},
		{"small ones that have waited less than a large one", []int64{60 * mib, kib, kib, kib}, true, []int{1, 3}},
		{"a hundred times", []int64{mib / 10, 10 * mib}, false, []int{2}},
		{"a hundred and one times", []int64{mib / 10, 101 * (mib / 10)}, false, []int{1, 1}},
		{"many times, but by little", []int64{0, 1, 8*mib - 1}, false, []int{3}},
		{"of no bytes, and not by little", []int64{0, 8 * mib}, false, []int{1, 1}},
		{"ever larger ones, each like the one before", []int64{kib, 7 * mib, 9 * mib}, false, []int{2, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for i, size := range tt.sizes {
				wanted(w, "s1", "a:22", size, false).NotBefore = noon.Add(time.Duration(i-10) * time.Minute)
			}
			turns := turnsOf(w)
			if tt.byAge {
				turns["s1"].Jobs = aged - 1
			}
			var got []int
			for range tt.want {
				for _, j := range newPlanner().gather(w, map[string]int{"a:22": 1}, turns) {
					got = append(got, len(j.items))
					for _, it := range j.items {
						it.a.State = control.Requested
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files of jobs (-want +got):\n%s", diff)
			}
		})
	}
}

// Files are shared out evenly among the free sessions, but so that connecting
// is a small part of a job.
func TestFilesAreSharedOut(t *testing.T) {
	tests := []struct {
		name   string
		files  int
		size   int64
		credit int
		want   []int
	}{
		{"few small files share one connection", 10, 1000, 4, []int{10}},
		{"many small files use all connections", 200, 1000, 4, []int{50, 50, 50, 50}},
		{"larger ones go apart sooner", 8, 8 << 20, 4, []int{2, 2, 2, 2}},
		{"no more than a job may hold", 300, 1000, 1, []int{256}},
		{"no credit, no job", 10, 1000, 0, nil},
		{"each very large file alone", 3, 1 << 30, 4, []int{1, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &World{now: noon, files: map[string]*File{}}
			for range tt.files {
				wanted(w, "s1", "a:22", tt.size, false)
			}
			var got []int
			for _, j := range newPlanner().gather(w, map[string]int{"a:22": tt.credit}, turnsOf(w)) {
				got = append(got, len(j.items))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("jobs of %v files, want %v", got, tt.want)
			}
		})
	}
}

func TestSourcesOfAServerTakeTurns(t *testing.T) {
	w := &World{now: noon, files: map[string]*File{}}
	for range 500 {
		wanted(w, "s1", "a:22", 1000, false)
	}
	wanted(w, "s2", "a:22", 1000, false)
	jobs := newPlanner().gather(w, map[string]int{"a:22": 2}, turnsOf(w))
	if len(jobs) != 2 || jobs[0].source == jobs[1].source {
		t.Fatalf("%d jobs, of %v", len(jobs), jobs)
	}
}

// One source with very many files does not hold up another on its server.
func TestSourcesOfAServerTakeTurnsWhenSessionsComeFreeOneByOne(t *testing.T) {
	w := &World{now: noon, files: map[string]*File{}}
	for range 500 {
		wanted(w, "s1", "a:22", 1000, false)
	}
	wanted(w, "s2", "a:22", 1000, false)
	p, turns := newPlanner(), turnsOf(w)
	var order []string
	for range 3 {
		for _, j := range p.gather(w, map[string]int{"a:22": 1}, turns) {
			order = append(order, j.source)
			for _, it := range j.items {
				it.a.State = control.Requested
			}
		}
	}
	if fmt.Sprint(order) != "[s1 s2 s1]" {
		t.Fatalf("jobs of %v", order)
	}
}

// A source whose every file fails for ever, and is tried again for ever, takes no
// turn from another one of its server, and each of its files is asked for no more
// often than attempts and growing pauses allow.
func TestASourceThatAlwaysFailsStarvesNobody(t *testing.T) {
	const files, good = 300, 40
	w := newWorld(t)
	p := newPlanner()
	p.cfg.JobFiles = 10
	for range files {
		wanted(w, "bad", "a:22", 1, false)
	}
	for range good {
		wanted(w, "good", "a:22", 1<<20, false)
	}
	asked, waits, turns := map[string]int{}, 0, turnsOf(w)
	for left := good; left > 0; w.now = w.now.Add(time.Minute) { // a job takes a minute
		jobs := p.gather(w, map[string]int{"a:22": 1}, turns)
		if waits++; waits > 1 && jobs[0].source == "bad" {
			t.Fatalf("twice in a row the failing source has its turn, while %d files of the other wait", left)
		}
		for _, it := range jobs[0].items {
			if jobs[0].source == "good" {
				it.a.State = control.Ended
				left--
				waits = 0
				continue
			}
			asked[it.file.ID]++
			it.a.State, it.a.Attempt = control.Requested, int32(asked[it.file.ID])
			w.attempts[control.AttemptKey{Run: it.a.Run, File: it.file.ID, Attempt: it.a.Attempt}] = &control.Attempt{Run: it.a.Run, File: it.file.ID, Attempt: it.a.Attempt,
				Acquisition: it.a.ID, Source: "bad"}
			it.file.Attempts = it.a.Attempt
			w.downloaded(schemas.DownloadFinished{FileRef: schemas.FileRef{File: it.file.ID}, Scope: schemas.Scope{Run: it.a.Run}, Attempt: it.a.Attempt,
				Result: schemas.FailedEnd, Outcome: "too_slow", Exception: "too_slow", Phase: string(schemas.Download)}, schemas.Record{})
		}
	}
	for id, n := range asked {
		if n > w.perHosting {
			t.Errorf("%s was asked for %d times", id, n)
		}
	}
}

func TestFilesThatWaitAreNotGathered(t *testing.T) {
	w := &World{now: noon, files: map[string]*File{}}
	wanted(w, "s1", "a:22", 1000, false).NotBefore = noon.Add(time.Second)
	for _, state := range []string{control.Queued, control.Requested, control.Received, control.Extracted, control.Ended} {
		wanted(w, "s1", "a:22", 1000, false).State = state
	}
	if jobs := newPlanner().gather(w, map[string]int{"a:22": 4}, turnsOf(w)); len(jobs) != 0 {
		t.Fatalf("%d jobs", len(jobs))
	}
}

// How a file ends that no hosting offers any more depends on why.
func TestFilesThatNobodyOffers(t *testing.T) {
	tests := []struct {
		name              string
		state             string
		present           bool
		result, exception string
		again             bool
	}{
		{"gone", "available", false, "failed", "gone", true},
		{"source removed", "removed", true, "cancelled", "source_removed", false},
		{"source in maintenance", "maintenance", true, "failed", "source_unavailable", true},
		{"source suspended", "suspended", true, "failed", "source_unavailable", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.show(own, 10)
			s.hosting(own).State, s.hosting(own).Present = tt.state, tt.present
			if s.request() != nil {
				t.Fatal("it is requested")
			}
			s.ended(tt.result, "download", tt.exception)
			if e := s.event(schemas.EntityDownload); e.Status != tt.result || e.Exception != tt.exception || e.Accepted == "" {
				t.Errorf("judgement is %+v", e)
			}
			if got := s.last().RetryAt != nil; got != tt.again {
				t.Errorf("tried again: %v, want %v", got, tt.again)
			}
		})
	}
}

// What servers have room for is bounded by what a turn looks at, whatever is
// configured; a server without credit has none.
func TestRoomOfServers(t *testing.T) {
	var p Planner
	for _, tt := range []struct{ files, want int }{{256, 512}, {3000, atOnce}, {1 << 40, atOnce}} {
		p.cfg.JobFiles = tt.files
		if diff := cmp.Diff(map[string]int{"free": tt.want}, p.room(map[string]int{"free": 2, "busy": 0, "over": -1})); diff != "" {
			t.Errorf("jobs of %d files (-want +got):\n%s", tt.files, diff)
		}
	}
}
