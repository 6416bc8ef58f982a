//go:build !race

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
)

func TestAGoodFileIsExtracted(t *testing.T) {
	s := newScene(t)
	k := s.show(own, 10)
	a := s.from(own)
	if a.Attempt != 1 || a.Look != k.Look {
		t.Fatalf("attempt is %+v", a)
	}
	s.fetched(a, "sha-1")
	got := s.last()
	if got.State != control.Received || got.Download != "sha-1" || got.SHA256 != "sha-1" || string(got.LastEvent) != "download.finished of sha-1" {
		t.Fatalf("after the fetch: %+v", got)
	}
	if got.RankOwn == nil || !*got.RankOwn || got.RankTime == nil || !got.RankTime.Equal(noon) || got.RankOrdinal == nil || *got.RankOrdinal != 1 {
		t.Errorf("rank is %v %v %v", got.RankOwn, got.RankTime, got.RankOrdinal)
	}
	s.unzipped(a, "sha-1")
	if got.State != control.Extracted || got.Unzip != "done" || got.Documents != 2 {
		t.Fatalf("after the unzip: %+v", got)
	}
	e := s.event(schemas.EntityDownload)
	if e.Phase != "unzip" || e.Status != "done" || e.Outcome != "sha-1/done" || e.Accepted != "sha-1/done" || e.Rows != 2 || e.Attempt != 1 {
		t.Errorf("judgement is %+v", e)
	}
	if s.w.brings(own).Fetched != 1 || s.w.brings(own).Failed != 0 || s.w.jobs[a.Job] != 1 {
		t.Errorf("own %+v, jobs %v", *s.w.brings(own), s.w.jobs)
	}
}

// Control accepts one outcome per step, the first it reads; repeats change
// nothing and other outcomes are set aside.
func TestTheFirstOutcomeCounts(t *testing.T) {
	t.Run("of a download", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := s.from(own)
		s.fetched(a, "sha-1")
		events := len(s.w.out)
		s.fetched(a, "sha-1")
		s.fetched(a, "sha-2")
		s.fails(a, schemas.Download, "timed_out")
		if got := s.last(); got.SHA256 != "sha-1" || got.State != control.Received || s.f.CurrentSHA256 != "sha-1" || s.f.Acceptances != 1 {
			t.Errorf("acquisition %+v of file %+v", got, s.f.File)
		}
		if len(s.w.out) != events || s.w.jobs[a.Job] != 1 || s.w.brings(own).Failed != 0 {
			t.Errorf("%d events more, %d outcomes of the job", len(s.w.out)-events, s.w.jobs[a.Job])
		}
	})
	t.Run("a failure before a success", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := s.from(own)
		s.fails(a, schemas.Download, "timed_out")
		s.fetched(a, "sha-1")
		if got := s.last(); got.State != control.Wanted || s.f.CurrentSHA256 != "" {
			t.Errorf("acquisition %+v of file %+v", got, s.f.File)
		}
	})
	t.Run("of an unzip", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := s.from(own)
		s.fetched(a, "sha-1")
		s.unzipped(a, "sha-1")
		events := len(s.w.out)
		s.unzipped(a, "sha-1")
		s.refused(a, "sha-1", "zip_ratio")
		if got := s.last(); got.State != control.Extracted || len(s.w.out) != events {
			t.Errorf("acquisition %+v, %d events more", got, len(s.w.out)-events)
		}
	})
	t.Run("an unzip of another download's outcome", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := s.from(own)
		s.fetched(a, "sha-1")
		s.unzipped(a, "sha-2")
		if got := s.last(); got.State != control.Received {
			t.Errorf("acquisition is %s", got.State)
		}
		s.unzipped(a, "sha-1")
		if got := s.last(); got.State != control.Extracted {
			t.Errorf("acquisition is %s", got.State)
		}
	})
	t.Run("of an attempt that control does not know", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := *s.from(own)
		a.Attempt = 7
		s.fetched(&a, "sha-1")
		s.unzipped(&a, "sha-1")
		if got := s.last(); got.State != control.Requested || len(s.w.out) != 0 {
			t.Errorf("acquisition is %s, %d events", got.State, len(s.w.out))
		}
	})
}

