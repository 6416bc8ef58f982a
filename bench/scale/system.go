package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tributary/consumers/download"
	"tributary/consumers/unzip"
	"tributary/consumers/validate"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	"tributary/producers/poll"
	"tributary/producers/publish"
	"tributary/producers/schedule"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/test/corpus"
	"tributary/topics"
)

// partitions is a multiple of every number of members that is tried, so that
// each has as many as the others.
const partitions = 24

// result is one run over the corpus.
type result struct {
	files    int           // that ended while control still had jobs to give out
	took     time.Duration // how long it had
	all      time.Duration // until the last file of the corpus had ended
	cpu      time.Duration // of this process, the broker and all members, until then
	sessions int64         // most at once, by the server's own count
}

func (r result) throughput() float64 { return float64(r.files) / r.took.Seconds() }

// system is Tributary up to validation, in one process, each member with a
// client of its own.
type system struct {
	cfg     config.Config
	log     *slog.Logger
	codec   *schemas.Codec
	profile *profile.Profile
	centres profile.CentreSet
	blobs   *blob.Dir
	pool    *pgxpool.Pool
	connect kafka.Factory
	net     *network
	metrics *member.Metrics
}

// measure runs the corpus through a system with n members in each group.
func (b *bench) measure(ctx context.Context, n int) (r result, err error) {
	dir, err := os.MkdirTemp(b.dir, fmt.Sprintf("members-%d-", n))
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return r, err
	}
	s := &system{log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), net: &network{latency: b.latency},
		metrics: member.NewMetrics(prometheus.NewRegistry())}
	if err := s.configure(b, dir); err != nil {
		return r, err
	}
	engines, err := engine.Start(ctx, engine.Options{DataDir: s.cfg.DataDir, Broker: true, Postgres: true, KafkaAddr: "127.0.0.1:0", Logger: s.log})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, engines.Close()) }()
	s.connect = kafka.NewFactory(s.cfg.Kafka, engines.Endpoints().Kafka, s.log)
	if s.pool, err = pg.Open(ctx, engines.Endpoints().Postgres, "bench", 16); err != nil {
		return r, err
	}
	defer s.pool.Close()
	if err := control.Migrate(ctx, s.pool); err != nil {
		return r, err
	}
	watcher, err := s.connect(kgo.ConsumeTopics(kafka.TopicName(prefix, schemas.DownloadRequestedTopic), kafka.TopicName(prefix, schemas.DownloadFinishedTopic)))
	if err != nil {
		return r, err
	}
	defer watcher.Close()
	if _, err := topics.Ensure(ctx, kadm.NewClient(watcher), s.cfg.Kafka); err != nil {
		return r, err
	}
	run, stop := context.WithCancel(ctx)
	g, run := errgroup.WithContext(run)
	if err := s.start(run, g, n, b.parallelism); err != nil {
		stop()
		return r, errors.Join(err, g.Wait())
	}
	r, err = s.round(run, watcher, n, b.files)
	r.sessions = s.net.most.Load()
	stop()
	return r, errors.Join(err, g.Wait())
}

// configure writes the corpus and says how it is to be fetched: jobs of two
// files, so that there are enough of them to share out.
func (s *system) configure(b *bench, dir string) (err error) {
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: b.files})
	if err != nil {
		return err
	}
	sources := filepath.Join(dir, "sources")
	if err := c.Write(sources); err != nil {
		return err
	}
	s.cfg = config.Default()
	s.cfg.DataDir = filepath.Join(dir, "data")
	s.cfg.Kafka.TopicPrefix, s.cfg.Kafka.Partitions = prefix, partitions
	s.cfg.Poll.Settle, s.cfg.Plan.JobFiles, s.cfg.Plan.MaxSessions = 0, 2, b.credits
	for _, src := range c.Sources {
		s.cfg.Sources = append(s.cfg.Sources, config.Source{ID: src.ID, Centre: src.Centre, Hosts: config.Hosts{{Centre: config.AllCentres}}, URL: "file://" + filepath.Join(sources, src.ID)})
	}
	if s.codec, err = schemas.NewCodec(); err != nil {
		return err
	}
	if s.profile, err = profile.Builtin(s.cfg.Profile); err != nil {
		return err
	}
	if s.centres, err = centres.Set(s.profile, s.cfg); err != nil {
		return err
	}
	s.blobs, err = blob.NewDir(filepath.Join(dir, "blobs"))
	return err
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (s *system) outbox() outbox.Outbox { return outbox.Outbox{Schema: control.Schema, Codec: s.codec} }

