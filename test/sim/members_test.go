//go:build synctests

package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/consumers/download"
	"tributary/consumers/unzip"
	"tributary/consumers/validate"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// simulated is a place for a process: one that dies is started again.
type simulated struct {
	role, name string
	mu         sync.Mutex
	p          *proc
	stop       context.CancelFunc // of the process that runs, in good order
	retired    bool               // no process follows the one that runs
	left       chan struct{}      // closed when the last process has ended
}

func (m *simulated) now() (*proc, context.CancelFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.p, m.stop
}

// retire ends a member for good, in good order, and waits until it has ended.
func (m *simulated) retire() {
	m.mu.Lock()
	m.retired = true
	stop := m.stop
	m.mu.Unlock()
	if stop != nil {
		stop()
	}
	<-m.left
}

func (m *simulated) isRetired() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.retired
}

// restartAfter is how long a member is away after it died.
const restartAfter = 1500 * time.Millisecond

// supervise runs a member's processes, one after another, until ctx ends.
func (s *sim) supervise(ctx context.Context, m *simulated) {
	defer close(m.left)
	for n := 1; ctx.Err() == nil && !m.isRetired(); n++ {
		name := m.name
		if n > 1 && !s.scene.static {
			name = fmt.Sprintf("%s#%d", m.name, n)
		}
		p := s.newProc(m.role, name)
		run, stop := context.WithCancel(ctx)
		m.mu.Lock()
		m.p, m.stop = p, stop
		if m.retired {
			stop()
		}
		m.mu.Unlock()
		s.tracef(p.name, "starts")
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := s.work(run, p)
			if err != nil && run.Err() == nil && !p.isDead() {
				s.violate("sim", "%s ended: %v", p.name, err)
			}
		}()
		select {
		case <-p.dead:
			s.tracef(p.name, "is dead")
			stop()
			s.remains.Go(func() { <-done }) // it can do nothing any more
		case <-done:
			s.tracef(p.name, "has ended")
		}
		stop()
		if ctx.Err() != nil {
			<-done
			return
		}
		wait := time.NewTimer(s.paced(restartAfter))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// work is what a process of a role does.
func (s *sim) work(ctx context.Context, p *proc) error {
	log := s.logger(p)
	release, err := s.planes.open(p)
	if err != nil {
		return err
	}
	defer release()
	metrics := member.NewMetrics(p.metrics)
	switch p.role {
	case "download":
		d := download.New(s.downloads(), download.Deps{Sources: s.sources, Blobs: s.blobs.by(p), Space: space(log), Dial: s.dialer(p), Lease: s.paced(holdLease), Log: log, Now: time.Now,
			Outstanding: func(ctx context.Context, id string) (bool, error) { return s.planes.outstanding(ctx, p, id) },
			Hold: func(ctx context.Context, id, server string) (context.Context, func(), error) {
				return s.planes.hold(ctx, p, id, server)
			}})
		return s.runner(p, download.Name, schemas.DownloadRequestedTopic, d, log, metrics).Run(ctx)
	case "unzip":
		u := unzip.New(archive.DefaultLimits(), unzip.Deps{Blobs: s.blobs.by(p), Rules: unzip.Rules{Profile: s.shared.profile, Centres: s.shared.centres}, Log: log, Now: time.Now})
		return s.runner(p, unzip.Name, schemas.DownloadFinishedTopic, u, log, metrics).Run(ctx)
	case "validate":
		v, err := validate.New(config.Default().Validate, validate.Deps{Profile: s.shared.profile, Blobs: s.blobs.by(p), Log: log, Now: time.Now})
		if err != nil {
			return err
		}
		return s.runner(p, validate.Name, schemas.DocumentExtractedTopic, v, log, metrics).Run(ctx)
	}
	return s.planes.work(ctx, p, log, metrics)
}

// downloads is how files are fetched: slow ones are only some hundred bytes
// here.
func (s *sim) downloads() config.Download {
	c := config.Default().Download
	c.MinRate, c.RateGrace, c.DetachAfter = 1, config.Duration(s.paced(rateGrace)), config.Duration(s.paced(detachAfter))
	return c
}

const (
	rateGrace   = 40 * time.Second
	detachAfter = 3 * time.Second
	// downloadsAtOnce is less than what one server may have open: what it holds up
	// for long it would hold up for all.
	downloadsAtOnce = 2
)

// space is the disk of a process's blobs, of which 11 GiB may be used.
func space(log *slog.Logger) *blob.Space {
	s := blob.NewSpace(func() (blob.Usage, error) { return blob.Usage{Free: 12 << 30, Total: 1 << 40}, nil }, 1<<30, 1, "the blobs", log)
	s.ServerShare = 0.5
	return s
}

// window is how many records a stage has in hand: few, so that windows fill,
// but of jobs as many as by default, since a slow one delays those beyond.
func window(name string) int {
	if name == download.Name {
		return 64
	}
	return 8
}

// runner is the real runtime of a stage.
func (s *sim) runner(p *proc, name, topic string, work stage.Stage, log *slog.Logger, metrics *member.Metrics) *stage.Runner {
	parallelism, detached := 4, 0
	if name == download.Name {
		parallelism, detached = downloadsAtOnce, config.Default().Download.MaxDetached
	}
	return stage.NewRunner(stage.Config{Name: name, Prefix: prefix, Topic: topic, Parallelism: parallelism, Detached: detached, Window: window(name), Stall: 2 * time.Minute, Grace: 3 * time.Second,
		BackoffMax: 5 * time.Second, CommitInterval: s.scene.commits}, p.client, s.shared.codec, work, log, metrics)
}

func (s *sim) applier(p *proc, k *feed, log *slog.Logger, metrics *member.Metrics, topics ...string) *sink.Applier {
	return sink.New(sink.Config{Name: k.group, Prefix: prefix, Topics: topics, MaxWait: 200 * time.Millisecond}, p.client, k, log, metrics)
}

// decider is a role that reads events into control and decides now and then.
func (s *sim) decider(ctx context.Context, p *proc, db *database, apply func([]sink.Range), decide func(), log *slog.Logger, metrics *member.Metrics, topics ...string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return s.applier(p, &feed{p: p, db: db, group: p.role, apply: apply}, log, metrics, topics...).Run(ctx)
	})
	g.Go(func() error {
		for {
			if err := p.sleep(ctx, 250*time.Millisecond); err != nil {
				if p.isDead() || ctx.Err() != nil {
					return nil
				}
				continue
			}
			db.mu.Lock()
			decide()
			db.mu.Unlock()
		}
	})
	return g.Wait()
}

