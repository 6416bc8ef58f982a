package tracker

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
)

// fold is the sum of some events: what they say of each thing they speak of.
type fold struct {
	centres    map[uuid.UUID]*announced
	sources    map[uuid.UUID]*announced
	revisions  map[uuid.UUID]sourceRevision
	sessions   map[uuid.UUID]*session
	tasks      map[uuid.UUID]*task
	batches    map[uuid.UUID]*batch
	replays    map[uuid.UUID]*replay
	exceptions map[uuid.UUID]firstNamed
	names      map[uuid.UUID]*named
	files      map[uuid.UUID]*file
	hostings   map[uuid.UUID]*hosting
	versions   map[uuid.UUID]*version
	attempts   map[uuid.UUID]*attempt
	documents  map[uuid.UUID]*document
	qualities  map[uuid.UUID]*quality
	ordered    map[uuid.UUID]ordered

	shadows bool // attempts of shadow runs are added too

	made map[string]uuid.UUID // ids made so far: hashing them is the costliest part of reading an event
	text []byte               // of an id's parts, used again
}

func newFold() *fold {
	return &fold{
		centres: map[uuid.UUID]*announced{}, sources: map[uuid.UUID]*announced{}, revisions: map[uuid.UUID]sourceRevision{}, sessions: map[uuid.UUID]*session{},
		tasks: map[uuid.UUID]*task{}, batches: map[uuid.UUID]*batch{}, replays: map[uuid.UUID]*replay{}, exceptions: map[uuid.UUID]firstNamed{},
		names: map[uuid.UUID]*named{}, files: map[uuid.UUID]*file{}, hostings: map[uuid.UUID]*hosting{},
		versions: map[uuid.UUID]*version{}, attempts: map[uuid.UUID]*attempt{}, documents: map[uuid.UUID]*document{}, qualities: map[uuid.UUID]*quality{},
		ordered: map[uuid.UUID]ordered{},
		made:    map[string]uuid.UUID{},
	}
}

// adder is a state that sums up events.
type adder[T any] interface {
	*T
	add(*T)
}

// into adds a state to what is known under an id.
func into[T any, P adder[T]](m map[uuid.UUID]P, id uuid.UUID, s P) {
	if known, ok := m[id]; ok {
		known.add((*T)(s))
		return
	}
	// Adding to nothing, so that the sum of one event has the form of a sum.
	sum := P(new(T))
	sum.add((*T)(s))
	m[id] = sum
}

// key is the id that follows from the parts, as a UUID.
func key(parts ...string) uuid.UUID { return schemas.UUID(parts...) }

// id is key, remembered. Parts have no NUL: events are clean (schemas.Clean).
func (f *fold) id(parts ...string) uuid.UUID {
	f.text = f.text[:0]
	for _, p := range parts {
		f.text = append(append(f.text, p...), 0)
	}
	id, ok := f.made[string(f.text)]
	if !ok {
		id = key(parts...)
		f.made[string(f.text)] = id
	}
	return id
}

// given is an id that an event carries, or, where it is not a UUID, the one
// that follows from it.
func given(kind, id string) uuid.UUID {
	if u, err := uuid.Parse(id); err == nil {
		return u
	}
	return key(kind, id)
}

// add adds one event. An error says why it cannot be placed anywhere. Of a
// shadow run only what is said of it as a whole is added: its results lie beside
// that are shown, and change none of them, unless they are asked for.
func (f *fold) add(e *schemas.StatusChanged, when time.Time) error {
	if e.Entity != schemas.EntityReplay && schemas.IsShadow(e.Run) && !f.shadows {
		return nil
	}
	now := at(when)
	if err := f.place(e, now); err != nil {
		return err
	}
	f.order(e, now)
	return nil
}

