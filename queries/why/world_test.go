package why_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/consumers/tracker"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/profile"
	"tributary/internal/remote"
	"tributary/internal/stage/sink"
	"tributary/producers/plan/plantest"
	"tributary/producers/poll"
	"tributary/queries/why"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	trackersql "tributary/sql/tracker"
	"tributary/sql/warehouse"
	"tributary/test/wait"
)

// world is control, tracker and warehouse on a real Postgres, with a poller that
// lists sources in memory and a planner. The test does what servers, other stages
// and people do, and moves the clock.
type world struct {
	*plantest.Plane
	t        *testing.T
	polls    config.Poll
	asker    *why.Asker
	tracker  *tracker.Tracker
	offset   int64 // of the log that the tracker reads
	profile  *profile.Profile
	centres  profile.CentreSet
	sessions int64

	mu      sync.Mutex
	servers map[string]*server // by source

	jobs  []*schemas.DownloadRequested // that were requested and nobody has answered
	found []*schemas.FileDiscovered    // that plan has not read
}

// server is a source in memory.
type server struct {
	dirs map[string][]remote.Entry
	fail error // after the entries
	down bool  // its base is not there
}

func (s *server) List(_ context.Context, dir string, yield func(remote.Entry) error) error {
	if s.down {
		return fs.ErrNotExist
	}
	for _, e := range s.dirs[dir] {
		e.Name = remote.ShortName(e.Name) // as all connectors do
		if err := yield(e); err != nil {
			return err
		}
	}
	if dir == "delete" {
		return s.fail
	}
	return nil
}

func (s *server) Stat(context.Context, string) (remote.Entry, error) {
	return remote.Entry{}, fs.ErrNotExist
}

func (s *server) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("content")), nil
}
func (s *server) Concurrency() int { return 1 }
func (s *server) Close() error     { return nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Plane: plantest.NewOn(t, controltest.Guarded(t, 10, "with tracker and warehouse", trackersql.Migrate, warehouse.Migrate)), t: t, polls: config.Default().Poll, servers: map[string]*server{}, sessions: 1}
	w.EndPolls()
	w.Exec("UPDATE control.source SET state = 'removed'") // those of plantest, which nobody serves
	w.polls.Attempts, w.polls.MaxIgnored, w.polls.MaxNew, w.polls.SuspendAfter = 1, 3, 20, 0
	var err error
	if w.profile, err = profile.Builtin("impc"); err != nil {
		t.Fatal(err)
	}
	if w.centres, err = centres.Set(w.profile, config.Config{}); err != nil {
		t.Fatal(err)
	}
	w.tracker = tracker.New(config.Default().Tracker, tracker.Deps{Pool: w.Pool, Codec: w.Outbox.Codec, Prefix: "test", Log: slog.New(slog.DiscardHandler)})
	w.asker = &why.Asker{Control: w.Pool, Tracker: w.Pool, Warehouse: w.Pool, Profile: w.profile, Centres: w.centres, Now: func() time.Time { return w.Clock },
		Limits: why.Limits{Settle: 30 * time.Second, PollCutoff: 10 * time.Minute, ReleaseLimit: 30 * time.Minute, LateLimit: time.Minute}}
	return w
}

