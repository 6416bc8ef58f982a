package restore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
)

const sha = "0123456789012345678901234567890123456789012345678901234567890123"

// said is what plan tells of an attempt; accepted is empty while it waits.
func said(attempt int32, phase schemas.Phase, status schemas.Status, note, accepted string) *schemas.StatusChanged {
	at := time.Unix(1, 0)
	return &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: "s", Centre: "H", Source: "a"}, FileRef: schemas.FileRef{File: "f"},
		Entity: schemas.EntityDownload, Attempt: attempt, Look: 1, Phase: string(phase), Status: string(status), Note: note, Accepted: accepted, Outcome: accepted, RequestedAt: &at}
}

func TestWhatHasEndedStaysAndTheRestGoesOn(t *testing.T) {
	requested := func(n int32) *schemas.StatusChanged { return said(n, schemas.Download, schemas.Pending, "", "") }
	announced := func(n int32) *schemas.StatusChanged {
		e := requested(n)
		e.RequestedAt = nil
		return e
	}
	failed := func(n int32) *schemas.StatusChanged {
		e := said(n, schemas.Download, schemas.Failed, "", "timeout")
		e.Exception = "timeout"
		return e
	}
	accepted := func(n int32) *schemas.StatusChanged { return said(n, schemas.Unzip, schemas.Done, "", sha+"/done") }
	duplicate := func(n int32) *schemas.StatusChanged { return said(n, schemas.ZipMD5, schemas.Done, "duplicate", sha) }
	notTried := func(n int32) *schemas.StatusChanged {
		return said(n, schemas.Download, schemas.Cancelled, schemas.NotTried, schemas.NotTried)
	}
	later := func(e *schemas.StatusChanged) *schemas.StatusChanged {
		e.Session = "later"
		return e
	}
	for _, c := range []struct {
		name     string
		told     []*schemas.StatusChanged
		finished int32 // the attempt of which download.finished is there
		ordered  int32 // the attempt whose version was ordered
		want     []string
	}{
		{"nothing", nil, 0, 0, nil},
		{"requested", []*schemas.StatusChanged{requested(1)}, 0, 0, []string{"wanted"}},
		{"brought, and not judged", []*schemas.StatusChanged{requested(1)}, 1, 0, []string{"requested"}},
		{"its documents are awaited", []*schemas.StatusChanged{requested(1), accepted(1)}, 1, 0, []string{"requested"}},
		{"the same, long ago", []*schemas.StatusChanged{requested(1), accepted(1)}, 0, 0, []string{"wanted"}},
		{"ordered", []*schemas.StatusChanged{requested(1), accepted(1)}, 1, 1, []string{"complete"}},
		{"failed", []*schemas.StatusChanged{requested(1), failed(1)}, 1, 0, []string{"failed, again"}},
		{"failed, the next announced", []*schemas.StatusChanged{requested(1), failed(1), announced(2)}, 1, 0, []string{"wanted"}},
		{"failed, the next requested", []*schemas.StatusChanged{requested(1), failed(1), announced(2), requested(2)}, 1, 0, []string{"wanted"}},
		{"failed, the next ordered", []*schemas.StatusChanged{requested(1), failed(1), requested(2), accepted(2)}, 2, 2, []string{"complete"}},
		{"not tried", []*schemas.StatusChanged{requested(1), notTried(1)}, 1, 0, []string{"wanted"}},
		{"two looks", []*schemas.StatusChanged{requested(1), accepted(1), later(requested(2)), later(duplicate(2))}, 1, 1, []string{"complete", "duplicate"}},
		{"two looks, both under way", []*schemas.StatusChanged{requested(1), later(requested(2))}, 2, 0, []string{"wanted", "queued"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newState()
			f := s.file("f")
			f.name = &schemas.StatusChanged{Scope: schemas.Scope{Centre: "H"}}
			for _, e := range c.told {
				s.status(schemas.Message{Stage: "plan"}, e)
			}
			versions := map[versionKey]*ordered{}
			for key, a := range f.attempts {
				a.finished = key.attempt == c.finished
				if key.attempt == c.ordered {
					versions[versionKey{"f", key}] = &ordered{&schemas.DocumentOrdered{DocumentRef: schemas.DocumentRef{Archive: sha}, RankOrdinal: 1}, "b"}
				}
			}
			all, attempts, _ := s.acquisitions(f, versions, time.Unix(9, 0), time.Hour)
			var got []string
			for _, a := range all {
				state := a.State
				if state == control.Ended {
					state = a.Result
				}
				if a.RetryAt != nil {
					state += ", again"
				}
				got = append(got, state)
				if (a.State == control.Wanted || a.State == control.Queued) && a.Attempt != 0 {
					t.Errorf("%s as attempt %d", a.State, a.Attempt)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			for _, a := range attempts {
				if a.Acquisition < 1 || int(a.Acquisition) > len(all) {
					t.Errorf("attempt %d belongs to %d", a.Attempt, a.Acquisition)
				}
			}
			if shownSHA, _, acceptances := shown(all, attempts); (shownSHA == sha) != (c.ordered > 0) || (acceptances == 1) != (c.ordered > 0) {
				t.Errorf("shows %q after %d acceptances", shownSHA, acceptances)
			}
		})
	}
}

func TestClassesOfLooks(t *testing.T) {
	seen := &schemas.StatusChanged{Scope: schemas.Scope{Session: "s"}}
	event := &schemas.Record{}
	took := func(source string, look int32, session string) map[attemptKey]*attempt {
		key := attemptKey{schemas.LiveRun, 1}
		return map[attemptKey]*attempt{key: {attemptKey: key, said: &schemas.StatusChanged{Scope: schemas.Scope{Source: source, Session: session}, Look: look}}}
	}
	for _, c := range []struct {
		name     string
		look     look
		attempts map[attemptKey]*attempt
		bad      string
		want     string
	}{
		{"rejected", look{status: seen}, nil, "zip_name_malformed", "rejected"},
		{"passed over", look{status: seen, event: event, passed: "superseded"}, nil, "", "superseded"},
		{"fetched", look{status: seen, event: event}, took("a", 2, "x"), "", "taken"},
		{"a later one fetched instead", look{status: seen, event: event}, took("a", 3, "x"), "", "taken"},
		{"an earlier one fetched", look{status: seen, event: event}, took("a", 1, "x"), "", "announced"},
		{"fetched from elsewhere", look{status: seen, event: event}, took("b", 1, "s"), "", "taken"},
		{"announced", look{status: seen, event: event}, nil, "", "announced"},
		{"not announced", look{status: seen}, nil, "", "unsettled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &file{name: &schemas.StatusChanged{Exception: c.bad}, attempts: c.attempts}
			if got := f.class(lookKey{"a", 2}, &c.look); got != c.want {
				t.Errorf("is %s, want %s", got, c.want)
			}
		})
	}
}