// place adds one event to what it speaks of.
func (f *fold) place(e *schemas.StatusChanged, now time.Time) error {
	s := seen{First: now, Last: now}
	switch e.Entity {
	case schemas.EntityCentre:
		if e.Centre == "" {
			return fmt.Errorf("an event about a centre names none")
		}
		f.centre(e.Centre, &announced{Name: e.Centre, Revision: e.Revision, Attributes: e.Attributes, Created: now, At: now})
		return nil
	case schemas.EntitySource:
		if e.Source == "" {
			return fmt.Errorf("an event about a source names none")
		}
		centre := e.Centre
		if centre == "" {
			centre = e.Attributes["centre"]
		}
		f.centre(centre, nil)
		f.source(e.Source, &announced{Name: e.Source, Revision: e.Revision, Centre: centre, Attributes: e.Attributes, Created: now, At: now})
		f.revision(e, now)
		return nil
	case schemas.EntitySession:
		if e.Session == "" {
			return fmt.Errorf("an event about a session names none")
		}
		st := schemas.Status(e.Status).ID()
		x := &session{seen: s, Number: e.Number, Started: atOrZero(e.StartedAt), Finished: atOrZero(e.FinishedAt), Note: e.Note}
		if e.FinishedAt != nil || st >= done {
			x.Status = st
		}
		if st >= cancelled {
			x.Phase = schemas.Phase(e.Phase).ID()
		}
		into(f.sessions, given("session", e.Session), x)
		return nil
	case schemas.EntityTask:
		return f.task(e, s)
	case schemas.EntityBatch:
		f.centre(e.Centre, nil)
		into(f.batches, f.id("batch", e.Centre, fmt.Sprint(e.Number)), &batch{seen: s, Centre: e.Centre, Number: e.Number, Session: e.Session,
			Status: schemas.Status(e.Status).ID(), Documents: e.Rows, Started: started(e, now), Finished: finished(e, now), Position: e.Position, Checked: e.VersionOf})
		return nil
	case schemas.EntityReplay:
		return f.replay(e, s)
	case schemas.EntityAnnouncement, schemas.EntityLink, schemas.EntityMember, schemas.EntityOperation:
		return nil // they say nothing of where a file stands
	case schemas.EntityFile, schemas.EntityHosting, schemas.EntityDownload, schemas.EntityDocument, schemas.EntityQuality:
		return f.aboutFile(e, s)
	}
	return fmt.Errorf("an event about an unknown entity %q", e.Entity)
}

// started and finished of a batch are the times of its events unless these
// say otherwise.
func started(e *schemas.StatusChanged, now time.Time) time.Time {
	if e.StartedAt == nil && schemas.Status(e.Status).ID() == running {
		return now
	}
	return atOrZero(e.StartedAt)
}

func finished(e *schemas.StatusChanged, now time.Time) time.Time {
	if e.FinishedAt == nil && schemas.Status(e.Status).ID() >= done {
		return now
	}
	return atOrZero(e.FinishedAt)
}

// centre adds what is said of a centre, or, with nil, that it is spoken of.
func (f *fold) centre(name string, a *announced) { f.named(f.centres, "centre", name, a) }

func (f *fold) source(name string, a *announced) { f.named(f.sources, "source", name, a) }

func (f *fold) named(all map[uuid.UUID]*announced, kind, name string, a *announced) {
	if name == "" {
		return
	}
	if a == nil {
		a = &announced{Name: name}
	}
	into(all, f.id(kind, name), a)
}

// firstNamed is an exception and when it was first named.
type firstNamed struct {
	name  string
	first time.Time
}

func (f *fold) exception(name string, now time.Time) {
	if name == "" {
		return
	}
	id := f.id("exception", name)
	f.exceptions[id] = firstNamed{name, earliest(f.exceptions[id].first, now)}
}

func (f *fold) task(e *schemas.StatusChanged, s seen) error {
	if e.Session == "" {
		return fmt.Errorf("an event about a task names no session")
	}
	step := f.step(e, s.Last)
	if step.Phase == 0 {
		return fmt.Errorf("an event about a task has the phase %q and the status %q", e.Phase, e.Status)
	}
	into(f.sessions, given("session", e.Session), &session{seen: s})
	f.source(e.Source, nil)
	counts := map[string]string{}
	maps.Copy(counts, e.Attributes)
	if e.Note != "" {
		counts["end"] = e.Note
	}
	into(f.tasks, f.id("task", e.Session, e.Source, e.Phase), &task{seen: s, Session: e.Session, Source: e.Source, Phase: step.Phase,
		Step: step, Started: atOrZero(e.StartedAt), Finished: atOrZero(e.FinishedAt), Counts: counts})
	return nil
}

// step is what an event says of (phase, status), with its exceptions noted.
func (f *fold) step(e *schemas.StatusChanged, now time.Time) step {
	s := stepOf(e, now)
	if s.ended() {
		f.exception(cmp.Or(s.Exception, unnamed), now)
	}
	for _, x := range s.errors {
		f.exception(x.Exception, now)
	}
	return s
}
