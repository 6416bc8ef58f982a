package restore

import (
	"testing"

	"tributary/schemas"
)

// What is held does not grow with polls that are told of again, with lists of
// errors, or with looks that were taken up long ago.
func TestOnlyWhatIsNeededIsHeld(t *testing.T) {
	s := newState()
	for n := range int32(3) {
		s.status(schemas.Message{Stage: "poll"}, &schemas.StatusChanged{Scope: schemas.Scope{Session: "s", Source: "a"}, Entity: schemas.EntityTask, Attempt: n, Errors: make([]schemas.ErrorDetail, 100)})
	}
	if p := s.polls[pollKey{"s", "a"}]; len(s.polls) != 1 || p.Attempt != 2 || p.Errors != nil {
		t.Errorf("%d polls are held, the first as %+v", len(s.polls), p)
	}

	refused := said(1, schemas.Unzip, schemas.Failed, "", "bad_zip")
	refused.Message, refused.Errors, refused.ErrorsTotal, refused.Passed = "why", make([]schemas.ErrorDetail, 100), 100, make([]schemas.PassedPhase, 3)
	s.status(schemas.Message{Stage: "plan"}, refused)
	for _, e := range []*schemas.StatusChanged{s.files["f"].attempt(attemptKey{schemas.LiveRun, 1}).judged, s.files["f"].attempt(attemptKey{schemas.LiveRun, 1}).said} {
		if e.Errors != nil || e.ErrorsTotal != 0 || e.Passed != nil || e.Message != "why" {
			t.Errorf("an attempt is held as %+v", e)
		}
	}

	f := s.file("f")
	f.name = &schemas.StatusChanged{}
	announce := func(look int32, value []byte) *schemas.Record {
		f.look("a", look).status = &schemas.StatusChanged{Scope: schemas.Scope{Session: "later"}}
		s.discovered(schemas.Message{Stage: "poll"}, schemas.Record{Value: value, Headers: []schemas.Header{{Key: "k", Value: value}}}, &schemas.FileDiscovered{Scope: schemas.Scope{Source: "a"}, FileRef: schemas.FileRef{File: "f"}, Look: look})
		return f.look("a", look).event
	}
	if r := announce(1, []byte("x")); r != nil { // attempt 1 was of it
		t.Errorf("the announcement of a look that was taken up is held: %+v", r)
	}
	value := []byte("fetched")
	r := announce(2, value)
	if r == nil || &r.Value[0] == &value[0] || &r.Headers[0].Value[0] == &value[0] || string(r.Value) != "fetched" {
		t.Errorf("the announcement of a look that nobody has taken up is held as %+v", r)
	}
}