// What arrives before the judgement it depends on is kept.
func TestAnUnzipBeforeItsDownloadIsKept(t *testing.T) {
	tests := []struct {
		name    string
		unzip   func(s *scene, a *control.Attempt)
		state   string
		corrupt bool
	}{
		{"of the accepted outcome", func(s *scene, a *control.Attempt) { s.unzipped(a, "sha-1") }, control.Extracted, false},
		{"of another outcome", func(s *scene, a *control.Attempt) { s.unzipped(a, "sha-2") }, control.Received, false},
		{"a refusal", func(s *scene, a *control.Attempt) { s.refused(a, "sha-1", "zip_ratio") }, control.Ended, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.show(own, 10)
			a := s.from(own)
			tt.unzip(s, a)
			if got := s.last(); got.State != control.Requested || a.Unzip != "" || len(a.Early) == 0 {
				t.Fatalf("before the download is judged: %s, %+v", got.State, a)
			}
			s.fetched(a, "sha-1")
			if got := s.last(); got.State != tt.state || a.Early != nil {
				t.Fatalf("acquisition is %s, want %s; kept: %q", got.State, tt.state, a.Early)
			}
		})
	}
}

func TestSameHostingWithBackoffThenTheNextThenTheEnd(t *testing.T) {
	s := newScene(t)
	s.host(other, 10)
	s.show(own, 10)
	for n, wait := range []time.Duration{time.Second, 2 * time.Second, 0} {
		a := s.from(own)
		if a.Attempt != int32(n+1) {
			t.Fatalf("attempt %d is numbered %d", n+1, a.Attempt)
		}
		s.fails(a, schemas.Download, "timed_out")
		got := s.last()
		if got.State != control.Wanted || got.NotBefore.Sub(s.w.now) != wait {
			t.Fatalf("after attempt %d: %s, waits %v, want %v", n+1, got.State, got.NotBefore.Sub(s.w.now), wait)
		}
		e := s.announced(a.Attempt + 1)
		if e.Phase != "download" || e.Status != "failed" || e.Exception != "timed_out" || e.Accepted != "timed_out" || e.Attempt != a.Attempt {
			t.Errorf("judgement is %+v", e)
		}
	}
	for n := range 3 {
		if got := s.last(); got.State != control.Wanted {
			t.Fatalf("before attempt %d at the other: %s", n+1, got.State)
		}
		s.fails(s.from(other), schemas.ZipMD5, "checksum_mismatch")
	}
	s.ended(string(schemas.Failed), "zip_md5", "checksum_mismatch")
	if s.w.brings(own).Failed != 3 || s.w.brings(other).Failed != 3 {
		t.Errorf("failures counted: %v of own, %v of other", s.w.brings(own).Failed, s.w.brings(other).Failed)
	}
	if s.request() != nil {
		t.Error("a file that has ended is requested again")
	}
}

// Who shows a file that nobody could bring is asked at once, and not again for showing it
// once more.
func TestAHostingThatWasNotAskedIsAskedAtOnce(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	for range 3 {
		s.fails(s.from(own), schemas.ZipMD5, "checksum_mismatch")
	}
	s.ended(string(schemas.Failed), "zip_md5", "checksum_mismatch")
	later := *s.last().RetryAt
	if !later.After(s.w.now) {
		t.Fatalf("it is tried again at %s", later)
	}
	s.show(other, 11)
	if got := *s.last().RetryAt; !got.Equal(later) {
		t.Errorf("other bytes are shown: tried again at %s, want %s", got, later)
	}
	s.show(other, 10)
	if got := *s.last().RetryAt; got.After(s.w.now) {
		t.Fatalf("it is tried again at %s only", got)
	}
	s.w.retryFile(s.f)
	s.commit()
	for range 3 {
		s.fails(s.from(own), schemas.ZipMD5, "checksum_mismatch")
	}
	for range 3 {
		s.fails(s.from(other), schemas.ZipMD5, "checksum_mismatch")
	}
	later = *s.last().RetryAt
	s.show(other, 10)
	if got := *s.last().RetryAt; !got.Equal(later) {
		t.Errorf("it was asked: tried again at %s, want %s", got, later)
	}
}

