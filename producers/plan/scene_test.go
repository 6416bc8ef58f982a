package plan

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// The sources of the scenes: the producing centre's own, and two of others.
const (
	own   = "own"
	other = "other"
	third = "third"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is one file's world without a database: what store, AfterEnds and
// request do to it there is done here by commit and request.
type scene struct {
	t   *testing.T
	p   *Planner
	w   *World
	f   *File
	ids int64
}

func codec(t testing.TB) *schemas.Codec {
	t.Helper()
	return schemastest.Codec(t)
}

func newWorld(t testing.TB) *World {
	return &World{
		settings: settings{perHosting: 3, backoff: backoff.Exponential{Base: time.Second, Max: 8 * time.Second}, retry: time.Hour},
		outbox:   outbox.Outbox{Schema: control.Schema, Codec: codec(t)}, now: noon, files: map[string]*File{}, attempts: map[control.AttemptKey]*control.Attempt{},
		jobs: map[string]int{}, met: map[string]*control.Outcomes{},
	}
}

func newPlanner() *Planner {
	return New(config.Default().Plan, Deps{Outbox: outbox.Outbox{Schema: control.Schema}, Log: slog.New(slog.DiscardHandler)})
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, p: newPlanner(), w: newWorld(t)}
	s.f = &File{File: &control.File{ID: schemas.FileID("add", "a.zip"), Name: "a.zip", Action: "add", Centre: "H"}}
	s.w.files[s.f.ID] = s.f
	return s
}

// host says what the last listing of a source showed of the file: a new look
// each time. Its own source is the centre's, the others are of others.
func (s *scene) host(source string, size int64) *control.Hosting {
	for i := range s.f.hostings {
		if h := &s.f.hostings[i]; h.Source == source {
			h.Look++
			h.Size, h.Present, h.Settled, h.ListedAt = size, true, true, s.w.now
			return h
		}
	}
	centre := "H"
	if source != own {
		centre = "Other-" + source
	}
	s.f.hostings = append(s.f.hostings, control.Hosting{File: s.f.ID, Source: source, Server: source + ":22", SourceCentre: centre, Look: 1, Size: size,
		ListedAt: s.w.now, Present: true, Settled: true, State: "available"})
	return &s.f.hostings[len(s.f.hostings)-1]
}

func (s *scene) hosting(source string) *control.Hosting {
	s.t.Helper()
	for i := range s.f.hostings {
		if s.f.hostings[i].Source == source {
			return &s.f.hostings[i]
		}
	}
	s.t.Fatalf("no hosting at %s", source)
	return nil
}

// announce is a poll's discovery of a hosting's present look, read by plan.
func (s *scene) announce(source string, polling bool) *control.Look {
	s.t.Helper()
	h := s.hosting(source)
	session := uuid.NewString()
	k := &control.Look{Source: source, File: s.f.ID, Look: h.Look, Session: &session, Domain: "H", Centre: h.SourceCentre, Size: h.Size, ListedAt: h.ListedAt,
		Class: "announced", OwnPolling: polling}
	s.f.looks = append(s.f.looks, k)
	s.w.discovered(schemas.FileDiscovered{FileRef: s.f.Ref(), Scope: schemas.Scope{Source: source}, Change: "new", Look: h.Look, Size: h.Size})
	s.commit()
	return k
}

// show hosts a new look and announces it.
func (s *scene) show(source string, size int64) *control.Look {
	s.t.Helper()
	s.host(source, size)
	return s.announce(source, false)
}

// commit does what storing does.
func (s *scene) commit() {
	for _, a := range slices.Concat(s.f.Acquisitions, s.f.healings) {
		if a.New {
			s.ids++
			a.ID, a.New = s.ids, false
		}
		a.Changed = false
	}
	if s.f.active() == nil {
		for _, a := range s.f.Acquisitions {
			if a.State == control.Queued {
				a.State = control.Wanted
				break
			}
		}
	}
	var waiting []*control.Look
	for _, k := range s.f.looks {
		if k.Class == "waiting" {
			waiting = append(waiting, k)
		}
	}
	s.f.looks = waiting
}

// request lets the dispatcher choose a hosting, as soon as the file may be
// requested at all, and returns the attempt; nil if it requests nothing.
func (s *scene) request() *control.Attempt {
	s.t.Helper()
	if a := s.f.active(); a != nil && a.NotBefore.After(s.w.now) {
		s.w.now = a.NotBefore
	}
	credits := map[string]int{own + ":22": 1, other + ":22": 1, third + ":22": 1}
	jobs := s.p.gather(s.w, credits, turnsOf(s.w))
	defer s.commit()
	if len(jobs) == 0 {
		return nil
	}
	if len(jobs) != 1 || len(jobs[0].items) != 1 {
		s.t.Fatalf("one file makes %d jobs", len(jobs))
	}
	it := jobs[0].items[0]
	it.a.State, it.a.Attempt = control.Requested, s.w.nextAttempt(s.f, it.a)
	t := &control.Attempt{Run: it.a.Run, File: s.f.ID, Attempt: it.a.Attempt, Acquisition: it.a.ID, Source: it.hosting.Source, Look: it.hosting.Look, Job: uuid.NewString()}
	s.w.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
	return t
}

// from requests and checks from where.
func (s *scene) from(source string) *control.Attempt {
	s.t.Helper()
	t := s.request()
	switch {
	case t == nil:
		s.t.Fatalf("nothing is requested; want a fetch from %s", source)
	case t.Source != source:
		s.t.Fatalf("requested from %s, want %s", t.Source, source)
	}
	return t
}