// outstanding is what download asks before it connects.
func (c *control) outstanding(ctx context.Context, p *proc, id string) (bool, error) {
	if err := p.step(ctx, "ask"); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs[id] != nil, nil
}

// held is a session that a downloader has told control of.
type held struct {
	job, server, holder string
	until               time.Time
}

// holdLease is how long a dead member's session counts.
const holdLease = 4 * time.Second

// hold is what download tells before it asks: a job has one session at a time.
func (c *control) hold(ctx context.Context, p *proc, id, server string) (context.Context, func(), error) {
	h := &held{job: id, server: server, holder: p.name}
	err := p.step(ctx, "hold")
	if err == nil && !c.takeSession(h) {
		return ctx, func() {}, errElsewhere
	}
	work, lose := context.WithCancelCause(ctx)
	keep, cancel := context.WithCancel(context.Background())
	first := holdLease / 3
	if err != nil {
		first = time.Second // a database that has not heard is told again soon
	}
	c.s.remains.Go(func() {
		for pause := first; p.sleep(keep, pause) == nil; pause = holdLease / 3 {
			if !c.takeSession(h) {
				lose(errElsewhere)
				return
			}
		}
	})
	return work, func() {
		cancel()
		lose(nil)
		if p.gate(context.Background()) != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = slices.DeleteFunc(c.held, func(o *held) bool { return o == h })
	}, nil
}

var errElsewhere = errors.New("sim: another member has a session open for this job")

// takeSession takes a job's session or renews it, unless another member has it.
func (c *control) takeSession(h *held) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, o := range c.held {
		if o != h && o.job == h.job && now.Before(o.until) {
			return false
		}
	}
	c.held = slices.DeleteFunc(c.held, func(o *held) bool { return o == h || o.job == h.job })
	h.until = now.Add(holdLease)
	c.held = append(c.held, h)
	return true
}