func TestHopelessFailuresAreNotRepeatedAtTheSameHosting(t *testing.T) {
	for _, exception := range []string{"file_gone", "permission_denied", "file_too_large", "login_failed", "host_key_mismatch", "host_key_unknown",
		"host_key_revoked", "host_key_not_offered", "certificate_not_trusted", "encryption_refused", "robots_forbidden", "bucket_not_found", "wrong_region", "clock_skewed", "misconfigured", "bad_source_configuration", "protocol_unknown"} {
		s := newScene(t)
		s.host(other, 10)
		s.show(own, 10)
		s.fails(s.from(own), schemas.Download, exception)
		if got := s.last(); got.NotBefore.After(s.w.now) {
			t.Errorf("%s: the next hosting waits %v", exception, got.NotBefore.Sub(s.w.now))
		}
		if a := s.request(); a == nil || a.Source != other {
			t.Errorf("%s: next comes %+v, want the other hosting", exception, a)
		}
	}
}

func TestNotTriedCostsNoAttempt(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	for range 10 {
		a := s.from(own)
		s.read(s.finished(a, schemas.NotTried, schemas.NotTried))
		if got := s.last(); got.State != control.Wanted || got.Tried[own].Attempts != 0 || got.Alone {
			t.Fatalf("acquisition is %+v", got)
		}
		if s.w.jobs[a.Job] != 1 {
			t.Fatal("the outcome does not count for its job's credit")
		}
	}
	if s.w.brings(own).Failed != 0 {
		t.Errorf("the source is blamed %d times", s.w.brings(own).Failed)
	}
	s.complete(s.from(own), "sha-1")
}

// A file that has no room beside others is requested again, as often as it takes
// and without an attempt, but after growing pauses; the source is not blamed. One
// that has no room alone fails as any other.
func TestAFileWithoutRoomWaits(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	pauses := []time.Duration{}
	for range 6 {
		d := s.finished(s.from(own), schemas.NotTried, schemas.NoRoom)
		d.Exception = schemas.NoRoom
		s.read(d)
		got := s.last()
		if got.State != control.Wanted || got.Tried[own].Attempts != 0 || got.Alone || s.w.brings(own).Failed != 0 {
			t.Fatalf("acquisition is %+v", got)
		}
		pauses = append(pauses, got.NotBefore.Sub(s.w.now))
		s.w.now = got.NotBefore
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second, 8 * time.Second}, pauses); diff != "" {
		t.Errorf("pauses differ:\n%s", diff)
	}
	s.complete(s.from(own), "sha-1")
}

func TestPoisonJobsAreRequestedAlone(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	d := s.finished(s.from(own), schemas.NotTried, schemas.Quarantined)
	d.Exception, d.Message = schemas.Quarantined, "panic: boom"
	s.read(d)
	if got := s.last(); got.State != control.Wanted || !got.Alone || got.Tried[own].Attempts != 0 {
		t.Fatalf("acquisition is %+v", got)
	}
	d = s.finished(s.from(own), schemas.Quarantined, schemas.Quarantined)
	d.Exception = schemas.Quarantined
	s.read(d)
	s.ended(string(schemas.Failed), "download", schemas.Quarantined)
}

func TestADamagedArchiveIsFetchedFromTheNextHosting(t *testing.T) {
	s := newScene(t)
	s.host(other, 10)
	s.show(own, 10)
	a := s.from(own)
	s.fetched(a, "spoiled")
	s.refused(a, "spoiled", "zip_crc_mismatch")
	e := s.announced(a.Attempt + 1)
	if e.Phase != "unzip" || e.Status != "failed" || e.Exception != "zip_crc_mismatch" || e.Accepted != "spoiled/zip_crc_mismatch" {
		t.Errorf("judgement is %+v", e)
	}
	b := s.from(other)
	s.fetched(b, "whole")
	s.unzipped(b, "whole")
	if got := s.last(); got.State != control.Extracted || got.SHA256 != "whole" || got.Attempt != b.Attempt || *got.RankOwn {
		t.Errorf("acquisition is %+v", got)
	}
	if s.f.CurrentSHA256 != "whole" || s.f.CurrentAttempt != b.Attempt {
		t.Errorf("file is %+v", s.f.File)
	}
}

