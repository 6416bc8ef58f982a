package why_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
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
	w := &world{Plane: plantest.New(t), t: t, polls: config.Default().Poll, servers: map[string]*server{}, sessions: 1}
	w.EndPolls()
	w.Exec("UPDATE control.source SET state = 'removed'") // those of plantest, which nobody serves
	w.polls.Attempts, w.polls.MaxIgnored, w.polls.MaxNew, w.polls.SuspendAfter = 1, 3, 20, 0
	var err error
	if err = trackersql.Migrate(t.Context(), w.Pool); err != nil {
		t.Fatal(err)
	}
	if err = warehouse.Migrate(t.Context(), w.Pool); err != nil {
		t.Fatal(err)
	}
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
		_, err := control.PutSource(w.t.Context(), tx, s, 1)
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

// listed is a session in which sources are listed twice, so that what they show
// settles and is taken up by plan. It returns the number of the last session.
func (w *world) listed(sources ...string) int64 {
	w.t.Helper()
	w.open(sources...)
	w.run()
	w.read(true)
	w.Clock = w.Clock.Add(time.Minute)
	n := w.open(sources...)
	w.run()
	w.read(true)
	return n
}

// dispatch has plan request what it can.
func (w *world) dispatch() {
	w.t.Helper()
	if err := w.Dispatch(w.t.Context(), w.Clock); err != nil {
		w.t.Fatal(err)
	}
	w.read(true)
}

// job is the newest request of a file; one of it alone is not asked for again.
func (w *world) job(path string) (*schemas.DownloadRequested, schemas.RequestFile) {
	w.t.Helper()
	for i, j := range slices.Backward(w.jobs) {
		for _, f := range j.Files {
			if f.Path == path {
				if len(j.Files) == 1 {
					w.jobs = append(w.jobs[:i:i], w.jobs[i+1:]...)
				}
				return j, f
			}
		}
	}
	w.t.Fatalf("nobody has requested %s", path)
	return nil, schemas.RequestFile{}
}

// outcome answers the request of a file.
func (w *world) outcome(path string, change func(*schemas.DownloadFinished)) *schemas.DownloadFinished {
	w.t.Helper()
	j, f := w.job(path)
	d := plantest.FetchedOf(j, f, fmt.Sprintf("%x", sha256.Sum256([]byte(path+fmt.Sprint(f.Attempt)))))
	if change != nil {
		change(d)
	}
	w.Read(schemas.DownloadFinishedTopic, d)
	w.read(true)
	return d
}

// failed is an outcome without bytes.
func failed(exception, message string) func(*schemas.DownloadFinished) {
	return func(d *schemas.DownloadFinished) {
		d.Result, d.Outcome, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, exception, "", "download", exception, message
	}
}

// unzipped is a good archive with so many documents.
func (w *world) unzipped(d *schemas.DownloadFinished, documents int32) {
	w.t.Helper()
	w.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, documents))
	w.read(true)
}

