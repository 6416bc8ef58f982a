//go:build !race

package plan

import (
	"testing"
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

// damaged is a file whose stored bytes rot when it is complete, and the
// acquisition that is to heal them.
func damaged(t *testing.T) (s *scene, heal func() *control.Attempt) {
	s = newScene(t)
	s.show(own, 10)
	s.complete(s.from(own), "sha-1")
	s.host(other, 10)
	return s, func() *control.Attempt {
		t.Helper()
		if !s.w.refetch(&control.Damage{SHA256: "sha-1"}) {
			return nil
		}
		s.commit()
		return s.request()
	}
}

// Bytes that are fetched again are no version: whatever comes, the file shows
// what it has shown, with its rank, and nothing more is asked of its documents.
func TestHealingMakesNoVersion(t *testing.T) {
	for name, bytes := range map[string]string{"the right bytes": "sha-1", "other bytes": "sha-2"} {
		t.Run(name, func(t *testing.T) {
			s, heal := damaged(t)
			before, acquisitions := *s.f.File, len(s.f.Acquisitions)
			a := heal()
			if a == nil || a.Source != own {
				t.Fatalf("requested as %+v", a)
			}
			s.fetched(a, bytes)
			h := s.f.healings[0]
			if bytes == "sha-2" {
				if h.State != control.Wanted || !h.Tried[own].GivenUp {
					t.Fatalf("after other bytes: %+v", h)
				}
				s.announced(3)
				a = s.from(other)
				s.fetched(a, "sha-3")
			}
			if h.State != control.Ended || h.RankOrdinal != nil || h.RetryAt != nil || h.LastEvent != nil {
				t.Errorf("the acquisition is %+v", h)
			}
			if len(s.w.healings) != 1 || s.w.healings[0].Healed != (bytes == "sha-1") || s.w.healings[0].SHA256 != "sha-1" || s.w.healings[0].File != s.f.ID {
				t.Errorf("healings are %+v", s.w.healings)
			}
			if e := s.event(schemas.EntityDownload); e.Repeats != before.CurrentAttempt {
				t.Errorf("the file goes on showing attempt %d, not %d: %+v", e.Repeats, before.CurrentAttempt, e)
			}
			now := *s.f.File
			now.Attempts = before.Attempts
			if now != before || len(s.f.Acquisitions) != acquisitions {
				t.Errorf("the file was %+v with %d acquisitions, and is %+v with %d", before, acquisitions, now, len(s.f.Acquisitions))
			}
		})
	}
}

// Healing goes on beside what waits for it, and beside what is wanted anew; it is
// tried as often as any fetch, and then it ends.
func TestHealingIsBounded(t *testing.T) {
	s, heal := damaged(t)
	a := heal()
	for n := 0; a != nil; a = s.request() {
		if n++; n > 20 {
			t.Fatal("it goes on for ever")
		}
		if n%2 == 1 {
			s.fails(a, schemas.Download, "timed_out")
		} else {
			s.fetched(a, "another "+time.Duration(n).String())
		}
		for _, h := range s.f.healings {
			if h.NotBefore.After(s.w.now) {
				s.w.now = h.NotBefore
			}
		}
	}
	if len(s.w.healings) != 1 || s.w.healings[0].Healed || s.w.healings[0].Message == "" {
		t.Errorf("healings are %+v", s.w.healings)
	}
	if s.w.refetch(&control.Damage{SHA256: "sha-1", Tried: []string{s.f.ID}}) {
		t.Error("what was tried everywhere is tried again")
	}
}

// Who waits for bytes that are lost ends by that name, and is tried again while a
// hosting shows the file; the same bytes are then taken, not recognised.
func TestWhatWaitsForLostBytesEnds(t *testing.T) {
	for name, unzipped := range map[string]bool{"unzip": false, "xsd": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.show(own, 10)
			a := s.from(own)
			s.fetched(a, "sha-1")
			if unzipped {
				s.unzipped(a, "sha-1")
			}
			s.w.lose(&control.Damage{SHA256: "sha-1", Message: "nobody has them"})
			s.ended("failed", name, "blob_lost")
			if s.last().RetryAt == nil {
				t.Error("it is not tried again")
			}
			if e := s.event(schemas.EntityDownload); e.Exception != "blob_lost" || e.Message != "nobody has them" || e.Accepted == "" {
				t.Errorf("told as %+v", e)
			}
			s.commit()
			s.w.now = *s.last().RetryAt
			s.w.retryFile(s.f)
			s.commit()
			again := s.from(own)
			s.fetched(again, "sha-1")
			if got := s.last(); got.State != control.Received {
				t.Errorf("the same bytes again: %+v", got)
			}
		})
	}
}