func TestCorruptedAtProducer(t *testing.T) {
	tests := []struct {
		name string
		play func(s *scene)
	}{
		{"bad and equal on two hostings", func(s *scene) {
			s.host(third, 10)
			s.host(other, 10)
			s.show(own, 10)
			a := s.from(own)
			s.fetched(a, "spoiled")
			s.refused(a, "spoiled", "zip_truncated")
			s.fetched(s.from(other), "spoiled")
		}},
		{"bad and nobody else has it", func(s *scene) {
			s.show(own, 10)
			a := s.from(own)
			s.fetched(a, "spoiled")
			s.refused(a, "spoiled", "zip_not_an_archive")
		}},
		{"bad everywhere in different ways", func(s *scene) {
			s.host(other, 10)
			s.show(own, 10)
			a := s.from(own)
			s.fetched(a, "spoiled-1")
			s.refused(a, "spoiled-1", "zip_truncated")
			b := s.from(other)
			s.fetched(b, "spoiled-2")
			s.refused(b, "spoiled-2", "zip_crc_mismatch")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			tt.play(s)
			s.ended(string(schemas.Failed), "unzip", "corrupted_at_producer")
			if e := s.event(schemas.EntityDownload); e.Phase != "unzip" || e.Status != "failed" || e.Exception != "corrupted_at_producer" || e.Accepted == "" {
				t.Errorf("judgement is %+v", e)
			}
			if s.last().RetryAt == nil {
				t.Error("it is never tried again")
			}
		})
	}
}

// A refusal is about what the archive holds: no other copy mends it, and it
// keeps its name.
func TestARefusedArchiveKeepsItsName(t *testing.T) {
	for _, exception := range []string{"zip_encrypted", "zip_path_slip", "zip_symlink", "zip_duplicate_entry", "zip_overlapping_entries", "zip_ratio", "zip_nested", "no_documents"} {
		s := newScene(t)
		s.host(other, 10)
		s.show(own, 10)
		a := s.from(own)
		s.fetched(a, "sha-1")
		s.refused(a, "sha-1", exception)
		s.ended(string(schemas.Failed), "unzip", exception)
		if s.last().RetryAt != nil {
			t.Errorf("%s: the same bytes are tried again", exception)
		}
	}
	s := newScene(t)
	s.show(own, 10)
	a := s.from(own)
	s.fetched(a, "sha-1")
	s.readUnzip(s.unzip(a, "sha-1", schemas.Quarantined, schemas.Quarantined))
	s.ended(string(schemas.Failed), "unzip", schemas.Quarantined)
}

func TestSameBytesAreADuplicateAndRepeatTheirAttempt(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	s.complete(s.from(own), "sha-1")
	s.show(own, 10)
	a := s.from(own)
	s.fetched(a, "sha-1")
	s.ended(control.Duplicate, "", "")
	e := s.event(schemas.EntityDownload)
	if e.Phase != "zip_md5" || e.Status != "done" || e.Note != "duplicate" || e.Repeats != 1 || e.Attempt != 2 || e.Accepted != "sha-1" {
		t.Errorf("judgement is %+v", e)
	}
	if s.f.CurrentAttempt != 1 || s.f.Acceptances != 1 {
		t.Errorf("file is %+v", s.f.File)
	}
	// What unzip makes of it is of no consequence.
	s.unzipped(a, "sha-1")
	s.ended(control.Duplicate, "", "")
}

