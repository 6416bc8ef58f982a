// Package notify tells people and programs what they asked to be told: webhooks and
// mail, by rules over the event log.
//
// The log is the queue. Each target reads it in a consumer group of its own, so that one
// that is away for an hour holds up no other, and needs no room anywhere: what it was
// not told stands in the log, behind its position. A target that tells each notice at
// once runs on the stages' runtime, which keeps the order of each file, commits what is
// delivered and sets aside what can't be; one with a digest reads a stretch at a time.
package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/notice"
	"tributary/internal/pg"
	"tributary/internal/stage"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// Name of the role. Its groups have the target's id behind it: see Group.
const Name = "notify"

// Group is the consumer group of a target.
func Group(prefix, target string) string { return kafka.GroupName(prefix, stageOf(target)) }

// stageOf is how a target's Runner is called in logs and metrics.
func stageOf(target string) string { return Name + "." + target }

// Deps are what Notify works with.
type Deps struct {
	Connect   kafka.Factory
	Codec     *schemas.Codec
	Prefix    string // of topics and groups
	Log       *slog.Logger
	Now       func() time.Time
	Registry  prometheus.Registerer
	Metrics   *member.Metrics
	Isolation *stage.Isolation

	// What only one member does at a time, and knows in control.
	Control *pgxpool.Pool
	Outbox  outbox.Outbox
	Lease   func(name string) pg.Lease

	Pages string // where people reach the pages; empty: nobody says it, and notices lead nowhere

	Late  func(context.Context) ([]Overdue, error) // which sources are late
	Weeks func(context.Context) ([]Week, error)    // the last week of each centre that has an email and one

	longestPause time.Duration // between attempts; 0: longestPause
}

// Notify tells all targets. Any number of members may run: Kafka shares partitions out,
// and digests are sent by one.
type Notify struct {
	deps    Deps
	cfg     config.Notify
	runs    []func(context.Context) error
	atOnce  []string
	senders map[string]*sender // of atOnce
	serving []func() error
	told    *prometheus.CounterVec
}

// New makes the role; nothing is read or sent before Run. It fails if a secret can't be
// read.
func New(cfg config.Notify, d Deps) (*Notify, error) {
	d.longestPause = cmp.Or(d.longestPause, longestPause)
	n := &Notify{deps: d, cfg: cfg, senders: map[string]*sender{}, told: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_notices_total",
		Help: "Notices by target and by what became of them: delivered, failed (and tried again), or refused."}, []string{"target", "result"})}
	d.Registry.MustRegister(n.told)
	for _, t := range cfg.Targets {
		to, err := notice.Open(t, cfg.SMTP)
		if err != nil {
			return nil, err
		}
		if t.Digest > 0 {
			mail, ok := to.(mailer)
			if !ok {
				return nil, fmt.Errorf("notify target %s: a digest is for mail", t.ID)
			}
			n.runs = append(n.runs, n.newDigest(t, mail).Run)
			continue
		}
		n.atOnce = append(n.atOnce, t.ID)
		n.senders[t.ID] = n.newSender(t.ID, to)
		n.at(t, n.senders[t.ID])
	}
	n.runs = append(n.runs, n.beside()...)
	return n, nil
}

// beside is what is done beside reading the log, by one member at a time.
func (n *Notify) beside() (out []func(context.Context) error) {
	if n.deps.Control == nil {
		return nil
	}
	add := func(name string, every time.Duration, do func(context.Context) error) {
		out = append(out, func(ctx context.Context) error { return n.turns(ctx, name, every, do) })
	}
	if len(n.atOnce) > 0 {
		add("again", lookForLetters, n.again)
	}
	if slices.ContainsFunc(n.cfg.Rules, func(r config.NotifyRule) bool { return r.When == config.CentreLate }) {
		add("late", lookForLate, n.late)
	}
	if n.cfg.WeeklySummaries {
		add("weekly", lookForWeeks, n.weekly)
	}
	return out
}

// at has a target told each notice at once.
func (n *Notify) at(t config.NotifyTarget, s *sender) {
	r := stage.NewRunner(stage.Config{Name: stageOf(t.ID), Letters: Name, Prefix: n.deps.Prefix, Topic: schemas.StatusChangedTopic,
		Window: window, Backoff: min(firstPause, n.deps.longestPause), BackoffMax: n.deps.longestPause, MaxFailures: refusals, Isolation: n.deps.Isolation, Now: n.deps.Now},
		n.deps.Connect, n.deps.Codec, s, n.deps.Log, n.deps.Metrics)
	n.runs = append(n.runs, func(ctx context.Context) error {
		if err := n.begin(ctx, t.ID); err != nil {
			return err
		}
		return r.Run(ctx)
	})
	n.serving = append(n.serving, r.Serving)
}

// AtOnce are the targets that are told each notice at once.
func (n *Notify) AtOnce() []string { return n.atOnce }

// Serving says why any target that is told at once is not; nil if all are.
func (n *Notify) Serving() error {
	var all error
	for _, s := range n.serving {
		all = errors.Join(all, s())
	}
	return all
}

// Run tells until ctx ends.
func (n *Notify) Run(ctx context.Context) error {
	for _, s := range n.senders {
		if c, ok := s.to.(interface{ Close() }); ok {
			defer c.Close()
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range n.runs {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}