// start runs control's roles once and n members of each group.
func (s *system) start(ctx context.Context, g *errgroup.Group, n, parallelism int) error {
	client, err := s.connect()
	if err != nil {
		return err
	}
	reg := prometheus.NewRegistry()
	publisher := publish.New(s.cfg.Publish, publish.Deps{Prefix: prefix, Schema: control.Schema, Pool: s.pool, Client: client, Holder: "bench", Log: s.log, Metrics: reg})
	g.Go(func() error { defer client.Close(); return publisher.Run(ctx) })
	poller := poll.New(s.cfg.Poll, poll.Deps{Profile: s.profile, Centres: s.centres, Pool: s.pool, Outbox: s.outbox(),
		Holder: "bench", TTL: 10 * time.Second, Log: s.log, Now: now, Dial: s.net.dial})
	g.Go(func() error { return poller.Run(ctx) })
	planner := plan.New(s.cfg.Plan, plan.Deps{Pool: s.pool, Offsets: pg.Offsets{Schema: control.Schema, Group: kafka.GroupName(prefix, "plan")}, Outbox: s.outbox(),
		Cutoff: s.cfg.Sequence.PollCutoff.D(), Log: s.log, Now: now})
	applier := sink.New(sink.Config{Name: "plan", Prefix: prefix, Topics: plan.Topics(), MaxWait: 150 * time.Millisecond}, s.connect, planner, s.log, s.metrics)
	g.Go(func() error { return planner.Run(ctx, applier) })

	validator, err := validate.New(s.cfg.Validate, validate.Deps{Profile: s.profile, Blobs: s.blobs, Log: s.log, Now: now})
	if err != nil {
		return err
	}
	for range n {
		s.member(ctx, g, "download", schemas.DownloadRequestedTopic, parallelism, download.New(s.cfg.Download, download.Deps{
			Blobs: s.blobs, Dial: s.net.dial, Log: s.log, Now: now,
			Outstanding: func(ctx context.Context, job string) (bool, error) { return control.JobOutstanding(ctx, s.pool, job) },
		}))
		s.member(ctx, g, "unzip", schemas.DownloadFinishedTopic, s.cfg.Unzip.Parallelism, unzip.New(archive.DefaultLimits(), unzip.Deps{
			Blobs: s.blobs, Rules: unzip.Rules{Profile: s.profile, Centres: s.centres}, Log: s.log, Now: now}))
		s.member(ctx, g, "validate", schemas.DocumentExtractedTopic, s.cfg.Validate.Parallelism, validator)
	}
	return nil
}

func (s *system) member(ctx context.Context, g *errgroup.Group, name, topic string, parallelism int, work stage.Stage) {
	r := stage.NewRunner(stage.Config{Name: name, Prefix: prefix, Topic: topic, Parallelism: parallelism, Grace: time.Second}, s.connect, s.codec, work, s.log, s.metrics)
	g.Go(func() error { return r.Run(ctx) })
}

// round opens a session once all members are there, and waits for every file.
func (s *system) round(ctx context.Context, watcher *kgo.Client, members, files int) (r result, err error) {
	admin := kadm.NewClient(watcher)
	for _, group := range []string{"download", "unzip", "validate"} {
		if err := joined(ctx, admin, kafka.GroupName(prefix, group), members); err != nil {
			return r, err
		}
	}
	scheduler := schedule.New(s.cfg, schedule.Deps{Profile: s.profile, Pool: s.pool, Outbox: s.outbox(), Log: s.log, Now: now})
	if err := scheduler.Sync(ctx); err != nil {
		return r, err
	}
	before := cpuTime()
	if _, err := scheduler.Open(ctx, true); err != nil {
		return r, err
	}
	var first, given, last time.Time
	ended := map[string]time.Time{}
	for len(ended) < files {
		fetches := watcher.PollFetches(ctx)
		if ctx.Err() != nil {
			return r, fmt.Errorf("%d of %d files came: %w", len(ended), files, context.Cause(ctx))
		}
		for _, rec := range fetches.Records() {
			m, err := s.codec.Decode(kafka.FromKgo(rec))
			if err != nil {
				return r, err
			}
			switch body := m.Body.(type) {
			case *schemas.DownloadRequested:
				if first.IsZero() || rec.Timestamp.Before(first) {
					first = rec.Timestamp
				}
				given = later(given, rec.Timestamp)
			case *schemas.DownloadFinished:
				if body.Result != schemas.Fetched {
					return r, fmt.Errorf("%s was not fetched: %s", body.FileName, body.Message)
				}
				if _, again := ended[body.File]; !again {
					ended[body.File] = rec.Timestamp
				}
				last = later(last, rec.Timestamp)
			}
		}
	}
	// Once the last job is given out members run dry, some sooner than others:
	// that is the corpus's end, and no more a matter of its members.
	r = result{took: given.Sub(first), all: last.Sub(first), cpu: cpuTime() - before}
	for _, at := range ended {
		if !at.After(given) {
			r.files++
		}
	}
	if r.files < files/2 {
		return r, fmt.Errorf("%d of %d files ended while there was more to give out: too few to measure by, take more files or less credit", r.files, files)
	}
	return r, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// joined waits until a group has so many members and each has its share.
func joined(ctx context.Context, admin *kadm.Client, group string, members int) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		groups, err := admin.DescribeGroups(ctx, group)
		if err == nil {
			if d := groups[group]; d.State == "Stable" && len(d.Members) == members && settled(d) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the group %s never had %d members: %w", group, members, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// settled tells whether the members have equal shares of all partitions.
func settled(d kadm.DescribedGroup) bool {
	for _, m := range d.Members {
		a, ok := m.Assigned.AsConsumer()
		if !ok {
			return false
		}
		n := 0
		for _, t := range a.Topics {
			n += len(t.Partitions)
		}
		if n != partitions/len(d.Members) {
			return false
		}
	}
	return true
}
