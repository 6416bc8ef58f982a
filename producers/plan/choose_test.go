package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
)

// met is the reputation of a source of which so many fetches succeeded and failed, at
// a speed in bytes a second; 0: nobody knows it.
func met(good, failed int, speed float64) control.Reputation {
	r := control.Reputation{Tries: float64(good + failed), Good: float64(good)}
	if speed > 0 {
		r.Seconds, r.Bytes = 10, 10*speed
	}
	return r
}

func TestOwnSourceFirstThenPreferenceThenReputation(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(s *scene)
		want    []string
	}{
		{"own first, then by name", func(*scene) {}, []string{own, other, third}},
		{"own first however it has served, and whatever others are preferred", func(s *scene) {
			s.hosting(own).Reputation, s.hosting(own).Preference = met(0, 50, 0), 0
			s.hosting(third).Preference = 9
		}, []string{own, third, other}},
		{"the better share of good fetches", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(third).Reputation = met(30, 10, 1000), met(39, 1, 1000)
		}, []string{own, third, other}},
		{"the faster one", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(third).Reputation = met(40, 0, 1000), met(40, 0, 4000)
		}, []string{own, third, other}},
		{"more right bytes a second, though more often in vain", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(third).Reputation = met(40, 0, 1000), met(30, 10, 4000)
		}, []string{own, third, other}},
		{"one that never brought anything is not the fastest", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(third).Reputation = met(0, 3, 0), met(3, 0, 1000)
		}, []string{own, third, other}},
		{"a fast one that has brought corrupt bytes only is the last", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(third).Reputation = met(0, 1, 100_000), met(3, 0, 1000)
			s.hosting(other).Corrupt = 1
		}, []string{own, third, other}},
		{"one that nobody has tried counts as good", func(s *scene) { s.hosting(other).Reputation = met(49, 1, 1000) }, []string{own, third, other}},
		{"one that nobody has tried is measured once", func(s *scene) { s.hosting(other).Reputation = met(50, 0, 1000) }, []string{own, third, other}},
		{"people's preference counts more", func(s *scene) {
			s.hosting(other).Reputation, s.hosting(other).Preference = met(1, 40, 10), 6
			s.hosting(third).Reputation = met(40, 0, 1000)
		}, []string{own, other, third}},
		{"gone", func(s *scene) { s.hosting(other).Present = false }, []string{own, third}},
		{"not settled", func(s *scene) { s.hosting(own).Settled = false }, []string{other, third}},
		{"not available", func(s *scene) { s.hosting(third).State = "suspended" }, []string{own, other}},
		{"given up", func(s *scene) { s.last().Tried[own] = control.Tried{Attempts: 3, GivenUp: true} }, []string{other, third}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.host(third, 10)
			s.host(other, 10)
			s.show(own, 10)
			for i := range s.f.hostings {
				s.f.hostings[i].Preference = 5
			}
			tt.prepare(s)
			var got []string
			for _, h := range s.f.Candidates(s.last()) {
				got = append(got, h.Source)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("candidates differ (- want, + got):\n%s", d)
			}
		})
	}
}

// What a hosting brought is held against its source only where it is the hosting's doing:
// another was asked after it, and did not bring the very same.
func TestAHostingIsBlamedForItsOwnBytes(t *testing.T) {
	damaged := func(s *scene) {
		a := s.from(own)
		s.fetched(a, "spoiled")
		s.refused(a, "spoiled", "zip_crc_mismatch")
	}
	tests := []struct {
		name               string
		play               func(s *scene)
		tried, bad, failed int // at own
	}{
		{"whole", func(s *scene) { s.complete(s.from(own), "whole") }, 1, 0, 0},
		{"damaged here, whole elsewhere", func(s *scene) {
			damaged(s)
			s.complete(s.from(other), "whole")
		}, 1, 1, 0},
		{"damaged here, damaged otherwise elsewhere", func(s *scene) {
			damaged(s)
			b := s.from(other)
			s.fetched(b, "spoiled too")
			s.refused(b, "spoiled too", "zip_crc_mismatch")
		}, 1, 1, 0},
		{"the same damage elsewhere", func(s *scene) {
			damaged(s)
			s.fetched(s.from(other), "spoiled")
		}, 1, 0, 0},
		{"another checksum", func(s *scene) { s.fails(s.from(own), schemas.ZipMD5, "checksum_mismatch") }, 1, 1, 0},
		{"no answer", func(s *scene) { s.fails(s.from(own), schemas.Download, "timed_out") }, 1, 0, 1},
		{"not tried", func(s *scene) { s.read(s.finished(s.from(own), schemas.NotTried, schemas.NotTried)) }, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.host(other, 10)
			s.show(own, 10)
			tt.play(s)
			r := s.w.brings(own).Reputation
			got := [3]float64{r.Tries, r.Corrupt, r.Tries - r.Good - r.Corrupt}
			if want := [3]float64{float64(tt.tried), float64(tt.bad), float64(tt.failed)}; got != want {
				t.Errorf("tried, corrupt, failed: %v, want %v", got, want)
			}
		})
	}
}

// The speed of a source follows from what its fetches tell.
func TestTheSpeedOfASource(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	d := s.finished(s.from(own), schemas.Fetched, "sha-1")
	begun, ended := noon, noon.Add(4*time.Second)
	d.SHA256, d.Size, d.StartedAt, d.FinishedAt = "sha-1", 1000, &begun, &ended
	s.read(d)
	if got := s.w.brings(own).Speed(); got != 250 {
		t.Errorf("%v bytes a second, want 250", got)
	}
}
