package restore

import (
	"bytes"
	"cmp"
	"time"

	"tributary/internal/chain"
	"tributary/schemas"
	"tributary/sql/control"
)

// state is what the topics tell of control, gathered before anything is
// written. It grows with files, looks, attempts and polls, not with documents:
// some hundred bytes for each.
type state struct {
	centres  map[string]*schemas.StatusChanged
	sources  map[string]*schemas.StatusChanged
	sessions map[string]*session
	polls    map[pollKey]*schemas.StatusChanged // how each ended last
	files    map[string]*file
	batches  map[string]*batch
	domains  map[string]int64 // greatest batch number
	replays  map[string]*replay

	operations []*operation
	letters    map[string]*decision // about dead letters, by their places
	quality    map[string]control.Quality
	revision   int64      // greatest of centres and sources
	number     int64      // greatest of replays and of what they have ordered
	last       int64      // position ordered last
	head       chain.Head // of what was published
}

type pollKey struct{ session, source string }

type session struct {
	id     string
	number int64
	opened time.Time
	closed *time.Time
	end    int64 // position of its end
}

// batch is a batch of which positions were published.
type batch struct {
	id, session, domain, run string
	number                   int64
	late                     bool
	at                       time.Time
	end                      int64 // position of its end; 0 if it was not published
	versions                 map[versionKey]*schemas.DocumentOrdered
	begun                    map[versionKey]*begun // versions that were not published as a whole
	documents                int                   // that were published
}

// begun is what was published of a version.
type begun struct {
	*schemas.DocumentOrdered                 // one of its documents
	documents                map[string]bool // all of them
}

// versionKey names what one attempt brought.
type versionKey struct {
	file string
	attemptKey
}

type operation struct {
	*schemas.DocumentOrdered
	at   time.Time
	last int64
}

type file struct {
	id       string
	name     *schemas.StatusChanged // how its name was judged last
	at       time.Time
	held     control.Hold
	urgency  control.Urgency
	hostings map[string]*schemas.StatusChanged // by source: the newest look
	looks    map[lookKey]*look
	attempts map[attemptKey]*attempt
}

type lookKey struct {
	source string
	look   int32
}

type look struct {
	status *schemas.StatusChanged // of the poll
	passed string                 // duplicate or superseded
	at     time.Time
	event  *schemas.Record // its announcement; kept if plan has not taken it up
}

type attemptKey struct {
	run     string
	attempt int32
}

// attempt is what plan said of an attempt last.
type attempt struct {
	attemptKey
	said      *schemas.StatusChanged // the newest of plan's events
	judged    *schemas.StatusChanged // that it failed, was cancelled, or repeats another
	accepted  *schemas.StatusChanged // that its documents are awaited
	finished  bool                   // download.finished is still in its topic
	announced bool                   // only announced: it was never requested
	archive   string                 // sha256 of what it has brought, or begins with

	acquisition int64 // the row that it became a part of; 0: none
}

func newState() *state {
	return &state{centres: map[string]*schemas.StatusChanged{}, sources: map[string]*schemas.StatusChanged{}, sessions: map[string]*session{}, polls: map[pollKey]*schemas.StatusChanged{}, files: map[string]*file{},
		batches: map[string]*batch{}, domains: map[string]int64{}, replays: map[string]*replay{}, letters: map[string]*decision{}, quality: map[string]control.Quality{}}
}

func (s *state) file(id string) *file {
	f := s.files[id]
	if f == nil {
		f = &file{id: id, hostings: map[string]*schemas.StatusChanged{}, looks: map[lookKey]*look{}, attempts: map[attemptKey]*attempt{}}
		s.files[id] = f
	}
	return f
}

func (f *file) look(source string, n int32) *look {
	k := f.looks[lookKey{source, n}]
	if k == nil {
		k = &look{}
		f.looks[lookKey{source, n}] = k
	}
	return k
}

func (f *file) attempt(key attemptKey) *attempt {
	t := f.attempts[key]
	if t == nil {
		t = &attempt{attemptKey: key}
		f.attempts[key] = t
	}
	return t
}

