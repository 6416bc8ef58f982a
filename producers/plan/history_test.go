//go:build !race

package plan

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"tributary/schemas"
	"tributary/sql/control"
)

// played is an event that was read, to be read again.
type played struct {
	download *schemas.DownloadFinished
	unzip    *schemas.UnzipFinished
}

// state is all that decisions depend on, as text.
func (s *scene) state() string {
	out := fmt.Sprintf("%+v %d events %v %v %v\n", *s.f.File, len(s.w.out), s.w.jobs, s.w.brings(own), s.w.brings(other))
	for _, a := range s.f.Acquisitions {
		c := *a
		c.Changed = false
		out += fmt.Sprintf("%d %s %s %d %v %q %q %q %v %v\n", c.ID, c.State, c.Result, c.Attempt, c.Tried, c.Download, c.Unzip, c.Exception, c.NotBefore, c.RetryAt)
	}
	for n := int32(1); n <= s.f.Attempts; n++ {
		if t := s.w.attempts[control.AttemptKey{Run: schemas.LiveRun, File: s.f.ID, Attempt: n}]; t != nil {
			out += fmt.Sprintf("attempt %d %q %q %d\n", n, t.Download, t.Unzip, len(t.Early))
		}
	}
	return out
}

// answer is what became of an attempt: the bytes A and B are good, X is a
// damaged archive, everything else a failure.
func (s *scene) answer(t *control.Attempt, what string) played {
	switch what {
	case "A", "B", "X":
		s.fetched(t, what)
		d := s.finished(t, schemas.Fetched, what)
		d.SHA256 = what
		return played{download: &d}
	case schemas.NotTried, schemas.Quarantined:
		d := s.finished(t, what, what)
		s.read(d)
		return played{download: &d}
	}
	s.fails(t, schemas.Download, what)
	d := s.finished(t, schemas.FailedEnd, what)
	d.Phase, d.Exception = "download", what
	return played{download: &d}
}

// unpack answers for the bytes that were accepted last, if they wait for it.
func (s *scene) unpack(t *control.Attempt, sha string) *schemas.UnzipFinished {
	u := s.unzip(t, sha, schemas.Unzipped, "done")
	if sha == "X" {
		u = s.unzip(t, sha, schemas.FailedEnd, "zip_crc_mismatch")
	}
	s.readUnzip(u)
	for _, a := range s.f.Acquisitions {
		if a.State == control.Extracted {
			now := s.w.now
			a.State, a.Result, a.EndedAt = control.Ended, control.Complete, &now
		}
	}
	s.commit()
	return &u
}

// Whatever happens to a file, in whatever order: one process of it at a time,
// every outcome of a job counted once, no repeat changes anything, and when
// faults stop everything ends.
func TestAnyHistoryOfAFile(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newScene(t)
		sources := rapid.SampledFrom([]string{own, other, third})
		var past []played
		check := func(what string) {
			active := 0
			for i, a := range s.f.Acquisitions {
				if a.State != control.Queued && a.State != control.Ended {
					active++
				}
				if a.State == control.Ended && (a.Result == "" || a.EndedAt == nil) {
					r.Fatalf("after %s: acquisition %d ended without a result", what, a.ID)
				}
				if a.RetryAt != nil && i != len(s.f.Acquisitions)-1 {
					r.Fatalf("after %s: a look that has a successor is tried again", what)
				}
				if a.State == control.Queued && active == 0 {
					r.Fatalf("after %s: acquisition %d waits for nobody", what, a.ID)
				}
			}
			if active > 1 {
				r.Fatalf("after %s: %d acquisitions are under way", what, active)
			}
			counted := 0
			for _, n := range s.w.jobs {
				counted += n
			}
			accepted := 0
			for _, a := range s.w.attempts {
				if a.Download != "" && a.Job != uuid.Nil.String() {
					accepted++
				}
			}
			if counted != accepted {
				r.Fatalf("after %s: %d outcomes of jobs counted, %d accepted", what, counted, accepted)
			}
		}
		live := func() (*control.Attempt, *control.Acquisition) {
			a := s.f.active()
			if a == nil {
				return nil, nil
			}
			return s.w.attempts[control.AttemptKey{Run: a.Run, File: a.File, Attempt: a.Attempt}], a
		}
		step := func(answer string) {
			at, a := live()
			switch {
			case a == nil:
			case a.State == control.Wanted:
				s.request()
			case a.State == control.Requested:
				past = append(past, s.answer(at, answer))
			case a.State == control.Received:
				past = append(past, played{unzip: s.unpack(at, a.SHA256)})
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"show": func(r *rapid.T) {
				s.show(sources.Draw(r, "source"), rapid.Int64Range(10, 11).Draw(r, "size"))
				check("show")
			},
			"hide": func(r *rapid.T) {
				source := sources.Draw(r, "source")
				for i := range s.f.hostings {
					if h := &s.f.hostings[i]; h.Source == source {
						h.Present = false
						s.w.discovered(schemas.FileDiscovered{FileRef: s.f.Ref(), Scope: schemas.Scope{Source: source}, Change: "gone", Look: h.Look})
						s.commit()
					}
				}
				check("hide")
			},
			"go on": func(r *rapid.T) {
				answer := rapid.SampledFrom([]string{"A", "B", "X", "timed_out", "permission_denied", schemas.NotTried, schemas.Quarantined}).Draw(r, "answer")
				step(answer)
				check("go on, " + answer)
			},
			"early unzip": func(r *rapid.T) {
				if at, a := live(); a != nil && a.State == control.Requested {
					s.readUnzip(s.unzip(at, "A", schemas.Unzipped, "done"))
					if a.State != control.Requested {
						r.Fatalf("an unzip before its download makes it %s", a.State)
					}
				}
				check("early unzip")
			},
			"retry": func(*rapid.T) {
				if n := len(s.f.Acquisitions); n > 0 && s.last().RetryAt != nil && s.last().RetryAt.After(s.w.now) {
					s.w.now = *s.last().RetryAt
				}
				s.w.retryFile(s.f)
				s.commit()
				check("retry")
			},
			"again": func(r *rapid.T) {
				if len(past) == 0 {
					return
				}
				p := rapid.SampledFrom(past).Draw(r, "event")
				before := s.state()
				if p.download != nil {
					s.read(*p.download)
				} else {
					s.readUnzip(*p.unzip)
				}
				if after := s.state(); after != before {
					r.Fatalf("a repeat changes something:\n%s\n%s", before, after)
				}
			},
		})
		for n := 0; s.f.active() != nil; n++ {
			if n > 20*(len(s.f.Acquisitions)+1) {
				r.Fatalf("it never ends: %s", s.state())
			}
			if a := s.f.active(); a.State == control.Extracted {
				s.unpack(s.w.attempts[control.AttemptKey{Run: a.Run, File: a.File, Attempt: a.Attempt}], a.SHA256)
				continue
			}
			step("A")
		}
		check("the end")
		for _, a := range s.f.Acquisitions {
			if a.State != control.Ended {
				r.Fatalf("acquisition %d is %s at the end", a.ID, a.State)
			}
		}
	})
}
