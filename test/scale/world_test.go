package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/sequence"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/remote"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	"tributary/producers/poll"
	"tributary/producers/publish"
	"tributary/producers/schedule"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/topics"
)

// The sources that are polled: of the producing centre, and of another one that
// hosts the same files.
const (
	ownSource   = "a-own"
	otherSource = "b-other"
)

// world is control's roles on one Postgres and a broker in memory, and workers
// that only say what the data plane's stages would have done.
type world struct {
	t       *testing.T
	pool    *pgxpool.Pool
	cfg     config.Config
	codec   *schemas.Codec
	connect kafka.Factory
	log     *slog.Logger

	mu        sync.Mutex
	listing   map[string][]remote.Entry // by source
	jobs      int
	announcer *poll.Announcer
	answers   func(*schemas.DownloadRequested) bool // waits, and tells whether workers answer a job; nil: they do
}

// newWorld makes a world whose listings show so many entries.
func newWorld(t *testing.T, pool *pgxpool.Pool, listed int) *world {
	t.Helper()
	w := &world{t: t, pool: pool, cfg: config.Default(), listing: map[string][]remote.Entry{}, log: slog.New(slog.DiscardHandler)}
	if testing.Verbose() {
		w.log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	w.codec = schemastest.Codec(t)
	w.cfg.Kafka.Partitions, w.cfg.Kafka.ReplicationFactor = 3, 1
	w.cfg.Poll.Settle, w.cfg.Poll.GoneAfter = 0, 1
	// Long enough for all that a listing announces to be taken up.
	w.cfg.Plan.SilenceBudget = config.Duration(3*time.Second + time.Duration(listed)*300*time.Microsecond)
	w.cfg.Plan.RetryFailed, w.cfg.Plan.Backoff = config.Duration(time.Second), config.Duration(100*time.Millisecond)
	w.cfg.Plan.Attempts = 1
	w.cfg.Sequence.LateLimit, w.cfg.Sequence.Interval = config.Duration(time.Second), config.Duration(100*time.Millisecond)
	for i := 1; i <= hosts; i++ {
		id, centre := fmt.Sprintf("big-%d", i), fmt.Sprintf("C%d", i)
		w.cfg.Centres = append(w.cfg.Centres, config.Centre{ShortName: centre})
		w.cfg.Sources = append(w.cfg.Sources, config.Source{ID: id, Centre: centre, Hosts: config.Hosts{{Centre: config.AllCentres}}, URL: "sftp://reader@" + id + "/", MaxSessions: 1, Interval: config.Duration(time.Hour)})
	}
	w.cfg.Sources = append(w.cfg.Sources,
		config.Source{ID: ownSource, Centre: "H", URL: "sftp://reader@own.example/", MaxSessions: 4, Interval: config.Duration(time.Hour)},
		config.Source{ID: otherSource, Centre: "J", Hosts: config.Hosts{{Centre: config.AllCentres}}, URL: "sftp://reader@other.example/", MaxSessions: 2, Interval: config.Duration(time.Hour)})
	w.connect = kafka.NewFactory(w.cfg.Kafka, enginetest.Cluster(t).ListenAddrs(), slog.New(slog.DiscardHandler))
	client := w.client()
	if _, err := topics.Ensure(t.Context(), kadm.NewClient(client), w.cfg.Kafka); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) client(extra ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := w.connect(extra...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// start runs all roles until the test ends, and opens sessions when asked.
func (w *world) start() *schedule.Scheduler {
	w.t.Helper()
	impc, err := profile.Builtin("impc")
	if err != nil {
		w.t.Fatal(err)
	}
	set, err := centres.Set(impc, w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	outbox := outbox.Outbox{Schema: control.Schema, Codec: w.codec}
	registry := prometheus.NewRegistry()
	metrics := member.NewMetrics(registry)
	scheduler := schedule.New(w.cfg, schedule.Deps{Profile: impc, Pool: w.pool, Outbox: outbox, Log: w.log, Now: now})
	blobs, err := blob.NewDir(w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = blobs.Close() })
	poller := poll.New(w.cfg.Poll, poll.Deps{Profile: impc, Centres: set, Pool: w.pool, Outbox: outbox, Holder: "test", TTL: 30 * time.Second,
		Log: w.log, Now: now, Dial: w.dial, Blobs: blobs})
	planner := plan.New(w.cfg.Plan, plan.Deps{Pool: w.pool, Offsets: pg.Offsets{Schema: control.Schema, Group: "plan"}, Outbox: outbox, Cutoff: w.cfg.Sequence.PollCutoff.D(), Log: w.log, Now: now})
	w.announcer = &poll.Announcer{Profile: impc, Centres: set, Outbox: outbox, Now: now}
	sequencer := sequence.New(w.cfg.Sequence, sequence.Deps{Kinds: []string{"specimen", "experiment"}, Early: true, Outbox: outbox,
		Offsets: pg.Offsets{Schema: control.Schema, Group: "sequence"}, Pool: w.pool, Lease: pg.Lease{Pool: w.pool, Schema: control.Schema, Name: "release", Holder: "test", TTL: 3 * time.Second},
		Applied: func(context.Context) (int64, error) { return math.MaxInt64, nil }, SilenceBudget: w.cfg.Plan.SilenceBudget.D(), Log: w.log, Now: now})
	publisher := publish.New(w.cfg.Publish, publish.Deps{Prefix: w.cfg.Kafka.TopicPrefix, Schema: control.Schema, Pool: w.pool, Client: w.client(), Holder: "test", Log: w.log, Metrics: registry})
	applier := func(name string, topics []string, store sink.Store) *sink.Applier {
		return sink.New(sink.Config{Name: name, Prefix: w.cfg.Kafka.TopicPrefix, Topics: topics, MaxRecords: 5000, MaxWait: 150 * time.Millisecond}, w.connect, store, w.log, metrics)
	}
	w.run("poll", poller.Run)
	w.run("publish", publisher.Run)
	w.run("plan", func(ctx context.Context) error { return planner.Run(ctx, applier("plan", plan.Topics(), planner)) })
	w.run("replays", replay.NewRunner(replay.Deps{Pool: w.pool, Outbox: outbox, Log: w.log, Now: now}).Run)
	w.run("sequence", func(ctx context.Context) error {
		return sequencer.Run(ctx, applier("sequence", []string{schemas.DocumentValidatedTopic}, sequencer))
	})
	w.run("workers", w.workers)
	if err := scheduler.Sync(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return scheduler
}

// announced has a file announced that another program might announce, and forgets
// what came of it.
func (w *world) announced(name string) {
	w.t.Helper()
	forget := errors.New("forget")
	err := pg.InTx(w.t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := w.announcer.Judge(w.t.Context(), tx, []control.Announcement{{ID: "x", Source: ownSource, Name: name, Action: schemas.Add, Size: 1}})
		return errors.Join(err, forget)
	})
	if err == nil || err.Error() != forget.Error() {
		w.t.Fatal(err)
	}
}

// run runs a role until the test ends.
func (w *world) run(name string, role func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := role(ctx); err != nil && ctx.Err() == nil {
			w.t.Errorf("%s: %v", name, err)
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// show is what a source's directory add holds from now on.
func (w *world) show(source string, entries []remote.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listing[source] = entries
}

func (w *world) dial(_ context.Context, c remote.Config) (remote.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.cfg.Sources {
		if s.URL == c.URL {
			return session{w.listing[s.ID], c.Known}, nil
		}
	}
	return nil, fs.ErrNotExist
}

// session is one round of listing, which asks what is known as an FTP server's does.
type session struct {
	entries []remote.Entry
	known   func(dir string, entries []remote.Entry) ([]remote.Entry, error)
}

func (s session) List(_ context.Context, dir string, yield func(remote.Entry) error) error {
	if dir != "add" {
		return fs.ErrNotExist
	}
	if s.known != nil {
		if _, err := s.known(dir, s.entries); err != nil {
			return err
		}
	}
	for _, e := range s.entries {
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}
func (session) Stat(context.Context, string) (remote.Entry, error) {
	return remote.Entry{}, fs.ErrNotExist
}
func (session) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return nil, fs.ErrNotExist
}
func (session) Concurrency() int { return 1 }
func (session) Close() error     { return nil }

// workers answer every job: what download, unzip and validate would say. Every
// seventh job they miss at first, so that it goes silent.
func (w *world) workers(ctx context.Context) error {
	client := w.client(kgo.ConsumeTopics(kafka.TopicName(w.cfg.Kafka.TopicPrefix, schemas.DownloadRequestedTopic)))
	missed := map[string]bool{}
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		var out []*kgo.Record
		for _, r := range fetches.Records() {
			m, err := w.codec.Decode(kafka.FromKgo(r))
			if err != nil {
				return err
			}
			job := m.Body.(*schemas.DownloadRequested)
			if w.answers != nil && !w.answers(job) {
				continue
			}
			if w.jobs++; w.jobs%7 == 3 && !missed[job.Job] {
				missed[job.Job] = true
				continue
			}
			for _, f := range job.Files {
				for _, said := range answers(job, f) {
					record, err := w.codec.Encode(said)
					if err != nil {
						return err
					}
					out = append(out, kafka.ToKgo(w.cfg.Kafka.TopicPrefix, record))
				}
			}
		}
		if err := client.ProduceSync(ctx, out...).FirstErr(); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// answers are a file's outcomes. Those with a size of 13 fail the first time.
func answers(job *schemas.DownloadRequested, f schemas.RequestFile) []schemas.Message {
	scope := schemas.Scope{Run: job.Run, Session: f.Session, Centre: f.Centre, Source: job.Source}
	message := func(topic, key string, body any, kind ...string) schemas.Message {
		return schemas.Message{ID: schemas.EventID("test", job.Run, job.Job+f.File, topic, kind...), Topic: topic, Key: key, Stage: "test", Time: now(), Body: body}
	}
	sha := fmt.Sprintf("%064x", f.Size*1000+int64(f.Look))
	download := &schemas.DownloadFinished{Scope: scope, FileRef: f.FileRef, Job: job.Job, Server: job.Server, Attempt: f.Attempt, Look: f.Look,
		Result: schemas.Fetched, Outcome: sha, SHA256: sha, Size: f.Size}
	if f.Size == 13 && f.Attempt == 1 {
		download.Result, download.Outcome, download.Exception, download.Phase, download.SHA256 = schemas.FailedEnd, "timed_out", "timed_out", string(schemas.Download), ""
		return []schemas.Message{message(schemas.DownloadFinishedTopic, f.File, download)}
	}
	name := strings.TrimSuffix(f.FileName, ".zip") + ".xml"
	doc := &schemas.DocumentValidated{Scope: scope, FileRef: f.FileRef, DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(f.File, name), Entry: name, Archive: sha, SHA256: sha},
		DocumentName: schemas.DocumentName{Kind: "experiment", DocCentre: f.Centre, DocDate: "2026-01-01", DocInc: f.Size}, Attempt: f.Attempt, Download: sha, Unzip: "done", Result: schemas.Valid, Outcome: schemas.Valid}
	return []schemas.Message{message(schemas.DownloadFinishedTopic, f.File, download),
		message(schemas.UnzipFinishedTopic, f.File, &schemas.UnzipFinished{Scope: scope, FileRef: f.FileRef, Attempt: f.Attempt, Download: sha, Result: schemas.Unzipped, Outcome: "done", SHA256: sha, Documents: 1}),
		message(schemas.DocumentValidatedTopic, doc.Document, doc)}
}
