package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
)

// busy is a failure of a server that asks to be left alone.
func (s *scene) busy(a *control.Attempt, after time.Duration) {
	s.t.Helper()
	s.w.downloaded(schemas.DownloadFinished{
		Scope: schemas.Scope{Run: a.Run, Source: a.Source}, FileRef: s.f.Ref(), Job: a.Job, Server: a.Source + ":22", Attempt: a.Attempt, Look: a.Look,
		Result: schemas.FailedEnd, Outcome: "server_busy", Phase: string(schemas.Download), Exception: "server_busy", RetryAfter: after.Milliseconds(),
	}, schemas.Record{})
	s.commit()
}

// A server that asks for it is left alone for that long, a day at most, or as long as
// anybody waits; meanwhile a file is fetched from another source, if there is one.
func TestAServerIsLeftAlone(t *testing.T) {
	for _, tt := range []struct{ asked, longest, want time.Duration }{
		{time.Minute, 0, time.Minute}, {48 * time.Hour, 0, 24 * time.Hour}, {time.Hour, 5 * time.Second, 5 * time.Second}, {-time.Minute, 0, 0}, {1 << 62, 0, 24 * time.Hour},
	} {
		s := newScene(t)
		s.w.longestRest = tt.longest
		s.show(own, 10)
		s.busy(s.from(own), tt.asked)
		want := map[string]time.Duration{own + ":22": tt.want}
		if tt.want == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, s.w.rests); diff != "" {
			t.Errorf("%s, %s at most (-want +got):\n%s", tt.asked, tt.longest, diff)
		}
	}
	s := newScene(t)
	s.show(own, 10)
	s.host(other, 10)
	s.busy(s.from(own), time.Hour)
	s.w.left = map[string]time.Time{own + ":22": s.w.now.Add(time.Hour)}
	a := s.from(other)
	s.w.left = nil
	s.fails(a, schemas.Download, "timed_out")
	s.from(own)
}

// What has failed for good since its server is busy isn't tried again before that has
// asked for.
func TestARetryWaitsAsLongAsTheServerAsks(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{time.Minute: time.Hour, 5 * time.Hour: 5 * time.Hour} {
		s := newScene(t)
		s.show(own, 10)
		for range 3 {
			s.busy(s.from(own), asked)
		}
		if a := s.last(); a.State != control.Ended || a.RetryAt == nil || !a.RetryAt.Equal(s.w.now.Add(want)) {
			t.Errorf("asked for %s: %+v, want a retry after %s", asked, a, want)
		}
	}
}