// status takes an event of the log. Lists of errors, which may be long, have no
// place in control.
func (s *state) status(m schemas.Message, e *schemas.StatusChanged) {
	e.Errors, e.ErrorsTotal, e.Passed = nil, 0, nil
	switch e.Entity {
	case schemas.EntityCentre:
		s.revision = max(s.revision, e.Revision)
		if old := s.centres[e.Centre]; old == nil || old.Revision < e.Revision {
			s.centres[e.Centre] = e
		}
	case schemas.EntitySource:
		s.revision = max(s.revision, e.Revision)
		if old := s.sources[e.Source]; old == nil || old.Revision < e.Revision {
			s.sources[e.Source] = e
		}
	case schemas.EntitySession:
		s.session(e)
	case schemas.EntityTask:
		if m.Stage == "poll" {
			s.polls[pollKey{e.Session, e.Source}] = e
		}
	case schemas.EntityReplay:
		s.replay(m.Time, e)
	case schemas.EntityFile:
		f := s.file(e.File)
		if m.Stage == "poll" && !m.Time.Before(f.at) {
			f.name, f.at = e, m.Time
		}
		if m.Stage == planStage {
			f.byHand(m.Time, e)
		}
	case schemas.EntityQuality:
		s.decided(e)
	case schemas.EntityHosting:
		s.hosting(m, e)
	case schemas.EntityDownload:
		switch {
		case e.Attributes["dead_letter"] != "":
			s.letter(m.Time, e)
		case m.Stage == planStage:
			s.download(e)
		case e.File != "" && e.Attempt > 0:
			s.file(e.File).attempt(attemptKey{e.Run, e.Attempt}) // its number is taken
		}
	}
}

func (s *state) session(e *schemas.StatusChanged) {
	x := s.sessions[e.Session]
	if x == nil {
		x = &session{id: e.Session}
		s.sessions[e.Session] = x
	}
	x.number = e.Number
	if e.StartedAt != nil {
		x.opened = *e.StartedAt
	}
	if e.FinishedAt != nil {
		x.closed = e.FinishedAt
	}
}

func (s *state) hosting(m schemas.Message, e *schemas.StatusChanged) {
	f := s.file(e.File)
	k := f.look(e.Source, e.Look)
	if m.Stage == planStage {
		k.passed = "duplicate"
		if e.Note != "duplicate" {
			k.passed = "superseded"
		}
		return
	}
	if e.Attributes["state"] == "present" && (k.status == nil || k.status.Revision <= e.Revision) {
		k.status, k.at = e, m.Time
	}
	if old := f.hostings[e.Source]; old == nil || old.Look < e.Look || old.Look == e.Look && old.Revision <= e.Revision {
		f.hostings[e.Source] = e
	}
}

func (s *state) download(e *schemas.StatusChanged) {
	f := s.file(e.File)
	f.ended(e)
	t := f.attempt(attemptKey{e.Run, e.Attempt})
	t.said, t.archive = e, cmp.Or(e.Archive, t.archive)
	switch {
	case e.Accepted == "":
		t.announced = e.RequestedAt == nil && t.judged == nil && t.accepted == nil
	case e.Phase == string(schemas.Unzip) && e.Status == string(schemas.Done):
		t.accepted = e
	default:
		t.judged = e
		if withdrawn(e.Exception) {
			t.accepted = nil // nothing is awaited of it any more
		}
	}
}

// discovered takes an announcement, once all events of the log are known. It is
// kept only if plan has not taken it up.
func (s *state) discovered(m schemas.Message, record schemas.Record, e *schemas.FileDiscovered) {
	f := s.files[e.File]
	if e.Change == "gone" || m.Stage != "poll" || f == nil || f.name == nil {
		return
	}
	if l := f.looks[lookKey{e.Source, e.Look}]; l != nil && f.class(lookKey{e.Source, e.Look}, l) == "unsettled" {
		l.event = own(record)
	}
}

// own is a record by itself: as it was read, its bytes are a part of all that was
// fetched with it, and would keep that in memory.
func own(r schemas.Record) *schemas.Record {
	r.Value = bytes.Clone(r.Value)
	for i := range r.Headers {
		r.Headers[i].Value = bytes.Clone(r.Headers[i].Value)
	}
	return &r
}