// Bytes shown again after others get a new rank.
func TestFirstBytesAgainGetANewRank(t *testing.T) {
	s := newScene(t)
	var ordinals []int32
	var times []time.Time
	for i, sha := range []string{"A", "B", "A"} {
		s.w.now = noon.Add(time.Duration(i) * time.Hour)
		s.show(own, int64(10+i%2))
		s.complete(s.from(own), sha)
		got := s.last()
		if got.Result != control.Complete || got.SHA256 != sha {
			t.Fatalf("version %d: %+v", i+1, got)
		}
		ordinals = append(ordinals, *got.RankOrdinal)
		times = append(times, *got.RankTime)
	}
	if ordinals[2] <= ordinals[1] || !times[2].After(times[1]) {
		t.Errorf("ordinals %v, times %v: the last must be the greatest", ordinals, times)
	}
	if s.f.CurrentSHA256 != "A" || s.f.CurrentAttempt != 3 {
		t.Errorf("file is %+v", s.f.File)
	}
}

// The rank's time is when the look that was fetched was first listed, also if
// a later look was listed meanwhile.
func TestTheRankIsOfTheLookThatWasFetched(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	a := s.from(own)
	listed := noon
	a.ListedAt = &listed // as read back with the attempt
	s.w.now = noon.Add(time.Hour)
	s.show(own, 11)
	s.fetched(a, "sha-1")
	if got := s.f.Acquisition(a.Acquisition); got.RankTime == nil || !got.RankTime.Equal(noon) {
		t.Errorf("rank time is %v, want %v", got.RankTime, noon)
	}
}

// The version that a source shows later ranks higher, also if our clock was set back between
// its looks.
func TestRanksFollowLooksThoughOurClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
		s := newScene(t)
		s.w.now = noon.Add(back)
		s.show(own, 10)
		s.complete(s.from(own), "sha-1")
		s.w.now = noon
		s.show(own, 11)
		s.complete(s.from(own), "sha-2")
		first, second := s.f.Acquisitions[0], s.f.Acquisitions[1]
		if second.RankTime.Before(*first.RankTime) || *second.RankOrdinal <= *first.RankOrdinal {
			t.Errorf("set back by %s: the first version ranks by %s and %d, the next by %s and %d", back, first.RankTime, *first.RankOrdinal, second.RankTime, *second.RankOrdinal)
		}
	}
}

func TestAFileThatFailedForGoodIsTriedAgainWithGrowingPauses(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	var pauses []time.Duration
	for range 7 {
		s.fails(s.from(own), schemas.Download, "permission_denied")
		s.ended(string(schemas.Failed), "download", "permission_denied")
		last := s.last()
		if last.RetryAt == nil {
			t.Fatal("it is never tried again")
		}
		pauses = append(pauses, last.RetryAt.Sub(s.w.now))
		s.w.retryFile(s.f)
		if s.last() != last {
			t.Fatal("tried again before the pause is over")
		}
		s.w.now = *last.RetryAt
		s.w.retryFile(s.f)
		s.commit()
		if s.last() == last {
			t.Fatal("not tried again when the pause is over")
		}
		if s.last().Session != nil {
			t.Error("what is tried again belongs to a session")
		}
	}
	want := []time.Duration{1, 2, 4, 8, 16, 24, 24}
	for i := range want {
		if pauses[i] != want[i]*time.Hour {
			t.Fatalf("pauses are %v", pauses)
		}
	}
	// It ends well at last.
	s.complete(s.from(own), "sha-1")
	s.ended(control.Complete, "", "")
}