// source adds a source of a centre, on a server of its own unless one is named.
func (w *world) source(id, centre string, change ...func(*control.Source)) *server {
	w.t.Helper()
	def := config.Source{ID: id, Centre: centre, URL: "file:///srv/" + id}
	s := control.Source{ID: id, Centre: centre, Server: id + ":22", Protocol: "file", URL: def.URL, State: "available", MaxSessions: 2, Interval: time.Hour, Hosts: []string{centre}}
	for _, c := range change {
		c(&s)
	}
	for _, h := range s.Hosts[1:] {
		of, action, some := strings.Cut(h, "/")
		hosted := config.Hosted{Centre: of}
		if some {
			hosted.Actions = []string{action}
		}
		def.Hosts = append(def.Hosts, hosted)
	}
	text, err := def.Definition()
	if err != nil {
		w.t.Fatal(err)
	}
	s.Definition = text
	w.Tx(func(tx pgx.Tx) error {
		if _, err := control.PutCentre(w.t.Context(), tx, centres.Centre{ShortName: centre, Active: true}, 1); err != nil {
			return err
		}
		_, err := controltest.PutSource(w.t.Context(), tx, s)
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[id] = &server{dirs: map[string][]remote.Entry{"add": {}, "edit": {}, "delete": {}}}
	return w.servers[id]
}

// show puts a file onto a server, in place of one of that name.
func (s *server) show(path string, size int64) {
	dir, name, _ := strings.Cut(path, "/")
	s.hide(path)
	s.dirs[dir] = append(s.dirs[dir], remote.Entry{Name: name, Size: size, ModTime: plantest.Noon.Add(-time.Hour), Precision: time.Second})
}

func (s *server) hide(path string) {
	dir, name, _ := strings.Cut(path, "/")
	var kept []remote.Entry
	for _, e := range s.dirs[dir] {
		if e.Name != name {
			kept = append(kept, e)
		}
	}
	s.dirs[dir] = kept
}

// open opens a session with a poll of each source, due at once, and returns its number.
func (w *world) open(sources ...string) int64 {
	w.t.Helper()
	w.sessions++
	polls := map[string]control.DueSource{}
	id := schemas.ID("session", fmt.Sprint(w.sessions))
	for _, s := range sources {
		polls[schemas.ID("poll", id, s)] = control.DueSource{ID: s, Centre: w.Text("SELECT centre AS q FROM control.source WHERE id = $1", s), Server: s + ":22"}
	}
	w.Tx(func(tx pgx.Tx) error {
		return control.OpenSession(w.t.Context(), tx, id, w.sessions, false, w.Clock, polls)
	})
	return w.sessions
}

// run lets a poller work until no poll is open but those of some sources, which
// nobody can take.
func (w *world) run(but ...string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), wait.Patience())
	defer stop()
	clock := w.Clock
	p := poll.New(w.polls, poll.Deps{Profile: w.profile, Centres: w.centres, Pool: w.Pool, Outbox: w.Outbox, Holder: "poller/1", TTL: time.Minute, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return clock }, Dial: func(_ context.Context, cfg remote.Config) (remote.Session, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			s := w.servers[strings.TrimPrefix(cfg.URL, "file:///srv/")]
			if s.down {
				return nil, fs.ErrNotExist
			}
			return s, nil
		}})
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	for open := -1; open != 0; {
		if err := w.Pool.QueryRow(ctx, "SELECT count(*) FROM control.poll WHERE state IN ('due','running') AND NOT source = ANY($1)", append([]string{}, but...)).Scan(&open); err != nil {
			w.t.Fatal(err)
		}
		select {
		case err := <-done:
			w.t.Fatal("the poller has stopped: ", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// read hands on what waits in the outbox: events to the tracker, jobs to the test,
// and what was found to plan, unless that is to wait.
func (w *world) read(plans bool) {
	w.t.Helper()
	for {
		all := w.Drain()
		var events []schemas.Message
		for _, m := range all {
			switch b := m.Body.(type) {
			case *schemas.StatusChanged:
				events = append(events, m)
			case *schemas.FileDiscovered:
				w.found = append(w.found, b)
			case *schemas.DownloadRequested:
				w.jobs = append(w.jobs, b)
			}
		}
		w.told(events...)
		if !plans || len(w.found) == 0 {
			if len(all) == 0 || !plans {
				return
			}
			continue
		}
		var bodies []any
		for _, b := range w.found {
			bodies = append(bodies, b)
		}
		w.found = nil
		w.Read(schemas.FileDiscoveredTopic, bodies...)
	}
}

// told has the tracker read events.
func (w *world) told(events ...schemas.Message) {
	w.t.Helper()
	r := sink.Range{Topic: schemas.StatusChangedTopic, From: w.offset}
	for _, m := range events {
		rec, err := w.Outbox.Codec.Encode(m)
		if err != nil {
			w.t.Fatal(err)
		}
		k := kafka.ToKgo("test", rec)
		k.Offset = w.offset
		w.offset++
		r.Records = append(r.Records, k)
	}
	if r.To = w.offset; len(events) == 0 {
		return
	}
	if err := w.tracker.Apply(w.t.Context(), []sink.Range{r}); err != nil {
		w.t.Fatal(err)
	}
}

// say has the tracker read what happens now.
func (w *world) say(s *schemas.StatusChanged) {
	w.t.Helper()
	w.told(schemas.Message{ID: uuid.NewString(), Topic: schemas.StatusChangedTopic, Key: s.File, Stage: "test", Time: w.Clock, Body: s})
}