func (s *scene) finished(t *control.Attempt, result, outcome string) schemas.DownloadFinished {
	return schemas.DownloadFinished{Scope: schemas.Scope{Run: t.Run, Source: t.Source}, FileRef: s.f.Ref(), Job: t.Job, Attempt: t.Attempt, Look: t.Look,
		Result: result, Outcome: outcome}
}

func (s *scene) read(d schemas.DownloadFinished) {
	s.w.downloaded(d, schemas.Record{Topic: schemas.DownloadFinishedTopic, Key: s.f.ID, Value: []byte("download.finished of " + d.Outcome)})
	s.commit()
}

// fetched is a successful download of the bytes with the given hash.
func (s *scene) fetched(t *control.Attempt, sha string) {
	d := s.finished(t, schemas.Fetched, sha)
	d.SHA256 = sha
	s.read(d)
}

// fails is a failed download.
func (s *scene) fails(t *control.Attempt, phase schemas.Phase, exception string) {
	d := s.finished(t, schemas.FailedEnd, exception)
	d.Phase, d.Exception, d.Message = string(phase), exception, "because of "+exception
	s.read(d)
}

func (s *scene) unzip(t *control.Attempt, sha, result, outcome string) schemas.UnzipFinished {
	u := schemas.UnzipFinished{Scope: schemas.Scope{Run: t.Run}, FileRef: s.f.Ref(), Attempt: t.Attempt, Download: sha, SHA256: sha, Result: result, Outcome: outcome, Documents: 2}
	if result != schemas.Unzipped {
		u.Exception, u.Message, u.Documents = outcome, "because of "+outcome, 0
	}
	return u
}

func (s *scene) readUnzip(u schemas.UnzipFinished) {
	s.t.Helper()
	r, err := s.w.outbox.Codec.Encode(schemas.Message{ID: uuid.NewString(), Topic: schemas.UnzipFinishedTopic, Key: s.f.ID, Stage: "unzip", Time: s.w.now, Body: &u})
	if err != nil {
		s.t.Fatal(err)
	}
	s.w.unzipped(u, r)
	s.commit()
}

func (s *scene) unzipped(t *control.Attempt, sha string) {
	s.t.Helper()
	s.readUnzip(s.unzip(t, sha, schemas.Unzipped, "done"))
}

func (s *scene) refused(t *control.Attempt, sha, exception string) {
	s.t.Helper()
	s.readUnzip(s.unzip(t, sha, schemas.FailedEnd, exception))
}

// complete is the whole way of a good archive, its documents included.
func (s *scene) complete(t *control.Attempt, sha string) {
	s.t.Helper()
	s.fetched(t, sha)
	s.unzipped(t, sha)
	a := s.last()
	if a.State != control.Extracted {
		a = s.f.Acquisition(t.Acquisition)
	}
	now := s.w.now
	a.State, a.Result, a.EndedAt = control.Ended, control.Complete, &now
	s.commit()
}

func (s *scene) last() *control.Acquisition {
	s.t.Helper()
	if len(s.f.Acquisitions) == 0 {
		s.t.Fatal("there is no acquisition")
	}
	return s.f.Acquisitions[len(s.f.Acquisitions)-1]
}

// announced checks that the next attempt is told of as pending, and returns the
// judgement before it.
func (s *scene) announced(attempt int32) *schemas.StatusChanged {
	s.t.Helper()
	e := s.event(schemas.EntityDownload)
	if e.Phase != string(schemas.Download) || e.Status != string(schemas.Pending) || e.Attempt != attempt {
		s.t.Errorf("the next attempt is told of as %+v, want %d to be pending", e, attempt)
	}
	s.w.out = slices.DeleteFunc(s.w.out, func(m schemas.Message) bool { return m.Body == any(e) })
	return s.event(schemas.EntityDownload)
}

// event is the last event told of an entity; it must be one that can be
// published.
func (s *scene) event(entity string) *schemas.StatusChanged {
	s.t.Helper()
	for i := len(s.w.out) - 1; i >= 0; i-- {
		b, ok := s.w.out[i].Body.(*schemas.StatusChanged)
		if !ok || b.Entity != entity {
			continue
		}
		if _, err := s.w.outbox.Codec.Encode(s.w.out[i]); err != nil {
			s.t.Fatalf("the event can't be published: %v", err)
		}
		return b
	}
	s.t.Fatalf("no event of a %s", entity)
	return nil
}

// ended checks how the newest acquisition ended.
func (s *scene) ended(result, phase, exception string) {
	s.t.Helper()
	a := s.last()
	if a.State != control.Ended || a.Result != result || a.Phase != phase || a.Exception != exception || a.EndedAt == nil {
		s.t.Fatalf("acquisition is %s %q at (%q, %q), ended at %v; want ended %q at (%q, %q)", a.State, a.Result, a.Phase, a.Exception, a.EndedAt, result, phase, exception)
	}
}

// turnsOf are the turns of the sources that show files; none was given a job.
func turnsOf(w *World) map[string]*control.Turn {
	out := map[string]*control.Turn{}
	for _, f := range w.files {
		for _, h := range f.hostings {
			out[h.Source] = &control.Turn{Source: h.Source, Server: h.Server, Priority: 5}
		}
	}
	return out
}