// judge stores verdicts of documents as sequence does, from the first on: how each ended.
func (w *world) judge(d *schemas.DownloadFinished, results ...string) {
	w.t.Helper()
	var docs []control.Document
	for i, r := range results {
		entry := fmt.Sprintf("%s.2026-01-02.%d.specimen.impc.xml", d.Centre, i+1)
		docs = append(docs, control.Document{Run: d.Run, File: d.File, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done", Document: schemas.DocumentID(d.File, entry), Entry: entry, Kind: "specimen", SHA256: "x", Result: r, Body: []byte{1}})
		s := w.document(d, i, "xsd", schemas.Done)
		if r != schemas.Valid {
			s = w.document(d, i, "xsd", schemas.Failed)
			s.Exception, s.Message = "xsd_invalid", "line too long"
			s.Errors, s.ErrorsTotal = []schemas.ErrorDetail{{Line: 7, Exception: "xsd_invalid", Message: "line too long"}}, 1
			if r == schemas.Quarantined {
				s.Exception, s.Errors, s.ErrorsTotal = schemas.Quarantined, nil, 0
			}
		}
		w.say(s)
	}
	w.Tx(func(tx pgx.Tx) error {
		if err := control.StoreDocuments(w.t.Context(), tx, docs); err != nil {
			return err
		}
		if _, err := control.LockFiles(w.t.Context(), tx, []string{d.File}); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(w.t.Context(), tx, []string{d.File}, w.Clock)
		if err != nil {
			return err
		}
		return control.AfterEnds(w.t.Context(), tx, ended, w.Clock)
	})
}

// document is an event about a document of what was fetched.
func (w *world) document(d *schemas.DownloadFinished, n int, phase string, status schemas.Status) *schemas.StatusChanged {
	entry := fmt.Sprintf("%s.2026-01-02.%d.specimen.impc.xml", d.Centre, n+1)
	return &schemas.StatusChanged{Scope: d.Scope, FileRef: d.FileRef, DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(d.File, entry), Entry: entry, Ordinal: int32(n)}, Entity: schemas.EntityDocument,
		Attempt: d.Attempt, Outcome: d.Outcome + "/done", Phase: phase, Status: string(status)}
}

// fetched carries a file through download and unzip, and has its documents judged.
func (w *world) fetched(path string, results ...string) *schemas.DownloadFinished {
	w.t.Helper()
	d := w.outcome(path, nil)
	w.unzipped(d, int32(len(results)))
	w.judge(d, results...)
	return d
}

// released gives the batches that may be released their numbers and positions, as
// sequence does; it returns the last position given.
func (w *world) released() int64 {
	w.t.Helper()
	l := control.Limits{PollCutoff: w.Clock.Add(-10 * time.Minute), ReleaseLimit: w.Clock.Add(-30 * time.Minute), LateLimit: w.Clock.Add(-time.Minute)}
	last := int64(0)
	for {
		ready, err := control.ReadyBatches(w.t.Context(), w.Pool, l)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(ready) == 0 {
			return last
		}
		w.Tx(func(tx pgx.Tx) error {
			next, b, err := control.TakeBatch(w.t.Context(), tx, ready[0], l)
			if err != nil {
				return err
			}
			docs, err := control.BatchDocuments(w.t.Context(), tx, b.ID, []string{"specimen", "experiment"})
			if err != nil {
				return err
			}
			last = next.Next + int64(len(docs)) // and the batch's end
			if err := control.ReleaseBatch(w.t.Context(), tx, *b, &last, w.Clock); err != nil {
				return err
			}
			return control.SetPosition(w.t.Context(), tx, control.Position{Next: last + 1, Previous: fmt.Sprintf("%064d", last)})
		})
	}
}

// applied says that the warehouse has applied positions up to one.
func (w *world) applied(position int64) {
	w.Exec("UPDATE warehouse.state SET next_position = $1", position+1)
}

// inserted tells that documents of a file are in the warehouse, at the positions
// from one on; each brought so many rows.
func (w *world) inserted(d *schemas.DownloadFinished, results []string, position, rows int64) {
	w.t.Helper()
	for i, r := range results {
		if r != schemas.Valid {
			continue
		}
		for _, phase := range []string{"upload", "overview"} {
			s := w.document(d, i, phase, schemas.Done)
			if phase == "upload" {
				s.Position, s.Rows = position+int64(i), rows
			}
			w.say(s)
		}
	}
}

// checked tells that a later check of the data found something in a document.
func (w *world) checked(d *schemas.DownloadFinished, n int, exception string) {
	w.t.Helper()
	s := w.document(d, n, "data", schemas.Failed)
	s.Check, s.Exception, s.Message, s.ErrorsTotal = 1, exception, "not known", 1
	s.Errors = []schemas.ErrorDetail{{Line: 7, Exception: exception, Message: "not known"}}
	w.say(s)
}

// set sets a source's state, as a person or its polls do.
func (w *world) set(source, state string) {
	why, at := "", (*time.Time)(nil)
	if state == "suspended" {
		why, at = "10 polls in a row failed, the last of them: login_failed: no", &w.Clock
	}
	w.Exec("UPDATE control.source SET state = $2, suspended_why = $3, suspended_at = $4 WHERE id = $1", source, state, why, at)
}

// acquired stores an acquisition of another run, as replays and retries make it, and
// returns its run.
func (w *world) acquired(d *schemas.DownloadFinished, state string) (run string, id int64) {
	w.t.Helper()
	run = uuid.NewString()
	err := w.Pool.QueryRow(w.t.Context(), `INSERT INTO control.acquisition (run, file, domain, source, look, size, state, attempt, download, sha256)
		VALUES ($1, $2, $3, $4, $5, 1, $6, 9, $7, $8) RETURNING id`, run, d.File, d.Centre, d.Source, d.Look, state, d.Outcome, d.SHA256).Scan(&id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run, id
}

// replay stores a replay in a state that chose files, each in a state.
func (w *world) replay(number int64, run, state, held string, item string, acquisition *int64, file string) {
	w.Exec(`INSERT INTO control.replay (id, number, phase, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at, held)
		VALUES ($1, $2, 'xsd', 'ann', 'better', $3, $4, 'ann', $3, $3, $5)`, run, number, w.Clock, state, held)
	w.Exec("INSERT INTO control.replay_item (run, ordinal, file, state, acquisition, message) VALUES ($1, 1, $2, $3, $4, 'its file is under way')", run, file, item, acquisition)
}