func TestRetriesEnd(t *testing.T) {
	due := func(s *scene) {
		s.w.now = s.last().RetryAt.Add(time.Minute)
		s.w.retryFile(s.f)
		s.commit()
	}
	t.Run("when no hosting shows the file", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		s.fails(s.from(own), schemas.Download, "permission_denied")
		s.hosting(own).Present = false
		due(s)
		if len(s.f.Acquisitions) != 1 || s.last().RetryAt != nil {
			t.Errorf("%d acquisitions, again at %v", len(s.f.Acquisitions), s.last().RetryAt)
		}
	})
	t.Run("not while its source is only unavailable", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		s.fails(s.from(own), schemas.Download, "permission_denied")
		s.hosting(own).State = "maintenance"
		due(s)
		if s.last().RetryAt == nil || !s.last().RetryAt.After(s.w.now) {
			t.Errorf("again at %v, now %v", s.last().RetryAt, s.w.now)
		}
	})
	t.Run("after as many as are set", func(t *testing.T) {
		s := newScene(t)
		s.w.retries = 2
		s.show(own, 10)
		for range 2 {
			s.fails(s.from(own), schemas.Download, "permission_denied")
			due(s)
		}
		s.fails(s.from(own), schemas.Download, "permission_denied")
		if len(s.f.Acquisitions) != 3 || s.last().RetryAt != nil {
			t.Errorf("%d acquisitions, again at %v", len(s.f.Acquisitions), s.last().RetryAt)
		}
		// A new look begins anew.
		s.show(own, 11)
		s.fails(s.from(own), schemas.Download, "permission_denied")
		if s.last().RetryAt == nil {
			t.Error("what the source shows anew is not tried again")
		}
	})
	t.Run("when a new look came", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		s.fails(s.from(own), schemas.Download, "permission_denied")
		s.show(own, 11)
		if s.f.Acquisitions[0].RetryAt != nil {
			t.Error("the old look is tried again too")
		}
	})
	t.Run("when a new look came before it failed", func(t *testing.T) {
		s := newScene(t)
		s.show(own, 10)
		a := s.from(own)
		s.show(own, 11)
		s.fails(a, schemas.Download, "permission_denied")
		if s.f.Acquisitions[0].RetryAt != nil {
			t.Error("the old look is tried again though the file's next look follows")
		}
	})
}

// The same damaged bytes are no success: it goes on to the next hosting, and
// is tried again later.
func TestARetryThatBringsTheDamagedBytesAgain(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	a := s.from(own)
	s.fetched(a, "spoiled")
	s.refused(a, "spoiled", "zip_truncated")
	s.ended(string(schemas.Failed), "unzip", corrupted)
	s.host(other, 10)
	s.w.now = *s.last().RetryAt
	s.w.retryFile(s.f)
	s.commit()
	b := s.from(own)
	s.fetched(b, "spoiled")
	s.refused(b, "spoiled", "zip_truncated")
	c := s.from(other)
	s.complete(c, "whole")
	s.ended(control.Complete, "", "")

	s = newScene(t)
	s.show(own, 10)
	a = s.from(own)
	s.fetched(a, "spoiled")
	s.refused(a, "spoiled", "zip_truncated")
	first := *s.last().RetryAt
	s.w.now = first
	s.w.retryFile(s.f)
	s.commit()
	b = s.from(own)
	s.fetched(b, "spoiled")
	s.refused(b, "spoiled", "zip_truncated")
	s.ended(string(schemas.Failed), "unzip", corrupted)
	if got := s.last().RetryAt; got == nil || got.Sub(s.w.now) != 2*time.Hour {
		t.Errorf("tried again at %v, now %v", got, s.w.now)
	}
}

func TestAFileGoneBeforeItWasFetched(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	s.hosting(own).Present = false
	if s.request() != nil {
		t.Fatal("requested from a hosting that is gone")
	}
	s.ended(string(schemas.Failed), "download", "gone")
	e := s.event(schemas.EntityDownload)
	if e.Phase != "download" || e.Status != "failed" || e.Exception != "gone" || e.Attempt != 1 || e.Accepted == "" {
		t.Errorf("judgement is %+v", e)
	}
}

func TestAFileThatChangesJustNowWaits(t *testing.T) {
	s := newScene(t)
	s.show(own, 10)
	s.hosting(own).Settled = false
	if s.request() != nil {
		t.Fatal("requested while it changes")
	}
	if got := s.last(); got.State != control.Wanted || !got.NotBefore.After(noon) {
		t.Fatalf("acquisition is %+v", got)
	}
	s.hosting(own).Settled = true
	s.from(own)
}
