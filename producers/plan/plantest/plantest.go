// Package plantest has what tests of decisions about files share: control on a
// real Postgres, with a planner.
package plantest

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
)

// The sources: the producing centre's own, and another centre's.
const (
	Own   = "own"
	Other = "other"
)

// Noon is when the tests' clocks begin.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Plane is control on a real Postgres, with a planner whose clock the test
// moves.
type Plane struct {
	*plan.Planner
	plan.Deps // that the planner was made with

	t       *testing.T
	Clock   time.Time // the planner's; a test moves it
	Session string
	Dir     string // of Blobs
	Blobs   *blob.Dir
	offsets map[string]int64
}

// New returns a plane whose sources have been polled into a session.
func New(t *testing.T) *Plane {
	t.Helper()
	return NewOn(t, controltest.Guarded(t, 10, ""))
}

// NewOn is like [New], on a control that is empty.
func NewOn(t *testing.T, pool *pgxpool.Pool) *Plane {
	t.Helper()
	var err error
	p := &Plane{t: t, Clock: Noon, offsets: map[string]int64{}, Session: uuid.NewString(), Dir: t.TempDir()}
	if p.Blobs, err = blob.NewDir(p.Dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Blobs.Close() })
	p.Deps = plan.Deps{Pool: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec(t)}, Offsets: pg.Offsets{Schema: control.Schema, Group: "test.plan"},
		Cutoff: 10 * time.Minute, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.Clock }}
	p.With(func(*plan.Deps) {})
	p.Tx(func(tx pgx.Tx) error {
		for i, id := range []string{Own, Other} {
			centre := []string{"H", "Ics"}[i]
			if _, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: centre, Active: true}, 1); err != nil {
				return err
			}
			if _, err := controltest.PutSource(t.Context(), tx, control.Source{ID: id, Centre: centre, Server: id + ":22", Protocol: "sftp", State: "available", MaxSessions: 2, Interval: time.Hour, Definition: `{"id": "` + id + `"}`}); err != nil {
				return err
			}
		}
		return control.OpenSession(t.Context(), tx, p.Session, 1, false, Noon, map[string]control.DueSource{
			uuid.NewString(): {ID: Own, Centre: "H", Server: Own + ":22"}, uuid.NewString(): {ID: Other, Centre: "Ics", Server: Other + ":22"}})
	})
	return p
}

// With makes the planner anew, with other dependencies.
func (p *Plane) With(change func(*plan.Deps)) {
	change(&p.Deps)
	p.Planner = plan.New(config.Default().Plan, p.Deps)
}

// Member is another planner of the same control.
func (p *Plane) Member(pool *pgxpool.Pool) *plan.Planner {
	d := p.Deps
	d.Pool = pool
	return plan.New(config.Default().Plan, d)
}

// Tx runs fn in a transaction.
func (p *Plane) Tx(fn func(tx pgx.Tx) error) {
	p.t.Helper()
	if err := pg.InTx(p.t.Context(), p.Pool, fn); err != nil {
		p.t.Fatal(err)
	}
}

// Exec runs a statement.
func (p *Plane) Exec(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.Pool.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// Text is the answer to a question, row by row.
func (p *Plane) Text(sql string, args ...any) string {
	p.t.Helper()
	var out string
	if err := p.Pool.QueryRow(p.t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// Look stores what a poll recorded, and returns its announcement.
func (p *Plane) Look(source, name string, look int32, size int64) *schemas.FileDiscovered {
	p.t.Helper()
	file, date, inc, centre := schemas.FileID("add", name), "2026-01-02", int64(1), "H"
	p.Tx(func(tx pgx.Tx) error {
		_, err := control.Record(p.t.Context(), tx, control.Poll{Source: source, Session: p.Session, Centre: map[string]string{Own: "H", Other: "Ics"}[source]}, p.Clock,
			[]control.Sighting{{File: file, Name: name, Action: "add", Centre: &centre, FileDate: &date, FileInc: &inc, Look: look, Size: size, ListedAt: p.Clock, Settled: true, Class: "announced", Event: []byte{1}}})
		return err
	})
	return &schemas.FileDiscovered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: p.Session, Centre: "H", Source: source},
		FileRef: schemas.FileRef{File: file, FileName: name, Action: "add"}, Change: "new", Look: look, Size: size}
}

// EndPolls ends the polls of the session.
func (p *Plane) EndPolls() {
	p.Exec("UPDATE control.poll SET state = 'running' WHERE state = 'due'")
	p.Exec("UPDATE control.poll SET state = 'complete'")
	p.Exec("UPDATE control.session SET polls_ended_at = $1", p.Clock)
}

// Records are events as they come from Kafka.
func (p *Plane) Records(topic string, bodies ...any) []*kgo.Record {
	p.t.Helper()
	var out []*kgo.Record
	for _, b := range bodies {
		key := ""
		switch b := b.(type) {
		case *schemas.FileDiscovered:
			key = b.File
		case *schemas.DownloadFinished:
			key = b.File
		case *schemas.UnzipFinished:
			key = b.File
		}
		r, err := p.Outbox.Codec.Encode(schemas.Message{ID: uuid.NewString(), Topic: topic, Key: key, Stage: "test", Time: p.Clock, Body: b})
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, kafka.ToKgo("test", r))
	}
	return out
}

// Batch is events of one topic as an applier hands them over.
func (p *Plane) Batch(topic string, bodies ...any) sink.Range {
	p.t.Helper()
	from := p.offsets[topic]
	p.offsets[topic] = from + int64(len(bodies))
	return sink.Range{Topic: topic, From: from, To: from + int64(len(bodies)), Records: p.Records(topic, bodies...)}
}

// Read applies events of one topic.
func (p *Plane) Read(topic string, bodies ...any) {
	p.t.Helper()
	if err := p.Apply(p.t.Context(), []sink.Range{p.Batch(topic, bodies...)}); err != nil {
		p.t.Fatal(err)
	}
}

// Requested dispatches what it can and returns the jobs of the outbox, which it
// empties.
func (p *Plane) Requested() []*schemas.DownloadRequested {
	p.t.Helper()
	if err := p.Dispatch(p.t.Context(), p.Clock); err != nil {
		p.t.Fatal(err)
	}
	return p.Jobs()
}

// Jobs are those of the outbox, which it empties.
func (p *Plane) Jobs() []*schemas.DownloadRequested {
	p.t.Helper()
	var out []*schemas.DownloadRequested
	for _, m := range p.Drain() {
		if b, ok := m.Body.(*schemas.DownloadRequested); ok {
			out = append(out, b)
			if m.Key != b.Job {
				p.t.Errorf("a job's key is %q", m.Key)
			}
		}
	}
	return out
}

// Drain empties the outbox.
func (p *Plane) Drain() []schemas.Message {
	p.t.Helper()
	return outboxtest.Drain(p.t, p.Pool, control.Schema, p.Outbox.Codec)
}

// FetchedOf is the outcome of a successful download.
func FetchedOf(j *schemas.DownloadRequested, f schemas.RequestFile, sha string) *schemas.DownloadFinished {
	return &schemas.DownloadFinished{Scope: schemas.Scope{Run: schemas.LiveRun, Session: f.Session, Centre: f.Centre, Source: j.Source}, FileRef: f.FileRef, Job: j.Job, Server: j.Server,
		Attempt: f.Attempt, Look: f.Look, Result: schemas.Fetched, Outcome: sha, SHA256: sha, Size: f.Size, Checksum: "no_checksum"}
}

// UnzippedOf is the outcome of a good archive.
func UnzippedOf(d *schemas.DownloadFinished, documents int32) *schemas.UnzipFinished {
	return &schemas.UnzipFinished{Scope: d.Scope, FileRef: d.FileRef, Attempt: d.Attempt, Download: d.Outcome, SHA256: d.SHA256, Result: schemas.Unzipped, Outcome: "done", Documents: documents}
}

// Put stores bytes and returns their hash.
func (p *Plane) Put(content string) string {
	p.t.Helper()
	ref, err := blob.Put(p.t.Context(), p.Blobs, bytes.NewReader([]byte(content)))
	if err != nil {
		p.t.Fatal(err)
	}
	return ref.SHA256
}

// RequestedOne lets a look of a file be requested.
func (p *Plane) RequestedOne(name string, look int32) (*schemas.DownloadRequested, schemas.RequestFile) {
	p.t.Helper()
	p.Read(schemas.FileDiscoveredTopic, p.Look(Own, name, look, 10+int64(look)))
	p.EndPolls()
	jobs := p.Requested()
	if len(jobs) != 1 || len(jobs[0].Files) != 1 {
		p.t.Fatalf("jobs: %+v", jobs)
	}
	return jobs[0], jobs[0].Files[0]
}

func codec(t *testing.T) *schemas.Codec {
	t.Helper()
	return schemastest.Codec(t)
}
